"""Translation of LIKE patterns into regular expressions, which match in linear time.

The SQL engine's own LIKE does not: for a pattern with several `%` and a `_` it tries every position of the text for each `%`.
"""

from typing import Final

_SPECIAL: Final = frozenset(r"\.+*?()|[]{}^$")


def like_regex(pattern: str, escape: str = "") -> str:
    r"""Return the regular expression of a pattern, for a match of the whole text in which `.` is every character.

    Args:
        pattern: `%` is any text, `_` any character.
        escape: The character before a `%`, `_` or itself that is meant as such; empty: none.

    Raises:
        ValueError: The escape is no character, or the pattern ends with it.

    Example:
        >>> like_regex("a%._")
        'a.*\\..'
    """
    if len(escape) > 1:
        message = "the escape has more than one character"
        raise ValueError(message)
    parts, is_escaped = [], False
    for character in pattern:
        if not is_escaped and character == escape:
            is_escaped = True
            continue
        if character in "%_" and not is_escaped:
            parts.append(".*" if character == "%" else ".")
        else:
            parts.append(f"\\{character}" if character in _SPECIAL else character)
        is_escaped = False
    if is_escaped:
        message = "the pattern ends with its escape"
        raise ValueError(message)
    return "".join(parts)
