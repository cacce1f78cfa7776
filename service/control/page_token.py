"""Encoding of page tokens: bytes as base64url without padding, which needs no escapes in a URL."""

import base64


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
