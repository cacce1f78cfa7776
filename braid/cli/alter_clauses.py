"""Parser of the clauses of `braid table alter`: converts clauses in the style of SQL to changes of the HTTP API. Pure.

`FORMS` lists the forms of the clauses. Keywords are case-insensitive.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

FORMS: Final[Mapping[str, str]] = {
    "ADD": "ADD [COLUMN] name type [COMMENT 'text'] [DEFAULT 'text'] "
    "[FIRST | LAST | AFTER name | BEFORE name] [IN group] [FROM source]",
    "DROP": "DROP [COLUMN] name",
    "RENAME": "RENAME [COLUMN] name TO name",
    "ALTER": "ALTER [COLUMN] name TYPE type | SET NOT NULL | DROP NOT NULL | COMMENT 'text' | "
    "DROP COMMENT | SET DEFAULT 'text' | DROP DEFAULT | FIRST | LAST | AFTER name | BEFORE name",
    "SET": "SET 'option' = 'value'",
    "UNSET": "UNSET 'option'",
    "COMMENT": "COMMENT 'text' | DROP COMMENT",
}
"""Forms of clauses, by their first word."""

NAMES: Final = (
    "A name with dots is the path of a nested column: address.street; `element` is the element of an "
    "ARRAY, `value` the value of a MAP. Names with characters other than letters, digits and _ are in "
    "backticks. Texts are in single quotes, a quote inside is doubled; a default that is a number "
    "needs no quotes."
)

_NAME: Final = r"(?:`[^`]+`|\w+)"
_PATH: Final = rf"{_NAME}(?:\.{_NAME})*"
_TEXT: Final = r"'(?:[^']|'')*'"
_VALUE: Final = rf"(?:{_TEXT}|[+-]?\d+(?:\.\d+)?)"
_POSITION: Final = rf"(?P<place>FIRST|LAST|AFTER|BEFORE)(?:\s+(?P<neighbour>{_NAME}))?"
_COLUMN: Final = rf"(?:COLUMN\s+)?(?P<column>{_PATH})"

_FORMS: Final[Mapping[str, str]] = {
    "add_column": rf"ADD\s+{_COLUMN}\s+(?P<type>\S.*?)"
    rf"(?:\s+COMMENT\s+(?P<description>{_TEXT}))?(?:\s+DEFAULT\s+(?P<default>{_VALUE}))?"
    rf"(?:\s+{_POSITION})?(?:\s+IN\s+(?P<sequence_group>\w+))?(?:\s+FROM\s+(?P<source>\S+))?",
    "update_comment": rf"COMMENT\s+(?P<comment>{_TEXT})|DROP\s+COMMENT",
    "drop_column": rf"DROP\s+{_COLUMN}",
    "rename_column": rf"RENAME\s+{_COLUMN}\s+TO\s+(?P<to>{_NAME})",
    "update_column_nullability": rf"ALTER\s+{_COLUMN}\s+(?P<nullable>SET|DROP)\s+NOT\s+NULL",
    "update_column_default": rf"ALTER\s+{_COLUMN}\s+"
    rf"(?:SET\s+DEFAULT\s+(?P<default>{_VALUE})|DROP\s+DEFAULT)",
    "update_column_comment": rf"ALTER\s+{_COLUMN}\s+"
    rf"(?:COMMENT\s+(?P<description>{_TEXT})|DROP\s+COMMENT)",
    "update_column_position": rf"ALTER\s+{_COLUMN}\s+{_POSITION}",
    "update_column_type": rf"ALTER\s+{_COLUMN}\s+TYPE\s+(?P<type>\S.*)",
    "set_option": rf"SET\s+(?P<key>{_TEXT})\s*=\s*(?P<value>{_TEXT})",
    "remove_option": rf"UNSET\s+(?P<key>{_TEXT})",
}
_COMPILED: Final = {
    change: re.compile(form, re.IGNORECASE | re.DOTALL) for change, form in _FORMS.items()
}
_TEXTS: Final = frozenset({"description", "default", "comment", "key", "value"})
_NULLABLE_TEXTS: Final[Mapping[str, str]] = {
    "update_comment": "comment",
    "update_column_comment": "description",
    "update_column_default": "default",
}
"""Changes that remove a text when the clause gives none, and the field that is then null."""


def parse_clause(text: str) -> dict[str, Any] | None:
    """Return the change of a clause, as a JSON object of `schema-changes`; None for other text.

    Example:
        >>> parse_clause("rename column note to remark")
        {'change': 'rename_column', 'column': ('note',), 'to': 'remark'}
        >>> parse_clause("ADD zip STRING AFTER `the street`")["position"]
        {'place': 'after', 'neighbour': 'the street'}
    """
    for change, form in _COMPILED.items():
        found = form.fullmatch(text.strip())
        if found is not None:
            return {"change": change, **_fields(change, found.groupdict())}
    return None


def expected_form(text: str) -> str:
    """Return the form that a text, which is not a clause, was probably meant to have, by its first word.

    Example:
        >>> expected_form("SET x=1")
        "expected SET 'option' = 'value'"
        >>> expected_form("MAKE x")
        'expected a change that begins with ADD, DROP, RENAME, ALTER, SET, UNSET or COMMENT'
    """
    first = text.split(maxsplit=1)[0].upper() if text.strip() else ""
    if first in FORMS:
        return f"expected {FORMS[first]}"
    *others, last = FORMS
    return f"expected a change that begins with {', '.join(others)} or {last}"


def _fields(change: str, groups: Mapping[str, str | None]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, text in groups.items():
        if text is None:
            continue
        if name == "column":
            path = tuple(part.strip("`") for part in re.findall(_NAME, text))
            # Only columns of the table itself have a position; nested columns cannot be moved.
            fields[name] = ".".join(path) if change == "update_column_position" else path
        elif name == "nullable":
            fields[name] = text.upper() == "DROP"
        elif name == "place":
            neighbour = groups["neighbour"]
            beside = {} if neighbour is None else {"neighbour": neighbour.strip("`")}
            fields["position"] = {"place": text.lower(), **beside}
        elif name in _TEXTS:
            fields[name] = text[1:-1].replace("''", "'") if text.startswith("'") else text
        elif name != "neighbour":
            fields[name] = text.strip("`")
    if change in _NULLABLE_TEXTS:
        fields.setdefault(_NULLABLE_TEXTS[change], None)
    return fields
