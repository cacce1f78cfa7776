"""JSON Schemas of declarations in files, for editors: `schemas/json`."""

import json
from typing import Any, Final

from pydantic import TypeAdapter

from braid.schemas import DefinitionFile, StreamDefinition, TableSpec
from braid.schemas.declaration_document import Declaration

FOLDER: Final = "schemas/json"
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_ADAPTERS: Final[dict[str, tuple[str, TypeAdapter[Any]]]] = {
    "declaration": (
        "A document for `braid apply`: a table, a stream, or a table with its streams",
        TypeAdapter(Declaration | DefinitionFile),
    ),
    "definition-file": ("A table with its streams, for `braid test`", TypeAdapter(DefinitionFile)),
    "table": ("A table, as the body with which it is registered over HTTP", TypeAdapter(TableSpec)),
    "stream": (
        "A stream, as the body with which it is registered over HTTP",
        TypeAdapter(StreamDefinition),
    ),
}


def json_schemas() -> dict[str, str]:
    """Return the text of each JSON Schema, by its path below the root."""
    return {
        f"{FOLDER}/{name}.schema.json": _text(title, adapter)
        for name, (title, adapter) in _ADAPTERS.items()
    }


def _text(title: str, adapter: TypeAdapter[Any]) -> str:
    schema = {"$schema": _DIALECT, **adapter.json_schema(), "title": title}
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
