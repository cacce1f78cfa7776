"""Edits of columns and of the fields nested in them, by path.

`r.a` is the field `a` of the ROW `r`; `l.element.a` is the field `a` of the ROWs in the ARRAY or MULTISET `l`;
`m.value.a` is the field `a` of the ROWs that are values of the MAP `m`. Fields inside the key of a MAP have no
path.

Source: merge-semantics 8.3.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NoReturn, TypeAlias

from braid.lake.evolution.refused_change import refuse
from braid.lake.evolution.schema_changes import ELEMENT, VALUE, Path
from braid.lake.format.data_types import DataField, DataType, TypeRoot

Fields: TypeAlias = tuple[DataField, ...]


def edit_siblings(fields: Fields, path: Path, edit: Callable[[Fields], Fields]) -> Fields:
    """Return the columns with an edit applied to a field and its siblings.

    Args:
        fields: The columns of the table.
        path: Path of the field. The field need not exist, but its parent must.
        edit: Receives the siblings, with the field itself if it exists, and returns their replacement:
            the columns of the table, or the fields of a ROW.

    Raises:
        RefusedChangeError: The path leads nowhere.
    """
    if len(path) == 1:
        return edit(fields)
    return edit_type(fields, path[:-1], lambda type_: _edit_row(type_, path, edit))


def edit_type(fields: Fields, path: Path, edit: Callable[[DataType], DataType]) -> Fields:
    """Return the columns with an edit applied to the type at a path.

    Args:
        fields: The columns of the table.
        path: Path of a field, or of the elements of an ARRAY or MULTISET, or of the values of a MAP.
        edit: Receives the type at the path and returns its replacement.

    Raises:
        RefusedChangeError: The path leads nowhere.
    """
    index = index_of(fields, path[0])
    field = fields[index]
    new = replace(field, type=_edit_inner(field.type, path[1:], edit))
    return (*fields[:index], new, *fields[index + 1 :])


def index_of(fields: Sequence[DataField], name: str) -> int:
    """Return the index of a field.

    Raises:
        RefusedChangeError: There is no field of the name.
    """
    names = [field.name for field in fields]
    if name not in names:
        known = ", ".join(names) or "none"
        refuse("name", name, "there is no such column", f"columns: {known}")
    return names.index(name)


def inner_types(
    path: Path, old: DataType, new: DataType
) -> Iterator[tuple[Path, DataType, DataType]]:
    """Yield the element types of two ARRAYs or MULTISETs, or the value types of two MAPs, with their path.

    Yields nothing for other types.

    Args:
        path: Path of both types.
        old: A type.
        new: A later version of the type, of the same root.
    """
    for name, before, after in (
        (ELEMENT, old.element, new.element),
        (VALUE, old.value, new.value),
    ):
        if before is not None and after is not None:
            yield (*path, name), before, after


def _edit_inner(type_: DataType, path: Path, edit: Callable[[DataType], DataType]) -> DataType:
    if not path:
        return edit(type_)
    match type_.root:
        case TypeRoot.ROW:
            return replace(type_, fields=edit_type(type_.fields, path, edit))
        case TypeRoot.ARRAY | TypeRoot.MULTISET if path[0] == ELEMENT and type_.element:
            return replace(type_, element=_edit_inner(type_.element, path[1:], edit))
        case TypeRoot.MAP if path[0] == VALUE and type_.value:
            return replace(type_, value=_edit_inner(type_.value, path[1:], edit))
        case _:
            return _refuse_step(type_, path[0])


def _edit_row(type_: DataType, path: Path, edit: Callable[[Fields], Fields]) -> DataType:
    if type_.root is not TypeRoot.ROW:
        _refuse_step(type_, path[-1])
    return replace(type_, fields=edit(type_.fields))


def _refuse_step(type_: DataType, step: str) -> NoReturn:
    message = f"a column of type {type_} has no field of that name"
    hint = "a path continues with a field's name in a ROW, `element` in an ARRAY, `value` in a MAP"
    refuse("name", step, message, hint)
