"""Conditions as people type them: `paid >= 12.5`, `city = Ulm`, `id in 1, 2`, `sent is null`."""

import re
from collections.abc import Sequence

from braid.arguments import refuse
from formats.key_values import parse_value
from lake import Condition, DataField, TableSchema

_COMPARED = re.compile(
    r"(?P<column>`[^`]+`|[^`<>=!\s]+)\s*(?P<op>!=|<=|>=|=|<|>)(?P<value>.*)", re.DOTALL
)
_WORDED = re.compile(
    r"(?P<column>`[^`]+`|\S+)\s+(?P<op>is\s+not\s+null|is\s+null|in)\b(?P<value>.*)",
    re.DOTALL | re.IGNORECASE,
)
_QUOTED = re.compile(r"'(?:[^']|'')*'")
_ITEM = r"\s*(?:'(?:[^']|'')*'|[^',]+)\s*"
_LIST = re.compile(rf"{_ITEM}(?:,{_ITEM})*")
_LISTED = re.compile(rf"(?:^|,)(?P<value>{_ITEM})")
_EXPECTED = "expected COLUMN and `= VALUE`, `!=`, `<`, `<=`, `>`, `>=`, `in A, B`, `is [not] null`"


def parse_conditions(texts: Sequence[str], schema: TableSchema) -> list[Condition]:
    """Return conditions, their values typed by the table's columns.

    A name with blanks or signs stands in backticks, a value with blanks at its ends in single
    quotes. Values are written as over HTTP. Ends the process with one line when a text is none.

    Args:
        texts: One comparison each.
        schema: Of the state that is read.

    Raises:
        SchemaMismatch: The table has no such column.
    """
    return [_parse(text, schema) for text in texts]


def _parse(text: str, schema: TableSchema) -> Condition:
    found = _COMPARED.fullmatch(text.strip()) or _WORDED.fullmatch(text.strip())
    if found is None:
        refuse("--where", text, _EXPECTED)
    column, value = found["column"].strip("`"), found["value"].strip()
    op = " ".join(found["op"].lower().split())
    field = schema.field(column)
    if op in ("is null", "is not null"):
        if value:
            refuse("--where", text, _EXPECTED)
        return Condition(column=column, op="is_null" if op == "is null" else "not_null")
    if op == "in":
        values = [_value(text, part, field) for part in _listed(text, value)]
        return Condition(column=column, op=op, value=values)
    return Condition(column=column, op=op, value=_value(text, value, field))


def _listed(text: str, values: str) -> list[str]:
    """Return the values between commas; a comma in quotes is a part of its value."""
    if values.startswith("(") and values.endswith(")"):
        values = values[1:-1]
    found = [match["value"].strip() for match in _LISTED.finditer(values)]
    if not _LIST.fullmatch(values) or not all(found):
        refuse("--where", text, "expected `in A, B`, a value with a comma in single quotes")
    return found


def _value(text: str, value: str, field: DataField) -> object:
    if value.startswith("'"):
        if not _QUOTED.fullmatch(value):
            refuse(
                "--where",
                text,
                "a value in single quotes ends with one; inside it is doubled: `''`",
            )
        value = value[1:-1].replace("''", "'")
    try:
        return parse_value(value, field)
    except KeyError:
        refuse("--where", text, f"{field.name} of type {field.type} is not compared")
    except ValueError as error:
        refuse("--where", text, f"{value!r} is no {field.type.with_nullable(True)}: {error}")
