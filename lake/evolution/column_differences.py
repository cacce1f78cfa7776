"""The changes that lead from a table's columns to those that merging has made of them.

What is new inside a nested column is added at its path, what has another type changes there: a change
of a whole nested column is one that nobody can carry out. Only the key of a MAP has no path, and a
field that is gone is no difference that a list of additions can tell: then the column changes whole.

Source: merge-semantics 8.1.
"""

from collections.abc import Iterator

from lake.evolution.column_tree import inner_types
from lake.evolution.schema_changes import (
    AddColumn,
    Path,
    SchemaChange,
    UpdateColumnType,
)
from lake.format.data_types import DataField, DataType, TypeRoot


def column_differences(
    old: tuple[DataField, ...], new: tuple[DataField, ...]
) -> tuple[SchemaChange, ...]:
    """Return the additions and changes of type, in the order of the new columns.

    Nullability stays as it is: merging never changes it. Columns that are gone are no difference.

    Args:
        old: A table's columns.
        new: The same by name, merged with others (`merge_fields`).
    """
    return tuple(_fields((), old, new))


def _fields(
    path: Path, old: tuple[DataField, ...], new: tuple[DataField, ...]
) -> Iterator[SchemaChange]:
    known = {field.name: field for field in old}
    for field in new:
        here = (*path, field.name)
        before = known.get(field.name)
        if before is None:
            yield AddColumn(path=here, type=field.type, description=field.description)
        else:
            yield from _types(here, before.type, field.type)


def _types(path: Path, old: DataType, new: DataType) -> Iterator[SchemaChange]:
    if old == new:
        return
    if not _is_told_within(old, new):
        yield UpdateColumnType(path=path, type=new, keep_nullability=True)
        return
    yield from _fields(path, old.fields, new.fields)
    for held in inner_types(path, old, new):
        yield from _types(*held)


def _is_told_within(old: DataType, new: DataType) -> bool:
    if old.root is not new.root or not old.is_nested:
        return False
    if old.root is TypeRoot.ROW:
        return {field.name for field in old.fields} <= {field.name for field in new.fields}
    return old.key == new.key
