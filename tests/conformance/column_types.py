"""Column types of the conformance format as Arrow types.

A reading of the specification of its own, so that an engine that maps a type to another Arrow type than the
documented one is found out rather than agreed with.
"""

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

TypeJson = str | dict[str, Any]
"""A type as Paimon's schema files write it: text when atomic, an object when nested."""

_ATOMIC = re.compile(
    r"(?P<name>[A-Z]+)\s*(?:\((?P<parameters>[\d, ]+)\))?(?P<zone> WITH LOCAL TIME ZONE)?(?: NOT NULL)?"
)
_PLAIN = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "CHAR": pa.string(),
    "VARCHAR": pa.string(),
    "STRING": pa.string(),
    "BINARY": pa.binary(),
    "VARBINARY": pa.binary(),
    "BYTES": pa.binary(),
    "DATE": pa.date32(),
    "TIME": pa.time32("ms"),
    "VARIANT": pa.struct(
        [pa.field(part, pa.binary(), nullable=False) for part in ("value", "metadata")]
    ),
}


def arrow_type(type_json: TypeJson) -> pa.DataType:
    """Return the Arrow form of a type; nullability is not part of it.

    Raises:
        ValueError: The type is none of those that the conformance format names.
    """
    if isinstance(type_json, str):
        return _atomic(type_json)
    match type_json["type"].removesuffix(" NOT NULL"):
        case "ARRAY":
            return pa.list_(arrow_type(type_json["element"]))
        case "MULTISET":
            return pa.map_(arrow_type(type_json["element"]), pa.int32())
        case "MAP":
            return pa.map_(arrow_type(type_json["key"]), arrow_type(type_json["value"]))
        case "ROW":
            fields = [(field["name"], arrow_type(field["type"])) for field in type_json["fields"]]
            return pa.struct(fields)
        case other:
            message = f"unknown nested type {other!r}"
            raise ValueError(message)


def with_field_ids(type_json: TypeJson, ids: Iterator[int]) -> TypeJson:
    """Return the type with ids for the fields of its ROWs, taken in order where they are absent."""
    if isinstance(type_json, str):
        return type_json
    nested: dict[str, Any] = dict(type_json)
    for part in ("element", "key", "value"):
        if part in nested:
            nested[part] = with_field_ids(nested[part], ids)
    if "fields" in nested:
        nested["fields"] = [_with_id(field, ids) for field in nested["fields"]]
    return nested


def _with_id(field: dict[str, Any], ids: Iterator[int]) -> dict[str, Any]:
    field_id = field["id"] if "id" in field else next(ids)
    return {**field, "id": field_id, "type": with_field_ids(field["type"], ids)}


def _atomic(text: str) -> pa.DataType:
    match = _ATOMIC.fullmatch(text)
    if match is None:
        message = f"unknown type {text!r}"
        raise ValueError(message)
    name = match["name"]
    parameters = [int(part) for part in (match["parameters"] or "").split(",") if part]
    if name == "DECIMAL":
        precision, scale = (*parameters, 10, 0)[:2] if parameters else (10, 0)
        return pa.decimal128(precision, scale if len(parameters) > 1 else 0)
    if name == "TIMESTAMP":
        return _timestamp(parameters[0] if parameters else 6, "UTC" if match["zone"] else None)
    return _PLAIN[name]


def _timestamp(precision: int, zone: str | None) -> pa.DataType:
    unit = "ms" if precision <= 3 else "us" if precision <= 6 else "ns"
    return pa.timestamp(unit, tz=zone)
