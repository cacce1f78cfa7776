"""Strict decoding of the query parameters of rows: escapes that are not UTF-8 are refused, not replaced."""

from urllib.parse import parse_qsl

from braid.formats.key_values import KeyRefused
from braid.schemas import FieldProblem


def parse_query(query: bytes) -> list[tuple[str, str]]:
    """Return the names and texts of the parameters of an address's query, in their order.

    The framework would replace invalid bytes by U+FFFD, which makes another text, perhaps the key of
    another row.

    Raises:
        KeyRefused: Some parameters are not UTF-8; the problems name each of them.
    """
    text = query.decode("latin-1")
    found = parse_qsl(text, keep_blank_values=True, errors="surrogateescape")
    if text.isascii() and "%" not in text:
        return found  # nothing was escaped
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
    """Return a text with U+FFFD for each byte that is not UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
