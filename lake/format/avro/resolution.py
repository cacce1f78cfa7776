"""Schema resolution: records of an Avro file, read under another schema than the one it was written with.

`written_schema` checks the schema of a header; `resolver` gives the conversion of decoded values. A
null is an error if the wanted field is not nullable.

Writers of the format agree on the names of fields and on little else. Some put the records, or
records inside them, into a union with null; some put null last; some declare a type once and refer
to it by name. Some have fewer or more fields than this version, or another order of the fields. The
rules are:

- a union is of null and one other type, in either order; the records themselves may be in such a union;
- a field is found by its name; names of records do not matter;
- fields that are not wanted are skipped; nullable fields that the file lacks are null;
- int and long, and string and bytes, are interchangeable.

Source: Apache Avro 1.11 specification, "Schema Resolution"; table-format 5.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from braid.lake.format.avro.schemas import AvroSchema, layout

Resolve: TypeAlias = Callable[[Any], Any]
"""Returns the value under the wanted schema for a value under the written one."""

NULL: Final = "null"
_PRIMITIVES: Final = frozenset(
    {NULL, "boolean", "int", "long", "float", "double", "bytes", "string"}
)
_NAMED: Final = frozenset({"record", "enum", "fixed"})
_WHOLE_NUMBERS: Final = frozenset({"int", "long"})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WrittenSchema:
    """The schema in the header of a container; files with the same header share one object while it is cached.

    Attributes:
        declared: The schema of the header, without logical types.
        record: Schema of one record, with logical types, and with types in place of their names.
        null: Branch number of null, 0 or 1, if the records are in a union; else None.
    """

    declared: Any
    record: AvroSchema
    null: int | None


def written_schema(declared: Any) -> WrittenSchema:
    """Return the schema that a header declares.

    Args:
        declared: The parsed JSON of the header.

    Raises:
        ValueError: The schema is not one of records, or of a union of records and null; or it uses a type
            name before it declares it.
    """
    whole = _with_types_for_names(declared, "", {})
    null = None
    if isinstance(whole, list):
        null, whole = null_branch(whole), not_null(whole)
    if not isinstance(whole, dict) or whole.get("type") != "record":
        text = "its schema is not a record schema"
        raise ValueError(text)
    return WrittenSchema(declared=_without_logical_types(declared), record=whole, null=null)


def null_branch(schema: Any) -> int | None:
    """Return the branch number of null in a union, 0 or 1; None if the schema is not a union.

    Raises:
        ValueError: The union is not of null and one other type.
    """
    if not isinstance(schema, list):
        return None
    if len(schema) != 2 or schema.count(NULL) != 1:
        text = f"a union of {len(schema)} types, expected null and one other type"
        raise ValueError(text)
    return schema.index(NULL)


def not_null(schema: Any) -> Any:
    """Return the type of a union that is not null; a schema that is not a union is returned unchanged.

    Raises:
        ValueError: As in `null_branch`.
    """
    null = null_branch(schema)
    return schema if null is None else schema[1 - null]


def resolver(written: Any, wanted: Any, *, field: str = "record") -> Resolve | None:
    """Return the conversion of values from one schema to another; None for the identity.

    Args:
        written: Schema of the values, in the form of `WrittenSchema.record`: types in place of their names.
        wanted: Schema of the result, in the same form, null first in unions.
        field: Name of the field whose values are converted, for messages.

    Raises:
        ValueError: A field that is not nullable is missing, or a field has another type. The returned
            function raises ValueError for a null that is not allowed.
    """
    # The usual case: with equal layouts the values are equal, so records cost nothing.
    if layout(written) == layout(wanted):
        return None
    resolve = _value_resolver(not_null(written), not_null(wanted), field)
    if null_branch(written) is None:
        return resolve
    if null_branch(wanted) is None:
        return lambda value: _required(value, resolve, field)
    return resolve and (lambda value: None if value is None else resolve(value))


def _value_resolver(written: Any, wanted: Any, field: str) -> Resolve | None:
    """Return the conversion of values that are not null."""
    kind, wanted_kind = _kind(written), _kind(wanted)
    if kind == wanted_kind == "record":
        return _record_resolver(written, wanted, field)
    if kind == wanted_kind == "array":
        resolve = resolver(written["items"], wanted["items"], field=field)
        return resolve and (lambda values: [resolve(value) for value in values])
    if kind == wanted_kind or {kind, wanted_kind} == _WHOLE_NUMBERS:
        return None
    if (kind, wanted_kind) == ("string", "bytes"):
        return str.encode
    if (kind, wanted_kind) == ("bytes", "string"):
        return bytes.decode
    text = f"the field {field} is {kind}, expected {wanted_kind}"
    raise ValueError(text)


def _record_resolver(written: AvroSchema, wanted: AvroSchema, field: str) -> Resolve | None:
    types = {part["name"]: part["type"] for part in _fields(written)}
    taken: dict[str, Resolve | None] = {}
    absent: list[str] = []
    for part in _fields(wanted):
        name, kind = part["name"], part["type"]
        if name in types:
            taken[name] = resolver(types[name], kind, field=name)
        elif null_branch(kind) is None:
            text = f"the {field} lacks the field {name}"
            raise ValueError(text)
        else:
            absent.append(name)
    if not absent and not any(taken.values()):
        return None  # records are dictionaries, so the order of fields and further fields do not matter

    def resolve(record: Mapping[str, Any]) -> dict[str, Any]:
        found = {
            name: record[name] if resolve is None else resolve(record[name])
            for name, resolve in taken.items()
        }
        return found | dict.fromkeys(absent)

    return resolve


def _required(value: Any, resolve: Resolve | None, field: str) -> Any:
    if value is None:
        text = f"the field {field} is null"
        raise ValueError(text)
    return value if resolve is None else resolve(value)


def _kind(schema: Any) -> str:
    while isinstance(schema, dict):
        schema = schema["type"]
    return str(schema)


def _fields(record: AvroSchema) -> Sequence[Mapping[str, Any]]:
    return cast("Sequence[Mapping[str, Any]]", record["fields"])


def _with_types_for_names(schema: Any, namespace: str, named: dict[str, Any]) -> Any:
    """Return the schema with types in place of their names."""
    if isinstance(schema, str):
        return schema if schema in _PRIMITIVES else _type_of_name(schema, namespace, named)
    if isinstance(schema, list):
        return [_with_types_for_names(branch, namespace, named) for branch in schema]
    kind = schema["type"]
    if kind == NULL:
        return NULL
    if kind in ("array", "map"):
        part = "items" if kind == "array" else "values"
        return {**schema, part: _with_types_for_names(schema[part], namespace, named)}
    if not isinstance(kind, str) or kind not in _NAMED:
        return {**schema, "type": _with_types_for_names(kind, namespace, named)}
    # Nested types inherit the namespace of the enclosing one, which a full name contains.
    name = _full_name(schema["name"], schema.get("namespace", namespace))
    whole = dict(schema)
    if kind == "record":
        inside = name.rpartition(".")[0]
        whole["fields"] = [
            {**field, "type": _with_types_for_names(field["type"], inside, named)}
            for field in schema["fields"]
        ]
    # Named only after its fields, so a recursive type, which the format does not have, is refused.
    named[name] = whole
    return whole


def _type_of_name(name: str, namespace: str, named: Mapping[str, Any]) -> Any:
    # First as a name in the enclosing namespace, then as one without a namespace.
    for full in (_full_name(name, namespace), name):
        if full in named:
            return named[full]
    text = f"its schema uses a type {name} before it declares it"
    raise ValueError(text)


def _full_name(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _without_logical_types(schema: Any) -> Any:
    """Return the schema without logical types, so that fastavro returns the stored numbers."""
    if isinstance(schema, list):
        return [_without_logical_types(part) for part in schema]
    if isinstance(schema, dict):
        return {
            key: _without_logical_types(part)
            for key, part in schema.items()
            if key != "logicalType"
        }
    return schema
