"""Schema deltas: the new columns and wider types that a table needs before messages can be written. They can be merged."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from braid.records.new_fields.value_shape import (
    NOTHING,
    Shape,
    join,
    shape_from_json,
    shape_to_json,
)

FieldPath: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaDelta:
    """What a table needs for one message, for a task's part of a micro-batch, or for a whole micro-batch.

    Attributes:
        new: Fields that are not columns yet, by their path in the message, in the order in which they came.
        wider: Columns that need a wider type, by name: fields that a ROW lacks, and values that their type
            does not hold.
    """

    new: Mapping[FieldPath, Shape] = field(default_factory=dict)
    wider: Mapping[str, Shape] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Return whether anything is needed."""
        return bool(self.new or self.wider)

    def to_json(self) -> Any:
        """Return the delta as a JSON value."""
        return {
            "new": [[list(path), shape_to_json(shape)] for path, shape in self.new.items()],
            "wider": [[name, shape_to_json(shape)] for name, shape in self.wider.items()],
        }

    @classmethod
    def from_json(cls, value: Any) -> "SchemaDelta":
        """Return the delta that `to_json` was called on."""
        return cls(
            new={tuple(path): shape_from_json(shape) for path, shape in value["new"]},
            wider={name: shape_from_json(shape) for name, shape in value["wider"]},
        )


NO_DELTA: Final = SchemaDelta()


class SchemaDeltaCollector:
    """Merges the deltas of many messages; the number of new fields can be bounded."""

    def __init__(self, *, fields_max: int | None) -> None:
        """Begin with nothing.

        Args:
            fields_max: The largest number of new fields; further ones are left to the next round. None: no
                bound.
        """
        self._fields_max = fields_max
        self._new: dict[FieldPath, Shape] = {}
        self._wider: dict[str, Shape] = {}

    def add(self, delta: SchemaDelta) -> None:
        """Add the delta of a message, or of a task."""
        for path, shape in delta.new.items():
            is_full = self._fields_max is not None and len(self._new) >= self._fields_max
            if path in self._new or not is_full:
                self._new[path] = join(self._new.get(path, NOTHING), shape)
        for name, shape in delta.wider.items():
            self._wider[name] = join(self._wider.get(name, NOTHING), shape)

    @property
    def delta(self) -> SchemaDelta:
        """The merged delta so far."""
        return SchemaDelta(new=dict(self._new), wider=dict(self._wider))


def merge_deltas(parts: Iterable[SchemaDelta]) -> SchemaDelta:
    """Return the delta of a micro-batch; the deltas of its tasks are bounded already."""
    collector = SchemaDeltaCollector(fields_max=None)
    for part in parts:
        collector.add(part)
    return collector.delta
