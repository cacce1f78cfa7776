r"""Unpaired surrogates: halves of UTF-16 surrogate pairs, such as JSON's `"\ud800"`, which are no characters.

JSON can contain an unpaired surrogate as an escape, but a UTF-8 text cannot. A parser that replaces it by `?` could make two
different keys equal, so the exact readers of values refuse a text with an unpaired surrogate. This module has the test for
unpaired surrogates, and escapes them in error messages.
"""


def has_utf8_form(text: str) -> bool:
    """Return whether a text has a UTF-8 form, so whether each of its surrogates belongs to a pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def with_escaped_surrogates(text: str) -> str:
    """Return a text with its unpaired surrogates as escapes, so that it has a UTF-8 form."""
    return text.encode("utf-8", "backslashreplace").decode()
