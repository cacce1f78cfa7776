"""The Avro schema of a data file, as the reference derives it from columns.

| type | Avro |
|---|---|
| BOOLEAN | boolean |
| TINYINT SMALLINT INT | int |
| BIGINT | long |
| FLOAT DOUBLE | float, double |
| DECIMAL(p, s) | bytes, decimal: the unscaled number, big endian, as few bytes as hold it |
| CHAR VARCHAR STRING | string |
| BINARY VARBINARY BYTES | bytes |
| DATE | int, date |
| TIME | int, time-millis |
| TIMESTAMP(p) | long, timestamp-millis for p <= 3, timestamp-micros for p <= 6 |
| TIMESTAMP(p) WITH LOCAL TIME ZONE | long, local-timestamp-millis, local-timestamp-micros |
| ARRAY | array |
| MAP, MULTISET | map; if the keys are not texts, an array of records `key`, `value` |
| ROW | record |

A nullable column is `["null", T]`. Nested records are named after the path to them, with `_` behind a
name that is taken. Timestamps of precision 7 and more have no Avro type: `braid.lake.write.files.encoding_rules`
finds them, and TIMEs of precision 4 and more, so that they are refused before a file is written.

Source: table-format 12.5; `org.apache.paimon.format.avro.AvroSchemaConverter`.
"""

from collections.abc import Sequence
from typing import Any, Final

from braid.lake.format.avro.schemas import AvroSchema
from braid.lake.format.data_types import BYTES_ROOTS, TEXT_ROOTS, DataField, DataType, TypeRoot

_NAMESPACE: Final = "org.apache.paimon.avro.generated"
_ROOT: Final = "record"
_MILLIS_DIGITS_MAX: Final = 3
_MULTISET_COUNT: Final = DataType(root=TypeRoot.INT)

PLAIN_TYPES: Final = {
    TypeRoot.BOOLEAN: "boolean",
    TypeRoot.TINYINT: "int",
    TypeRoot.SMALLINT: "int",
    TypeRoot.INT: "int",
    TypeRoot.BIGINT: "long",
    TypeRoot.FLOAT: "float",
    TypeRoot.DOUBLE: "double",
    **dict.fromkeys(TEXT_ROOTS, "string"),
    **dict.fromkeys(BYTES_ROOTS, "bytes"),
}
"""Avro's types of the types that have one without a logical type."""


def avro_schema(columns: Sequence[DataField]) -> AvroSchema:
    """Return the schema of a file of these columns.

    Args:
        columns: The columns, with names and types that Avro supports.
    """
    names = _Names()
    return {
        "type": "record",
        "name": names.take(_ROOT),
        "namespace": _NAMESPACE,
        "fields": [_field(column, _ROOT, names) for column in columns],
    }


def is_text_map(data_type: DataType) -> bool:
    """Return whether a MAP or MULTISET is a map in Avro, which requires text keys."""
    return map_parts(data_type)[0].root in TEXT_ROOTS


def map_parts(data_type: DataType) -> tuple[DataType, DataType]:
    """Return the types of the keys and values of a MAP or MULTISET."""
    key = data_type.key or data_type.element
    assert key is not None, data_type
    return key, data_type.value or _MULTISET_COUNT


class _Names:
    """Assigns unique names to records, as Avro requires."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def _field(field: DataField, record: str, names: _Names) -> dict[str, Any]:
    kind = _type(field.type, f"{record}_{field.name}", names)
    default = {"default": None} if field.type.nullable else {}
    return {"name": field.name, "type": kind, **default}


def _type(data_type: DataType, name: str, names: _Names) -> Any:
    kind = _not_null(data_type, name, names)
    return ["null", kind] if data_type.nullable else kind


def _not_null(data_type: DataType, name: str, names: _Names) -> Any:
    plain = PLAIN_TYPES.get(data_type.root)
    if plain is not None:
        return plain
    match data_type.root:
        case TypeRoot.DATE:
            return {"type": "int", "logicalType": "date"}
        case TypeRoot.TIME:
            return {"type": "int", "logicalType": "time-millis"}
        case TypeRoot.TIMESTAMP:
            return {"type": "long", "logicalType": f"timestamp-{_unit(data_type)}"}
        case TypeRoot.TIMESTAMP_LTZ:
            return {"type": "long", "logicalType": f"local-timestamp-{_unit(data_type)}"}
        case TypeRoot.DECIMAL:
            return {
                "type": "bytes",
                "logicalType": "decimal",
                "precision": data_type.precision,
                "scale": data_type.scale,
            }
        case TypeRoot.ARRAY:
            assert data_type.element is not None
            return {"type": "array", "items": _type(data_type.element, name, names)}
        case TypeRoot.ROW:
            taken = names.take(name)
            fields = [_field(field, name, names) for field in data_type.fields]
            return {"type": "record", "name": taken, "fields": fields}
        case _:
            return _map(data_type, name, names)


def _map(data_type: DataType, name: str, names: _Names) -> Any:
    key, value = map_parts(data_type)
    if is_text_map(data_type):
        return {"type": "map", "values": _type(value, name, names)}
    # Avro's maps have text keys only; a map with other keys is an array of key and value.
    taken = names.take(name)
    key_field = {"name": "key", "type": _type(key, f"{name}_key", names)}
    value_field = _field(DataField(name="value", type=value), name, names)
    entry = {"type": "record", "name": taken, "fields": [key_field, value_field]}
    return {"type": "array", "logicalType": "map", "items": entry}


def _unit(data_type: DataType) -> str:
    assert data_type.precision is not None
    return "millis" if data_type.precision <= _MILLIS_DIGITS_MAX else "micros"
