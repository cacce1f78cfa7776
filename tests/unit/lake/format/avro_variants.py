"""Equivalent forms of a schema, as other writers choose them."""

import io
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, Final

import fastavro

from braid.lake.format.avro.schemas import AvroSchema

Variant = Callable[[Any], Any]


def written(schema: Any, records: Iterable[Any], *, block_rows: int = 0) -> bytes:
    """Return a container of records in a schema, with fastavro.

    Args:
        schema: May be a union of null and a record.
        records: As dictionaries.
        block_rows: Records of each block; 0 for as many as are usual.
    """
    buffer = io.BytesIO()
    parsed = fastavro.parse_schema(deepcopy(schema))
    if not block_rows:
        fastavro.writer(buffer, parsed, records, codec="deflate")
        return buffer.getvalue()
    writer = fastavro.write.Writer(buffer, parsed)
    for number, record in enumerate(records, start=1):
        writer.write(record)
        if number % block_rows == 0:
            writer.flush()
    writer.flush()
    return buffer.getvalue()


def in_union(schema: AvroSchema) -> Any:
    """Records, and the records in their fields, are in unions with null (paimon-rust)."""
    return ["null", _mapped(schema, _with_records_in_unions)]


def in_union_before_null(schema: AvroSchema) -> Any:
    """As `in_union`, and null is last everywhere."""
    return _null_last(in_union(schema))


def null_last(schema: AvroSchema) -> Any:
    """Optional fields have null last."""
    return _null_last(schema)


def reordered(schema: AvroSchema) -> Any:
    """Fields come in another order, at every level."""
    return _mapped(schema, lambda record: {**record, "fields": record["fields"][::-1]})


def with_more_fields(schema: AvroSchema) -> Any:
    """There are unknown fields: optional ones, and a record with a default."""
    unknown = [
        {"name": "_NEW", "type": ["null", "string"], "default": None},
        {"name": "_LIST", "type": {"type": "array", "items": "long"}, "default": [7]},
    ]
    return {**schema, "fields": [unknown[0], *_fields(schema), unknown[1]]}


def without_optional_fields(schema: AvroSchema) -> Any:
    """Fields that may be null are left out at the top."""
    return {**schema, "fields": [f for f in _fields(schema) if not isinstance(f["type"], list)]}


def named_once(schema: AvroSchema) -> Any:
    """Equal records are declared once, and referred to by name."""
    names: dict[str, str] = {}
    return _named_once(deepcopy(schema), names)


def with_namespaces(schema: AvroSchema) -> Any:
    """As `named_once`, with full names and a namespace that is inherited."""
    return _named_once({**deepcopy(schema), "name": "Entry", "namespace": "org.other"}, {})


def with_long_forms(schema: AvroSchema) -> Any:
    """Types are `{"type": …}` where a text would suffice, and ints are longs."""
    return _long_forms(schema)


VARIANTS: Final[tuple[Variant, ...]] = (
    in_union, in_union_before_null, null_last, reordered, with_more_fields, named_once,
    with_namespaces, with_long_forms,
)  # fmt: skip
"""Each can hold every record of the schema."""


def _fields(schema: AvroSchema) -> list[Any]:
    fields: Any = schema["fields"]
    return list(fields)


def _mapped(schema: Any, change: Callable[[Any], Any]) -> Any:
    """Return a schema with every record in it changed."""
    if isinstance(schema, list):
        return [_mapped(branch, change) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    if _is_record(schema):
        fields = [{**f, "type": _mapped(f["type"], change)} for f in schema["fields"]]
        return change({**schema, "fields": fields})
    return {key: _mapped(part, change) for key, part in schema.items()}


def _with_records_in_unions(record: AvroSchema) -> Any:
    fields = [
        {**f, "type": ["null", f["type"]]} if _is_record(f["type"]) else f for f in _fields(record)
    ]
    return {**record, "fields": fields}


def _is_record(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "record"


def _null_last(schema: Any) -> Any:
    if isinstance(schema, list):
        parts = [_null_last(part) for part in schema if part != "null"]
        return [*parts, "null"] if "null" in schema else parts
    if isinstance(schema, dict):
        # A default is of the first branch.
        return {key: _null_last(part) for key, part in schema.items() if key != "default"}
    return schema


def _named_once(schema: Any, names: dict[str, str]) -> Any:
    if isinstance(schema, list):
        return [_named_once(branch, names) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") != "record":
        return {key: _named_once(part, names) for key, part in schema.items()}
    alike = repr([(field["name"], field["type"]) for field in schema["fields"]])
    if alike in names:
        return names[alike]
    fields = [{**f, "type": _named_once(f["type"], names)} for f in schema["fields"]]
    names[alike] = schema["name"]
    return {**schema, "fields": fields}


def _long_forms(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_long_forms(branch) for branch in schema]
    if isinstance(schema, str):
        return {"type": "long" if schema == "int" else schema}
    if schema.get("type") == "record":
        fields = [{**f, "type": _long_forms(f["type"])} for f in schema["fields"]]
        return {**schema, "fields": fields}
    if schema.get("type") == "array":
        return {**schema, "items": _long_forms(schema["items"])}
    return schema
