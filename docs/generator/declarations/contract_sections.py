"""Sections about contracts: a table of fields for each contract, a list of values for each enumeration."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from braid.registry.rules.stream_bounds import BOUNDS, TRIGGER_MS_BOUNDS
from braid.schemas import Contract, IntervalTrigger, StreamDefinition
from braid.schemas.contract import entries_max
from docs.generator.declarations.schema_text import Schema, schema_text
from docs.generator.markdown import bullets, code, section, table
from docs.generator.value_text import json_text

_SUFFIX = re.compile(r"(?<=.)(Spec|Definition)$")
_WORD = re.compile(r"[A-Z][a-z]*")
_SPELLED = {"json": "JSON", "csv": "CSV", "ttl": "TTL", "kafka": "Kafka"}
_NAMED = re.compile(r"`([A-Z]\w+)(?:\.(\w+))?`")
_SHOWN_EXAMPLE_MAX = 60  # characters

_CHECKED_BOUNDS: Mapping[tuple[str, str], tuple[int, int]] = {
    **{(StreamDefinition.__name__, name): bounds for name, bounds in BOUNDS.items()},
    (StreamDefinition.__name__, "trigger_ms"): TRIGGER_MS_BOUNDS,
    (IntervalTrigger.__name__, "milliseconds"): TRIGGER_MS_BOUNDS,
}
"""Bounds that rules check and not the contract itself, by names of contract and field."""

Links = Mapping[str, str]
"""Markdown links to sections, by name of the contract or enumeration."""
FieldExamples = Mapping[tuple[str, str], object]
"""The first value of a field in the examples, by names of contract and field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedSchema:
    """A contract or enumeration with its JSON Schema.

    Attributes:
        name: The name of the class.
        schema: The JSON Schema, without that of others to which it refers.
        model: The contract; None for an enumeration.
    """

    name: str
    schema: Schema
    model: type[BaseModel] | None

    @property
    def title(self) -> str:
        """The name in words."""
        words = [word.lower() for word in _WORD.findall(_SUFFIX.sub("", self.name))]
        text = " ".join(_SPELLED.get(word, word) for word in words)
        return text[0].upper() + text[1:]

    @property
    def anchor(self) -> str:
        """The name of the section in links."""
        return self.title.lower().replace(" ", "-")


def described_schemas(root: type[Contract]) -> list[DescribedSchema]:
    """Return a contract, and then all that it refers to, in the order of the fields that do so first."""
    whole = root.model_json_schema()
    definitions: dict[str, Any] = whole.pop("$defs", {})
    schemas = {root.__name__: whole, **definitions}
    models = {model.__name__: model for model in _models(root)}
    order: dict[str, None] = {}

    def visit(name: str) -> None:
        if name in order:
            return
        order[name] = None
        for other in _references(schemas[name]):
            visit(other)

    visit(root.__name__)
    return [
        DescribedSchema(name=name, schema=schemas[name], model=models.get(name)) for name in order
    ]


def schema_section(described: DescribedSchema, links: Links, examples: FieldExamples) -> str:
    """Return the section of a contract or enumeration.

    Args:
        described: The contract or enumeration.
        links: Links to all that it refers to.
        examples: Values of fields.
    """
    text = _linked(described.schema.get("description", ""), links)
    if described.model is None:
        shown = bullets(code(json_text(value)) for value in described.schema["enum"])
    else:
        fields = described.model.model_fields.items()
        rows = [_row(described, name, field, links, examples) for name, field in fields]
        shown = table(("field", "value", "default", "meaning", "example"), rows)
    return section(described.title, text, shown) or ""


def field_examples(declarations: Sequence[Contract]) -> dict[tuple[str, str], object]:
    """Return the first value that declarations give to each field, by names of contract and field."""
    found: dict[tuple[str, str], object] = {}
    for declaration in declarations:
        for model, name, value in _given(declaration):
            found.setdefault((model, name), value)
    return found


def shown_name(name: str, field: FieldInfo) -> str:
    """Return the name of a field in JSON."""
    return field.alias or name


def _row(
    described: DescribedSchema,
    name: str,
    field: FieldInfo,
    links: Links,
    examples: FieldExamples,
) -> Sequence[str]:
    shown = shown_name(name, field)
    schema = described.schema["properties"][shown]
    example = json_text(examples.get((described.name, name)))
    return (
        code(shown),
        schema_text(_with_bounds(described, name, field, schema), links),
        "required" if field.is_required() else code(_default(field)),
        _linked(schema["description"], links),
        code(example) if len(example) <= _SHOWN_EXAMPLE_MAX else "[below](#examples)",
    )


def _with_bounds(described: DescribedSchema, name: str, field: FieldInfo, schema: Schema) -> Schema:
    """Return the schema of a field with the bounds that its JSON Schema lacks, and without the null of its default."""
    if (described.name, name) in _CHECKED_BOUNDS:
        least, most = _CHECKED_BOUNDS[described.name, name]
        return {"type": "integer", "minimum": least, "maximum": most}
    if "anyOf" in schema and field.default is None:
        others = [one for one in schema["anyOf"] if one != {"type": "null"}]
        schema = {**schema, "anyOf": others}
    most_entries = entries_max(field)
    if most_entries is None:
        return schema
    bound = "maxItems" if schema.get("type") == "array" else "maxProperties"
    return {**schema, bound: most_entries}


def _linked(text: str, links: Links) -> str:
    """Return a text in which names of contracts, and of their fields, are links."""

    def link(found: re.Match[str]) -> str:
        name, field = found.groups()
        if name not in links:
            return found.group()
        return f"{code(field)} of {links[name]}" if field else links[name]

    return _NAMED.sub(link, text)


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True, validated_data={})
    return json_text(to_jsonable_python(value, by_alias=True, exclude_none=True))


def _models(root: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Yield a contract and all contracts of its fields, however deep."""
    found: dict[type[BaseModel], None] = {}
    waiting: list[Any] = [root]
    while waiting:
        one = waiting.pop()
        waiting.extend(getattr(one, "__args__", ()))
        if isinstance(one, type) and issubclass(one, BaseModel) and one not in found:
            found[one] = None
            waiting.extend(field.annotation for field in one.model_fields.values())
    yield from found


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if "$ref" in schema:
            yield schema["$ref"].rpartition("/")[2]
        for key, value in schema.items():
            if key != "discriminator":
                yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)


def _given(value: object) -> Iterator[tuple[str, str, object]]:
    """Yield the fields that are given in a contract and in the contracts within, with their JSON values."""
    if isinstance(value, BaseModel):
        shown = value.model_dump(mode="json", by_alias=True, exclude_unset=True)
        for name, field in type(value).model_fields.items():
            if name in value.model_fields_set:
                yield type(value).__name__, name, shown[shown_name(name, field)]
                yield from _given(getattr(value, name))
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _given(one)
    elif isinstance(value, tuple):
        for one in value:
            yield from _given(one)
