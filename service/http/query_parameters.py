"""Parameters of an address as text: each escape of UTF-8 resolved, and nothing put in the place of others."""

from urllib.parse import parse_qsl

from fastapi import Request

from formats.key_values import KeyRefused
from schemas import FieldProblem


def query_parameters(request: Request) -> list[tuple[str, str]]:
    """Return the names and texts of a request's parameters, in their order.

    The framework reads bytes that are no text as U+FFFD, which is a text, and another row's perhaps.

    Raises:
        KeyRefused: Some are not UTF-8; each is named.
    """
    query = request.scope["query_string"].decode("latin-1")
    found = parse_qsl(query, keep_blank_values=True, errors="surrogateescape")
    problems = [
        FieldProblem(
            pointer=None,
            field=_shown(name),
            value=_shown(text),
            message="its escapes are not UTF-8",
            hint="escape the bytes of UTF-8, such as %C3%BC for `ü`",
        )
        for name, text in found
        if not (_is_utf8(name) and _is_utf8(text))
    ]
    if problems:
        raise KeyRefused(problems)
    return found


def _is_utf8(text: str) -> bool:
    return _shown(text) == text


def _shown(text: str) -> str:
    """Return a text with U+FFFD for each byte that was none of UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
