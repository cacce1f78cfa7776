r"""Size of regular expressions, from which the time follows that the SQL engine needs to compile them.

The engine writes out repetitions: `\pL{900}` becomes 900 copies of a class of letters, and each query compiles all of them. The
size is an estimate in characters: a class of Unicode such as `\pL` counts as 500, another class as what is written.
"""

import re
from typing import Final

PATTERN_SIZE_MAX: Final = 20_000
"""The largest size of a pattern: the engine compiles it within some 50 ms."""

_UNICODE_SIZE: Final = 500
_UNICODE: Final = re.compile(r"\\[pP](\{[^}]*\}|.)", re.DOTALL)
_ATOM: Final = re.compile(
    r"\\Q.*?(?:\\E|$)"  # a quoted text
    r"|\\[pP](?:\{[^}]*\}|.)|\\x\{[^}]*\}|\\."
    r"|\[\^?\]?(?:\[:[^\]]*:\]|\\.|[^\]\\])*\]"  # a class
    r"|\{[0-9]+(?:,[0-9]*)?\}|.",
    re.DOTALL,
)
_REPETITION: Final = re.compile(r"\{([0-9]+)(?:,([0-9]*))?\}")


def pattern_size(pattern: str) -> int:
    r"""Return the size of a regular expression, with its repetitions written out.

    Example:
        >>> pattern_size("ab{3}"), pattern_size(r"(\pL|a){2}")
        (4, 1004)
    """
    # By open group: the size of what is in it, and that of its last part.
    groups = [[0, 0]]
    for found in _ATOM.finditer(pattern):
        atom = found[0]
        repetition = _REPETITION.fullmatch(atom)
        if atom == "(":
            groups.append([0, 0])
            continue
        if atom == ")" and len(groups) > 1:
            size = sum(groups.pop())
        elif repetition is not None:
            count = max(int(repetition[1]), int(repetition[2] or 0))
            groups[-1][1] *= max(count, 1)
            continue
        elif atom in "|*+?)":
            size = 1
        else:
            classes = 0 if atom.startswith(r"\Q") else len(_UNICODE.findall(atom))
            size = _UNICODE_SIZE * classes or len(atom)
        group = groups[-1]
        if atom not in ("*", "+", "?"):
            group[0] += group[1]
            group[1] = size
    return sum(map(sum, groups))
