"""Shapes of JSON values, how shapes are joined, and the type of a new column for a shape.

| values | type of a new column |
|---|---|
| `true`, `false` | BOOLEAN |
| whole numbers | BIGINT; DECIMAL(38, 0) where one is below -2^63 + 1 or above 2^63 - 1 |
| numbers with a point or an exponent, also mixed with whole numbers from -2^53 to 2^53 | DOUBLE |
| objects | ROW of the fields that have a value |
| lists | ARRAY of a type that holds all items |
| texts, values of different types, and values that no type above holds exactly | STRING: a text as it is, any other value as JSON |

For a field whose type a schema declares, `type_shape` derives the shape from that type. Two such shapes are joined to the
narrowest number or timestamp type that holds the values of both, or to a text if there is no such type.

The order of the values decides only the order of a ROW's fields.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import reduce
from math import isinf
from typing import Any, Final

from braid.lake import DataField, DataType, TypeRoot, parse_type
from braid.registry.names import is_column_name

_SAFE_WHOLE: Final = 1 << 53  # a DOUBLE holds every whole number up to this one
_BIGINT_BOUND: Final = 1 << 63
_DECIMAL_BOUND: Final = 10**38
_PRECISION_MAX: Final = 38
_WHOLE_DIGITS: Final = {TypeRoot.INT: 10, TypeRoot.BIGINT: 19}
DEPTH_MAX: Final = 8
"""Deepest nesting of a new column; what is nested deeper is a text."""
_STRING: Final = parse_type("STRING")
_BIGINT: Final = parse_type("BIGINT")
_DOUBLE: Final = parse_type("DOUBLE")


class Kind(StrEnum):
    """The kinds of value."""

    NOTHING = "nothing"
    BOOLEAN = "boolean"
    WHOLE = "whole"
    LONG = "long"
    HUGE = "huge"
    NUMBER = "number"
    TEXT = "text"
    LIST = "list"
    MAP = "map"
    OBJECT = "object"
    TYPED = "typed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The shape of one value, or the join of several.

    Attributes:
        kind: `NOTHING` for null and for unknown items; `MAP` only where a column or a schema says so; `TYPED`
            for values without parts whose schema tells their type.
        item: The joined shape of the items of a LIST, or of the values of a MAP.
        fields: Shapes of the fields of an OBJECT, by name, in the order in which they came.
        type: The type of TYPED values, nullable; no STRING, whose kind is TEXT.
    """

    kind: Kind
    item: "Shape | None" = None
    fields: tuple[tuple[str, "Shape"], ...] = ()
    type: DataType | None = None


NOTHING: Final = Shape(kind=Kind.NOTHING)
TEXT: Final = Shape(kind=Kind.TEXT)
# In the order of their types: values of each kind fit the type of any later kind.
_WHOLE_KINDS: Final = (Kind.WHOLE, Kind.LONG, Kind.HUGE)
_TYPES: Final[Mapping[Kind, DataType]] = {
    Kind.NOTHING: _STRING,
    Kind.BOOLEAN: parse_type("BOOLEAN"),
    Kind.WHOLE: _BIGINT,
    Kind.LONG: _BIGINT,
    Kind.HUGE: parse_type("DECIMAL(38, 0)"),
    Kind.NUMBER: _DOUBLE,
    Kind.TEXT: _STRING,
}


def shape_of(value: Any, *, depth: int = 0) -> Shape:
    """Return the shape of a value of `json.message.read_message`.

    Args:
        value: The value.
        depth: Depth of the value's nesting; a value that is nested too deep is a text.
    """
    match value:
        case None:
            return NOTHING
        case bool():
            return Shape(kind=Kind.BOOLEAN)
        case int():
            return _shape_of_whole(abs(value))
        case float() | Decimal():
            return Shape(kind=Kind.NUMBER) if _is_exact(value) else TEXT
        case list() if depth < DEPTH_MAX:
            items = (shape_of(item, depth=depth + 1) for item in value)
            return Shape(kind=Kind.LIST, item=join_all(items))
        case dict() if depth < DEPTH_MAX and _are_names(value):
            fields = ((name, shape_of(item, depth=depth + 1)) for name, item in value.items())
            return Shape(kind=Kind.OBJECT, fields=tuple(fields))
        case _:
            return TEXT


def typed(data_type: DataType) -> Shape:
    """Return the shape of values without parts that a schema gives a type."""
    return TEXT if data_type == _STRING else Shape(kind=Kind.TYPED, type=data_type)


def join(one: Shape, other: Shape) -> Shape:
    """Return the shape of a column that holds values of both."""
    if one == other or other.kind is Kind.NOTHING:
        return one
    if one.kind is Kind.NOTHING:
        return other
    if one.type is not None and other.type is not None:
        wider = _common_type(one.type, other.type)
        return TEXT if wider is None else typed(wider)
    if one.kind is other.kind:
        return _join_parts(one, other)
    kinds = {one.kind, other.kind}
    if kinds <= set(_WHOLE_KINDS):
        return max(one, other, key=lambda shape: _WHOLE_KINDS.index(shape.kind))
    # A DOUBLE would lose digits of LONG and HUGE.
    if kinds == {Kind.WHOLE, Kind.NUMBER}:
        return Shape(kind=Kind.NUMBER)
    return TEXT


