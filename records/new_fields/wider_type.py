"""Search for a wider type of a column: a type that is reached by a safe widening and also holds given values."""

from dataclasses import replace
from typing import Any, Final

from braid.formats.dead_letter import DeadLetterReason
from braid.formats.json.exact_values import value_fault
from braid.lake import DataField, DataType, TypeRoot, parse_type
from braid.records.new_fields.value_shape import NOTHING, Kind, Shape, new_fields
from braid.registry.alteration.type_widening import is_safe_widening

_BIGINT: Final = parse_type("BIGINT")
_DOUBLE: Final = parse_type("DOUBLE")
_STRING: Final = parse_type("STRING")
_BYTES: Final = parse_type("BYTES")
_HUGE: Final = parse_type("DECIMAL(38, 0)")
_PRECISION_MAX: Final = 38
_WHOLE: Final = frozenset({TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT})
_NUMBERS: Final = {
    Kind.WHOLE: _BIGINT,
    Kind.LONG: _BIGINT,
    Kind.HUGE: _HUGE,
    Kind.NUMBER: _DOUBLE,
}


def is_fitting(value: Any, data_type: DataType) -> bool:
    """Return whether a JSON value, which is not null, fits a type, which is not nested."""
    return value_fault(value, data_type) is None


def is_widened_by(value: Any, data_type: DataType) -> bool:
    """Return whether a value that does not fit a type may fit a wider one of the same kind.

    A text that is not a number fits no DECIMAL, and one that is not base64 fits no BYTES.
    """
    if data_type.root not in (TypeRoot.DECIMAL, TypeRoot.BINARY, TypeRoot.VARBINARY):
        return True
    return value_fault(value, data_type) is not DeadLetterReason.WRONG_TYPE


def widened(old: DataType, shape: Shape) -> DataType | None:
    """Return a type that holds the old values and the new ones; None when no safe widening leads to one.

    Args:
        old: The type of the column, or of a part of it.
        shape: The shape of the values that the type does not hold; of a ROW only the fields concerned.

    Returns:
        The wider type. A ROW has only the fields that are new or get another type; the caller merges them
        into the old type.
    """
    if old.root is TypeRoot.ROW:
        return _widened_row(old, shape)
    if old.root in (TypeRoot.ARRAY, TypeRoot.MAP):
        return _widened_items(old, shape)
    new = _widened_value(old, shape)
    if new is None or new == old.with_nullable(True):
        return None
    return new if is_safe_widening(old, new) else None


def _widened_value(old: DataType, shape: Shape) -> DataType | None:
    match old.root:
        case root if root in _WHOLE:
            return _NUMBERS.get(shape.kind)
        case TypeRoot.FLOAT:
            return _DOUBLE if shape.kind in _NUMBERS else None
        case TypeRoot.DECIMAL:
            return parse_type(f"DECIMAL({_PRECISION_MAX}, {old.scale})")
        case TypeRoot.CHAR | TypeRoot.VARCHAR:
            return _STRING
        case TypeRoot.BINARY | TypeRoot.VARBINARY:
            return _BYTES
        case _:
            return None


def _widened_row(old: DataType, shape: Shape) -> DataType | None:
    if shape.kind is not Kind.OBJECT:
        return None
    known = {field.name: field for field in old.fields}
    added = {field.name: field.type for field in new_fields(shape) if field.name not in known}
    types = {}
    for name, inner in shape.fields:
        if name in known:
            new = widened(known[name].type, inner)
            if new is None:
                return None
            types[name] = new
    fields = tuple(DataField(name=name, type=type_) for name, type_ in {**types, **added}.items())
    return DataType(root=TypeRoot.ROW, fields=fields) if fields else None


def _widened_items(old: DataType, shape: Shape) -> DataType | None:
    is_array = old.root is TypeRoot.ARRAY
    if shape.kind is not (Kind.LIST if is_array else Kind.MAP):
        return None
    held = old.element if is_array else old.value
    new = held and widened(held, shape.item or NOTHING)
    if new is None:
        return None
    return replace(old, element=new) if is_array else replace(old, value=new)
