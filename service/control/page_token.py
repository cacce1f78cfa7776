"""Encoding of page tokens: bytes as base64url without padding, which needs no escapes in a URL; the error of other texts."""

import base64

from braid.lake import InvalidRequest, Problem


def encode_token(content: bytes) -> str:
    """Return the token of some bytes."""
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def decode_token(token: str) -> bytes:
    """Return the bytes of a token.

    Example:
        >>> decode_token(encode_token(b"a?b"))
        b'a?b'

    Raises:
        ValueError: The text is not base64url.
    """
    padded = token + "=" * (-len(token) % 4)
    return base64.b64decode(padded, altchars=b"-_", validate=True)


def not_a_token(text: str) -> InvalidRequest:
    """Return the error of a text that is not a page token of the list."""
    problem = Problem(
        field="page_token",
        value=text[:200],
        message="this is not a token of this list",
        hint="send `next_page_token` of the page before, or none for the first page",
    )
    return InvalidRequest("the page is not known", problems=[problem])
