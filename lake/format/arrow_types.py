"""The Arrow form of the format's column types, and the column type of an Arrow type.

| type | Arrow |
|---|---|
| BOOLEAN | bool |
| TINYINT SMALLINT INT BIGINT | int8 int16 int32 int64 |
| FLOAT DOUBLE | float32 float64 |
| DECIMAL(p, s) | decimal128(p, s) |
| CHAR VARCHAR STRING | string |
| BINARY VARBINARY BYTES | binary |
| DATE | date32 |
| TIME(p) | time32[ms] |
| TIMESTAMP(p) | timestamp, ms for p <= 3, us for p <= 6, ns for p <= 9 |
| TIMESTAMP(p) WITH LOCAL TIME ZONE | the same with time zone UTC |
| ARRAY | list |
| MAP | map |
| MULTISET | map to int32 |
| ROW | struct |
| VARIANT | struct of two binaries that are not null, `value` and `metadata` |

`from_arrow_type` is the inverse, for columns that do not have a declared type. `to_arrow_form`
casts a column of single values to the Arrow form of its type; `elements` and `as_list` read list
and map columns.
"""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from braid.lake.errors import Problem, SchemaMismatch, UnsupportedFeature
from braid.lake.format.data_types import LENGTH_MAX, TIMESTAMP_ROOTS, DataField, DataType, TypeRoot
from braid.lake.format.variant import layout

_FIXED = {
    TypeRoot.BOOLEAN: pa.bool_(),
    TypeRoot.TINYINT: pa.int8(),
    TypeRoot.SMALLINT: pa.int16(),
    TypeRoot.INT: pa.int32(),
    TypeRoot.BIGINT: pa.int64(),
    TypeRoot.FLOAT: pa.float32(),
    TypeRoot.DOUBLE: pa.float64(),
    TypeRoot.CHAR: pa.string(),
    TypeRoot.VARCHAR: pa.string(),
    TypeRoot.BINARY: pa.binary(),
    TypeRoot.VARBINARY: pa.binary(),
    TypeRoot.DATE: pa.date32(),
    TypeRoot.TIME: pa.time32("ms"),
}
VARIANT_TYPE: Final = pa.struct(
    [
        pa.field(layout.VALUE, pa.binary(), nullable=False),
        pa.field(layout.METADATA, pa.binary(), nullable=False),
    ]
)
_PLAIN_ROOTS = {
    pa.bool_(): TypeRoot.BOOLEAN,
    pa.int8(): TypeRoot.TINYINT,
    pa.int16(): TypeRoot.SMALLINT,
    pa.int32(): TypeRoot.INT,
    pa.int64(): TypeRoot.BIGINT,
    pa.float32(): TypeRoot.FLOAT,
    pa.float64(): TypeRoot.DOUBLE,
    pa.date32(): TypeRoot.DATE,
}
_TIMESTAMP_PRECISION = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def to_arrow_type(data_type: DataType) -> pa.DataType:
    """Return the Arrow type of columns of this type in memory."""
    if data_type.root is TypeRoot.VARIANT:
        return VARIANT_TYPE
    fixed = _FIXED.get(data_type.root)
    if fixed is not None:
        return fixed
    if data_type.root in TIMESTAMP_ROOTS:
        assert data_type.precision is not None
        zone = "UTC" if data_type.root is TypeRoot.TIMESTAMP_LTZ else None
        return pa.timestamp(timestamp_unit(data_type.precision), tz=zone)
    match data_type.root:
        case TypeRoot.DECIMAL:
            return pa.decimal128(data_type.precision, data_type.scale)
        case TypeRoot.ARRAY:
            return pa.list_(_part("element", data_type.element))
        case TypeRoot.MAP:
            key = _part("key", data_type.key).with_nullable(False)
            return pa.map_(key, _part("value", data_type.value))
        case TypeRoot.MULTISET:
            key = _part("key", data_type.element).with_nullable(False)
            return pa.map_(key, pa.field("value", pa.int32(), nullable=False))
        case _:
            assert data_type.root is TypeRoot.ROW, data_type.root
            return pa.struct([arrow_field(field) for field in data_type.fields])


def timestamp_unit(precision: int) -> str:
    """Return the Arrow unit of a timestamp with 0 to 9 digits of the second: ms, us or ns."""
    if precision <= 3:
        return "ms"
    return "us" if precision <= 6 else "ns"


def arrow_field(field: DataField) -> pa.Field:
    """Return the Arrow field: name, Arrow form and nullability."""
    return pa.field(field.name, to_arrow_type(field.type), nullable=field.type.nullable)


def arrow_schema(fields: Sequence[DataField]) -> pa.Schema:
    """Return the Arrow schema of some columns, in order, nullability as declared."""
    return pa.schema([arrow_field(field) for field in fields])


