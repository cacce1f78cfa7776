"""What the messages of a micro-batch have that is not declared, put together."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pipelines.new_fields.record_schema_delta import FieldPath, RecordNews
from pipelines.new_fields.value_shape import (
    NOTHING,
    Shape,
    join,
    shape_from_json,
    shape_to_json,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchNews:
    """What is to become of a table for a micro-batch, or for a task's part of it.

    Attributes:
        new: Fields that are no column yet, by their path, in the order in which they came.
        wider: Parts of columns that are new, or that their type does not hold.
    """

    new: Mapping[FieldPath, Shape] = field(default_factory=dict)
    wider: Mapping[str, Shape] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return bool(self.new or self.wider)

    def to_json(self) -> Any:
        """Return it in JSON's terms."""
        return {
            "new": [[list(path), shape_to_json(shape)] for path, shape in self.new.items()],
            "wider": [[name, shape_to_json(shape)] for name, shape in self.wider.items()],
        }

    @classmethod
    def from_json(cls, value: Any) -> "BatchNews":
        """Return what `to_json` was made of."""
        return cls(
            new={tuple(path): shape_from_json(shape) for path, shape in value["new"]},
            wider={name: shape_from_json(shape) for name, shape in value["wider"]},
        )


NO_NEWS: Final = BatchNews()


class NewsCollector:
    """Puts the news of many messages together, in bounded memory."""

    def __init__(self, *, fields_max: int | None) -> None:
        """Begin with nothing.

        Args:
            fields_max: So many new fields at most, and what comes beyond is left to the next round;
                None: without bound.
        """
        self._fields_max = fields_max
        self._new: dict[FieldPath, Shape] = {}
        self._wider: dict[str, Shape] = {}

    def add(self, news: RecordNews | BatchNews) -> None:
        """Add what a message, or a task, has."""
        for path, shape in news.new.items():
            is_full = self._fields_max is not None and len(self._new) >= self._fields_max
            if path in self._new or not is_full:
                self._new[path] = join(self._new.get(path, NOTHING), shape)
        for name, shape in news.wider.items():
            self._wider[name] = join(self._wider.get(name, NOTHING), shape)

    @property
    def news(self) -> BatchNews:
        """All so far."""
        return BatchNews(new=dict(self._new), wider=dict(self._wider))


def sum_news(parts: Iterable[BatchNews]) -> BatchNews:
    """Return what the tasks of a micro-batch have found; each of them is bounded already."""
    collector = NewsCollector(fields_max=None)
    for part in parts:
        collector.add(part)
    return collector.news
