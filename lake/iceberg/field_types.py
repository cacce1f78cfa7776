"""Iceberg's type for each type of a column, or why there is none.

Data files are written once, in the format's own form, so a type is mapped only where an Iceberg reader finds in the
file what it expects of the type: `TIMESTAMP(9)` is stored as INT96, and `TIME` in milliseconds, which no type of
Iceberg has. (Paimon 2.0 maps TIME; readers fail on its files.)

| type of the format | Iceberg's |
|---|---|
| BOOLEAN; FLOAT; DOUBLE; DATE | boolean; float; double; date |
| TINYINT, SMALLINT, INT; BIGINT | int; long |
| DECIMAL(p, s) | decimal(p, s) |
| CHAR, VARCHAR, STRING | string |
| BINARY, VARBINARY, BYTES | binary |
| TIMESTAMP(3) to TIMESTAMP(6) | timestamp |
| TIMESTAMP_LTZ(3) to TIMESTAMP_LTZ(6) | timestamptz |
| ARRAY; MAP; ROW | list; map; struct |
| MULTISET | map of each element to its count |

Nested parts have the ids that they have in Parquet files (`braid.lake.files.parquet.schema`).
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

from braid.lake.files.parquet.schema import map_key_field_id, nested_field_id
from braid.lake.format.data_types import TIMESTAMP_ROOTS, DataField, DataType, TypeRoot

IcebergType: TypeAlias = str | Mapping[str, object]
"""The name of a primitive type, or the JSON object of a nested one."""

_NAMES: Final = {
    TypeRoot.BOOLEAN: "boolean",
    TypeRoot.TINYINT: "int",
    TypeRoot.SMALLINT: "int",
    TypeRoot.INT: "int",
    TypeRoot.BIGINT: "long",
    TypeRoot.FLOAT: "float",
    TypeRoot.DOUBLE: "double",
    TypeRoot.DATE: "date",
    TypeRoot.CHAR: "string",
    TypeRoot.VARCHAR: "string",
    TypeRoot.BINARY: "binary",
    TypeRoot.VARBINARY: "binary",
    TypeRoot.TIMESTAMP: "timestamp",
    TypeRoot.TIMESTAMP_LTZ: "timestamptz",
}
_TIMESTAMP_PRECISIONS: Final = range(3, 7)


def type_gap(data_type: DataType) -> str | None:
    """Return why Iceberg readers could not read a column of this type; None if they can.

    Example:
        >>> type_gap(DataType(root=TypeRoot.TIMESTAMP, precision=9))
        'TIMESTAMP(9) has no counterpart: Iceberg reads timestamps of precision 3 to 6'
    """
    root, precision = data_type.root, data_type.precision
    if root in TIMESTAMP_ROOTS and precision not in _TIMESTAMP_PRECISIONS:
        return f"{data_type} has no counterpart: Iceberg reads timestamps of precision 3 to 6"
    if root is TypeRoot.TIME:
        return f"{data_type} has no counterpart: Iceberg reads times in microseconds"
    if root not in _NAMES and root is not TypeRoot.DECIMAL and not data_type.is_nested:
        return f"{data_type} has no counterpart"
    inner = (data_type.element, data_type.key, data_type.value)
    types = [part for part in inner if part is not None]
    types += [field.type for field in data_type.fields]
    return next((gap for gap in map(type_gap, types) if gap is not None), None)


def iceberg_type(data_type: DataType, field_id: int, depth: int = 0) -> IcebergType:
    """Return Iceberg's type, as in its JSON.

    Args:
        data_type: A type without a `type_gap`.
        field_id: Id of the column, or of the field of the ROW, that has the type or a part of it.
        depth: How far the type is inside the type of that field.
    """
    depth += 1
    match data_type.root:
        case TypeRoot.DECIMAL:
            return f"decimal({data_type.precision}, {data_type.scale})"
        case TypeRoot.ARRAY:
            assert data_type.element is not None
            return {
                "type": "list",
                "element-id": nested_field_id(field_id, depth),
                "element-required": not data_type.element.nullable,
                "element": iceberg_type(data_type.element, field_id, depth),
            }
        case TypeRoot.MAP:
            assert data_type.key is not None
            assert data_type.value is not None
            return _map(data_type.key, data_type.value, field_id, depth)
        case TypeRoot.MULTISET:
            assert data_type.element is not None
            count = DataType(root=TypeRoot.INT, nullable=False)
            return _map(data_type.element, count, field_id, depth)
        case TypeRoot.ROW:
            return {"type": "struct", "fields": [iceberg_field(part) for part in data_type.fields]}
        case _:
            return _NAMES[data_type.root]


def iceberg_field(field: DataField) -> Mapping[str, object]:
    """Return a column, or a field of a ROW, as in Iceberg's JSON."""
    found: dict[str, object] = {
        "id": field.id,
        "name": field.name,
        "required": not field.type.nullable,
        "type": iceberg_type(field.type, field.id),
    }
    if field.description is not None:
        found["doc"] = field.description
    return found


def _map(key: DataType, value: DataType, field_id: int, depth: int) -> IcebergType:
    return {
        "type": "map",
        "key-id": map_key_field_id(field_id, depth),
        "key": iceberg_type(key, field_id, depth),
        "value-id": nested_field_id(field_id, depth),
        "value-required": not value.nullable,
        "value": iceberg_type(value, field_id, depth),
    }
