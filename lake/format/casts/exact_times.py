"""Check that a text is exactly one date, time of day or timestamp of a type.

The casts of the format (`from_text`) also accept other texts: digits alone are days or
milliseconds, missing parts are 1 or 0, a TIME may have more than 24 hours, and digits that a type
does not hold are rounded or dropped. The author of such a text probably meant something else. The
cast checks whether the day exists.
"""

import re
from typing import Final

from braid.lake.format.data_types import DataType, TypeRoot

_DATE: Final = r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
_TIME: Final = (
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,9}))?)?"
)
_FORMS: Final = {
    TypeRoot.DATE: (re.compile(_DATE, re.ASCII), "2026-01-31"),
    TypeRoot.TIME: (re.compile(_TIME, re.ASCII), "05:15:00.5"),
    TypeRoot.TIMESTAMP: (re.compile(f"{_DATE}(?:[ T]{_TIME})?", re.ASCII), "2026-01-31T05:15:00.5"),
}
_FORMS[TypeRoot.TIMESTAMP_LTZ] = _FORMS[TypeRoot.TIMESTAMP]
_TIME_DIGITS_MAX: Final = 3  # a TIME is stored in milliseconds


def why_not_exact(text: str, kind: DataType) -> str | None:
    """Return why a text is not exactly one value of a type; None if it is one, or is for the cast to refuse.

    Args:
        text: A text without a time zone.
        kind: Any type; of others than DATE, TIME and the timestamps None is returned.

    Example:
        >>> from braid.lake.format.type_codec import parse_type
        >>> why_not_exact("2027", parse_type("DATE"))
        'expected a form such as 2026-01-31'
        >>> why_not_exact("05:15:00.25", parse_type("TIME(1)"))
        'expected at most 1 digits of a second'
    """
    if kind.root not in _FORMS:
        return None
    pattern, example = _FORMS[kind.root]
    found = pattern.fullmatch(text)
    if found is None:
        return f"expected a form such as {example}"
    parts = found.groupdict()
    if (
        int(parts.get("hour") or 0) > 23
        or max(int(parts.get(name) or 0) for name in ("minute", "second")) > 59
    ):
        return "expected a time of day before 24:00:00"
    digits = kind.precision or 0
    if kind.root is TypeRoot.TIME:
        digits = min(digits, _TIME_DIGITS_MAX)
    if len((parts.get("fraction") or "").rstrip("0")) > digits:
        return f"expected at most {digits} digits of a second"
    return None
