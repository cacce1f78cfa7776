r"""Unpaired surrogates: half of a UTF-16 surrogate pair, such as JSON's `"\ud800"`, names no character.

JSON can contain an unpaired surrogate as an escape, but no UTF-8 text can hold one. A parser that replaces
it by `?` could make two keys equal, so the exact readers of values refuse a text with one. Here is the test for that, and
the form in which messages about such a text are sent.
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
