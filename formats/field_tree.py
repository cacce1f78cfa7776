"""Field tree: the fields of a message that a stream reads, object by object, and the fields that other streams read from the topic.

In an object from which a column is read, every field that is in neither group is undeclared (`FieldTree.names` has the names of
both groups).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from braid.formats.mapped_column import MappedColumn
from braid.lake import DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldTree:
    """One object of the message.

    Attributes:
        objects: The objects inside of this one that paths of columns lead through, by name.
        values: The fields that columns are read from, with the columns' types.
        other_streams: Fields that other streams of the table read from the same topic.
    """

    objects: Mapping[str, "FieldTree"] = field(default_factory=dict)
    values: Mapping[str, DataType] = field(default_factory=dict)
    other_streams: frozenset[str] = frozenset()

    @property
    def has_columns(self) -> bool:
        """Whether a column is read from the object, so that its unknown fields count as new."""
        return bool(self.values)

    @property
    def names(self) -> frozenset[str]:
        """Names of the known fields."""
        return frozenset((*self.objects, *self.values)) | self.other_streams


def field_tree(
    columns: Iterable[MappedColumn], paths_of_other_streams: Iterable[tuple[str, ...]] = ()
) -> FieldTree:
    """Return the tree of the fields that a stream reads.

    Args:
        columns: The columns that are read from the message.
        paths_of_other_streams: Paths that other streams of the table read from the same topic.
    """
    paths = [(column.path, column.type) for column in columns]
    return _tree(paths, list(paths_of_other_streams))


_Path: TypeAlias = tuple[str, ...]


def _tree(paths: list[tuple[_Path, DataType]], elsewhere: list[_Path]) -> FieldTree:
    inner: dict[str, list[tuple[_Path, DataType]]] = {}
    values: dict[str, DataType] = {}
    for (name, *rest), data_type in paths:
        if rest:
            inner.setdefault(name, []).append((tuple(rest), data_type))
        else:
            values[name] = data_type
    assert not inner.keys() & values.keys(), (
        "a plan reads no field both as an object and as a value"
    )
    objects = {
        name: _tree(below, [path[1:] for path in elsewhere if path[0] == name and len(path) > 1])
        for name, below in inner.items()
    }
    # Of a path that leads deeper only the first name counts: this stream reads nothing below that field.
    others = frozenset(path[0] for path in elsewhere) - objects.keys() - values.keys()
    return FieldTree(objects=objects, values=values, other_streams=others)
