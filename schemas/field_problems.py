"""Construction of the problems of single fields: each has its location as a JSON pointer and as readable text.

The module also formats values and lists for messages, cut to a bounded length.
"""

import json
from collections.abc import Iterable

from pydantic import BaseModel

from braid.schemas import FieldProblem
from braid.schemas.problem import JsonPath

SHOWN_MAX = 200  # characters of a value
_LISTED_MAX = 20


def json_pointer(path: JsonPath) -> str:
    """Return a path as an RFC 6901 pointer.

    Example:
        >>> json_pointer(("options", "a/b", 0))
        '/options/a~1b/0'
    """
    parts = (str(part).replace("~", "~0").replace("/", "~1") for part in path)
    return "".join(f"/{part}" for part in parts)


def field_path(path: JsonPath) -> str:
    """Return a path in the form in which a person writes it.

    Example:
        >>> field_path(("columns", 2, "type"))
        'columns[2].type'
    """
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def problem_at(
    *path: str | int, value: object = None, message: str, hint: str | None = None
) -> FieldProblem:
    """Return the problem of one field of the request's body.

    Args:
        *path: Names and indexes from the body's root.
        value: The value that was found there; None when the field is missing.
        message: What is wrong and what was expected.
        hint: How to fix it.
    """
    return FieldProblem(
        pointer=json_pointer(path),
        field=field_path(path),
        path=path,
        value=None if value is None else display_text(value),
        message=message,
        hint=hint,
    )


def parameter_problem(
    field: str, *, value: str | None = None, message: str, hint: str
) -> FieldProblem:
    """Return the problem of a header or parameter, which is not in the request's body."""
    return FieldProblem(pointer=None, field=field, value=value, message=message, hint=hint)


def quoted_list(names: Iterable[str]) -> str:
    """Return names for a message: "`a`, `b`"; "none" when there are none.

    Only the first names are listed: with all of them, one problem for each of a thousand columns would
    make an answer of a million names.
    """
    known = list(names)
    text = ", ".join(f"`{display_text(name)}`" for name in known[:_LISTED_MAX]) or "none"
    rest = len(known) - _LISTED_MAX
    return f"{text} and {rest} more" if rest > 0 else text


def display_text(value: object) -> str:
    """Return a value as JSON, texts without quotes, cut to the length that a message may quote.

    >>> [display_text(value) for value in ("a", True, None, {"b": [1]}, "x" * 300)][:4]
    ['a', 'true', 'null', '{"b": [1]}']
    """
    text = value if isinstance(value, str) else json.dumps(value, default=_plain)
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}..."


def _plain(value: object) -> object:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else str(value)
