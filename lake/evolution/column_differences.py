"""Schema changes that lead from a table's columns to the same columns merged with incoming fields.

A nested column cannot be changed to another nested type as a whole. So new fields inside it are
added at their paths, and types inside it are changed at their paths. Three differences cannot be
expressed by a path, and change the whole type of the column or of a part of it:

1. another key type of a MAP: `change_schema` refuses the change;
2. a nested field that is missing: `change_schema` refuses the change;
3. a text type instead of a nested type, to which a merge with `explicit_casts` may lead.

Source: merge-semantics 8.1.
"""

from collections.abc import Iterator

from braid.lake.evolution.column_tree import inner_types
from braid.lake.evolution.schema_changes import (
    AddColumn,
    Path,
    SchemaChange,
    UpdateColumnType,
)
from braid.lake.format.data_types import DataField, DataType, TypeRoot


def column_differences(
    old: tuple[DataField, ...], new: tuple[DataField, ...]
) -> tuple[SchemaChange, ...]:
    """Return the additions and changes of type, in the order of the new columns.

    Nullability is not compared, because merging never changes it. Columns that only the table has do not
    count as a difference.

    Args:
        old: A table's columns.
        new: The result of merging other fields into them (`merge_fields`).
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
    if not _has_same_shape(old, new):
        yield UpdateColumnType(path=path, type=new, keep_nullability=True)
        return
    yield from _fields(path, old.fields, new.fields)
    for held in inner_types(path, old, new):
        yield from _types(*held)


def _has_same_shape(old: DataType, new: DataType) -> bool:
    """Return whether paths inside the type can express all differences."""
    if old.root is not new.root or not old.is_nested:
        return False
    if old.root is TypeRoot.ROW:
        return {field.name for field in old.fields} <= {field.name for field in new.fields}
    return old.key == new.key