def join_all(shapes: Iterable[Shape]) -> Shape:
    """Return the join of all shapes; `NOTHING` without any."""
    return reduce(join, shapes, NOTHING)


def type_of(shape: Shape) -> DataType:
    """Return the type of a new column for such values, nullable.

    Example:
        >>> str(type_of(shape_of({"a": [1, 2.5], "b": None})))
        'ROW<`a` ARRAY<DOUBLE>>'
    """
    match shape.kind:
        case Kind.TYPED:
            assert shape.type is not None, "a typed shape has its type"
            return shape.type
        case Kind.LIST:
            return DataType(root=TypeRoot.ARRAY, element=type_of(shape.item or NOTHING))
        case Kind.MAP:
            return DataType(root=TypeRoot.MAP, key=_STRING, value=type_of(shape.item or NOTHING))
        case Kind.OBJECT:
            fields = new_fields(shape)
            # A ROW has at least one field: an object without any value is kept as its text.
            return DataType(root=TypeRoot.ROW, fields=fields) if fields else _STRING
        case _:
            return _TYPES[shape.kind]


def new_fields(shape: Shape) -> tuple[DataField, ...]:
    """Return the fields of an OBJECT that have a value, without ids."""
    return tuple(
        DataField(name=name, type=type_of(item))
        for name, item in shape.fields
        if item.kind is not Kind.NOTHING
    )


def shape_to_json(shape: Shape) -> Any:
    """Return the shape as a JSON value: `kind`, or `[kind, item]`, `[kind, [[name, field], ...]]`, `[kind, type]`."""
    if shape.type is not None:
        return [shape.kind.value, str(shape.type)]
    if shape.kind is Kind.OBJECT:
        return [shape.kind.value, [[name, shape_to_json(item)] for name, item in shape.fields]]
    if shape.item is not None:
        return [shape.kind.value, shape_to_json(shape.item)]
    return shape.kind.value


def shape_from_json(value: Any) -> Shape:
    """Return the shape that `shape_to_json` was called with."""
    if isinstance(value, str):
        return Shape(kind=Kind(value))
    kind, inside = Kind(value[0]), value[1]
    if kind is Kind.OBJECT:
        fields = tuple((name, shape_from_json(item)) for name, item in inside)
        return Shape(kind=kind, fields=fields)
    if kind is Kind.TYPED:
        return Shape(kind=kind, type=parse_type(inside))
    return Shape(kind=kind, item=shape_from_json(inside))


def _shape_of_whole(size: int) -> Shape:
    assert size >= 0, "the size of a number is absolute"
    if size <= _SAFE_WHOLE:
        return Shape(kind=Kind.WHOLE)
    if size < _BIGINT_BOUND:
        return Shape(kind=Kind.LONG)
    return Shape(kind=Kind.HUGE) if size < _DECIMAL_BOUND else TEXT


def _is_exact(value: float | Decimal) -> bool:
    """Return whether a DOUBLE holds the number as it was written."""
    if isinstance(value, float):
        return True  # NaN and infinities
    nearest = float(value)
    return not isinf(nearest) and Decimal(repr(nearest)) == value


def are_names(names: Collection[str]) -> bool:
    """Return whether different names can be those of a ROW's fields."""
    folded = {name.lower() for name in names}
    return bool(names) and len(folded) == len(names) and all(map(is_column_name, names))


def _are_names(value: dict[str, Any]) -> bool:
    return getattr(value, "repeated", None) is None and are_names(value)


def _common_type(one: DataType, other: DataType) -> DataType | None:
    """Return the narrowest type that holds the values of both, whatever is joined first; None: only STRING does."""
    roots = {one.root, other.root}
    if one == other or (len(roots) == 1 and roots <= {TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ}):
        return max(one, other, key=lambda t: t.precision or 0)
    if roots <= _WHOLE_DIGITS.keys():
        return _BIGINT
    # A DOUBLE would lose digits of a BIGINT.
    if roots <= {TypeRoot.INT, TypeRoot.FLOAT, TypeRoot.DOUBLE}:
        return _DOUBLE
    if not roots <= {*_WHOLE_DIGITS, TypeRoot.DECIMAL}:
        return None
    scale = max(one.scale or 0, other.scale or 0)
    precision = scale + max(map(_whole_digits, (one, other)))
    return parse_type(f"DECIMAL({precision}, {scale})") if precision <= _PRECISION_MAX else None


def _whole_digits(data_type: DataType) -> int:
    digits = _WHOLE_DIGITS.get(data_type.root)
    return (data_type.precision or 0) - (data_type.scale or 0) if digits is None else digits


def _join_parts(one: Shape, other: Shape) -> Shape:
    if one.kind is not Kind.OBJECT:
        return Shape(kind=one.kind, item=join(one.item or NOTHING, other.item or NOTHING))
    assert one.kind is other.kind, "parts are joined of shapes of one kind"
    fields = dict(one.fields)
    for name, item in other.fields:
        fields[name] = join(fields.get(name, NOTHING), item)
    folded = {name.lower() for name in fields}
    return (
        Shape(kind=Kind.OBJECT, fields=tuple(fields.items()))
        if len(folded) == len(fields)
        else TEXT
    )
