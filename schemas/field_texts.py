"""Texts of contracts and their fields, from the docstrings of the classes, for JSON Schema and the reference pages.

A docstring describes each field in a line of its section `Attributes:`. So that every reader of the schema finds the text at
the field itself, this module takes the section out of the description of the class.
"""

import inspect
import re
from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

_SECTION: Final = re.compile(r"^Attributes:\n((?:[ ]{4}.*\n?|\n)*)", re.MULTILINE)
_ENTRY: Final = re.compile(r"^    (\w+):[ ]*(.*(?:\n {8}.*)*)", re.MULTILINE)


def class_text(described: type) -> str:
    """Return what a class's docstring says about it as a whole, as paragraphs of one line; empty without a docstring."""
    paragraphs = _SECTION.sub("", _docstring(described)).strip().split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def attribute_texts(described: type) -> Mapping[str, str]:
    """Return what the docstrings of a class and its base classes say about each attribute, as one line by name."""
    found: dict[str, str] = {}
    for base in reversed(described.__mro__):
        for section in _SECTION.findall(_docstring(base)):
            found |= {name: " ".join(text.split()) for name, text in _ENTRY.findall(section)}
    return found


def describe_fields(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Give each property of a model's JSON Schema its text, and the schema that of the model."""
    texts = attribute_texts(model)
    if text := class_text(model):
        schema["description"] = _in_json(text)
    properties = schema.get("properties", {})
    for name, field in model.model_fields.items():
        # Properties are named by the alias or by the attribute, depending on who asks for the schema.
        for shown in {name, field.alias or name} & properties.keys():
            if name in texts:
                properties[shown].setdefault("description", _in_json(texts[name]))


def _in_json(text: str) -> str:
    """Return a text with the names that its readers, who see JSON, have for Python's values."""
    return re.sub(r"\bNone\b", "null", text)


def _docstring(described: type) -> str:
    text = vars(described).get("__doc__")
    return inspect.cleandoc(text) if isinstance(text, str) and described is not BaseModel else ""
