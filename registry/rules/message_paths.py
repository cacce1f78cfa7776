"""Detection of paths in the notation of JSONPath (`$.a`, `a[0]`, `a['b']`), with names in quotes, or with an empty name. Pure.

Other characters may be part of a field's name, so that `a/b` and `@type` pass. Whether messages have the field is not
checked here.
"""

import re
from typing import Final

# `[0]`, `[*]`, `['name']`, at any place of a JSONPath.
_SUBSCRIPT: Final = re.compile(r"\[([^\[\]]*)\]")
_ROOT: Final = "$"
_QUOTES: Final = (
    "a path has no quotes, and each of its dots is between two names: this one matches nothing",
    "leave the quotes out; a field with a dot in its name can be read only by a column of the same name without a `path`",
)


def path_fault(path: str) -> tuple[str, str] | None:
    """Return the problem of a path and a hint how to fix it; None when the path may match a field.

    Example:
        >>> path_fault("payload.after.amount")
        >>> path_fault("$.v")
        ('a path is field names joined by dots, not a JSONPath: this one matches nothing', 'write `v`')
    """
    if not all(path.split(".")):
        return "a path is field names joined by single dots", "for example `payload.after.amount`"
    is_rooted = path == _ROOT or path.startswith((f"{_ROOT}.", f"{_ROOT}["))
    subscripts = _SUBSCRIPT.findall(path)
    if not is_rooted and not subscripts:
        return _QUOTES if _is_quoted(path) else None
    message = "a path is field names joined by dots, not a JSONPath: this one matches nothing"
    if any(not _is_name(subscript) for subscript in subscripts):
        hint = "a single element has no path: declare a column for the whole ARRAY"
        return message, f"{hint}, read from `{_plain(path.partition('[')[0])}`"
    plain = _plain(_SUBSCRIPT.sub(lambda found: f".{found[1][1:-1]}", path))
    return message, f"write `{plain}`"


def _is_name(subscript: str) -> bool:
    return len(subscript) > 2 and subscript[0] == subscript[-1] and subscript[0] in "'\""


def _is_quoted(path: str) -> bool:
    """Return whether a part is in the quotes of conditions and expressions: "a.b", `a.b`."""
    between = f".{path}."
    return any(f".{quote}" in between and f"{quote}." in between[3:] for quote in '"`')


def _plain(path: str) -> str:
    return path.removeprefix(_ROOT).strip(".") or "name"