def to_arrow_form(
    array: pa.Array | pa.ChunkedArray, data_type: DataType
) -> pa.Array | pa.ChunkedArray:
    """Return the column in the Arrow form of its type; columns of nested types and VARIANT are returned unchanged.

    Raises:
        SchemaMismatch: The column has another type, from which Arrow has no cast, or not all of its values fit.
    """
    expected = to_arrow_type(data_type)
    if array.type == expected or not data_type.is_plain:
        return array
    try:
        return array.cast(expected)
    except pa.ArrowException as error:
        problem = Problem(
            field=str(data_type), value=str(array.type), message=f"expected Arrow `{expected}`"
        )
        text = f"a column of Arrow type `{array.type}` does not fit `{data_type}`"
        raise SchemaMismatch(text, problems=[problem]) from error


def elements(array: pa.Array) -> pa.Array:
    """Return the elements of a list column, or the entries (a struct) of a map column.

    Unlike the array's child, the result excludes elements under null and elements outside of a slice.
    """
    return as_list(array).flatten()


def as_list(array: pa.Array) -> pa.Array:
    """Return a list column unchanged, or a map column as lists of its entries (structs)."""
    if not pa.types.is_map(array.type):
        return array
    return pa.Array.from_buffers(
        pa.list_(array.values.type),
        len(array),
        array.buffers()[:2],
        offset=array.offset,
        children=[array.values],
    )


def from_arrow_type(arrow_type: pa.DataType, nullable: bool = True) -> DataType:
    """Return the column type that holds every value of an Arrow type.

    Fields of a struct get no id.

    Raises:
        UnsupportedFeature: No type of the format holds every value (unsigned integers, durations,
            unions…), or this version does not convert the kind of type (null, date64, fixed-size lists…).
    """
    types = pa.types
    root = _PLAIN_ROOTS.get(arrow_type)
    if root is not None:
        return DataType(root=root, nullable=nullable)
    if types.is_string(arrow_type) or types.is_large_string(arrow_type):
        return DataType(root=TypeRoot.VARCHAR, length=LENGTH_MAX, nullable=nullable)
    if types.is_binary(arrow_type) or types.is_large_binary(arrow_type):
        return DataType(root=TypeRoot.VARBINARY, length=LENGTH_MAX, nullable=nullable)
    if types.is_fixed_size_binary(arrow_type) and not types.is_decimal(arrow_type):
        return DataType(root=TypeRoot.BINARY, length=arrow_type.byte_width, nullable=nullable)
    if types.is_decimal(arrow_type) and arrow_type.precision <= 38 and arrow_type.scale >= 0:
        return DataType(
            root=TypeRoot.DECIMAL,
            precision=arrow_type.precision,
            scale=arrow_type.scale,
            nullable=nullable,
        )
    if types.is_time32(arrow_type):
        return DataType(root=TypeRoot.TIME, precision=3, nullable=nullable)
    if types.is_timestamp(arrow_type):
        root = TypeRoot.TIMESTAMP if arrow_type.tz is None else TypeRoot.TIMESTAMP_LTZ
        precision = _TIMESTAMP_PRECISION[arrow_type.unit]
        return DataType(root=root, precision=precision, nullable=nullable)
    if types.is_dictionary(arrow_type):
        return from_arrow_type(arrow_type.value_type, nullable)
    return _from_nested(arrow_type, nullable=nullable)


def _from_nested(arrow_type: pa.DataType, *, nullable: bool) -> DataType:
    types = pa.types
    if types.is_map(arrow_type):
        return DataType(
            root=TypeRoot.MAP,
            key=from_arrow_type(arrow_type.key_type, nullable=False),
            value=from_arrow_type(arrow_type.item_type, arrow_type.item_field.nullable),
            nullable=nullable,
        )
    if types.is_list(arrow_type) or types.is_large_list(arrow_type):
        element = from_arrow_type(arrow_type.value_type, arrow_type.value_field.nullable)
        return DataType(root=TypeRoot.ARRAY, element=element, nullable=nullable)
    if types.is_struct(arrow_type):
        fields = tuple(
            DataField(name=field.name, type=from_arrow_type(field.type, field.nullable))
            for field in arrow_type
        )
        return DataType(root=TypeRoot.ROW, fields=fields, nullable=nullable)
    problem = Problem(
        field="type",
        value=str(arrow_type),
        message="no type of the format holds every value of this Arrow type",
        hint="cast the column before it is written",
    )
    text = f"the Arrow type `{arrow_type}` is not supported"
    raise UnsupportedFeature(text, problems=[problem])


def _part(name: str, data_type: DataType | None) -> pa.Field:
    assert data_type is not None, name
    return pa.field(name, to_arrow_type(data_type), nullable=data_type.nullable)
