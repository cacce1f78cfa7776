"""Texts for what a JSON Schema admits, such as ``list of text, 1 or more``."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from docs.generator.markdown import code
from docs.generator.value_text import json_text

Schema: TypeAlias = Mapping[str, Any]

_PLAIN = {"boolean": "`true` or `false`", "null": "`null`"}


def schema_text(schema: Schema, links: Mapping[str, str]) -> str:
    """Return what a schema admits, in words.

    Args:
        schema: A JSON Schema as pydantic writes it; references name schemas of `$defs` or components.
        links: Markdown links to the schemas that it refers to, by their names.
    """
    if "$ref" in schema:
        return links[schema["$ref"].rpartition("/")[2]]
    if "const" in schema:
        return code(json_text(schema["const"]))
    if "enum" in schema:
        return ", ".join(code(json_text(value)) for value in schema["enum"])
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return ", or ".join(dict.fromkeys(schema_text(one, links) for one in schema[union]))
    match schema.get("type"):
        case "string":
            return _string(schema)
        case "integer" | "number" as kind:
            return " ".join((kind, *_range(schema)))
        case "array":
            return _bounded(f"list of {schema_text(schema.get('items', {}), links)}", schema)
        case "object":
            return _object(schema, links)
        case None:
            return "any JSON value"
        case kind:
            return _PLAIN[kind]


def _string(schema: Schema) -> str:
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if most is not None:
        characters = f"{most:,} characters"
        return "one character" if least == most == 1 else f"text of {least} to {characters}"
    return "text, not empty" if least else "text"


def _range(schema: Schema) -> Iterator[str]:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is None and "exclusiveMinimum" in schema:
        least = schema["exclusiveMinimum"] + 1
    if most is None and "exclusiveMaximum" in schema:
        most = schema["exclusiveMaximum"] - 1
    if (least, most) == (-(2**63), 2**63 - 1):
        yield "of 64 bits"
        return
    if least is not None:
        yield f"from {least:,}"
    if most is not None:
        yield f"to {most:,}"


def _object(schema: Schema, links: Mapping[str, str]) -> str:
    values = schema.get("additionalProperties")
    if not isinstance(values, Mapping) or not values:
        return "object"
    return _bounded(f"object with values: {schema_text(values, links)}", schema)


def _bounded(text: str, schema: Schema) -> str:
    least = schema.get("minItems", schema.get("minProperties"))
    most = schema.get("maxItems", schema.get("maxProperties"))
    if most is not None:
        return f"{text}, {least or 0} to {most:,}"
    return f"{text}, {least} or more" if least else text
