"""Implementation of `braid schema` (declared in `main`): JSON Schemas of declarations, as the package has them."""

from enum import StrEnum
from importlib.resources import files


class Declared(StrEnum):
    """What a JSON Schema describes."""

    DECLARATION = "declaration"
    DEFINITION_FILE = "definition-file"
    TABLE = "table"
    STREAM = "stream"


def json_schema(declared: Declared) -> str:
    """Return the text of a JSON Schema."""
    return (files("braid.schemas") / "json" / f"{declared}.schema.json").read_text(encoding="utf-8")
