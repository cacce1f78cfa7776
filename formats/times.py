r"""Readers of dates and times from ISO 8601 texts and from numbers, and the bounds of the types.

`time_value` reads one text. `time_array` reads a whole array of texts, and returns null for texts that are left to
`time_value`. `day_value`, `time_of_day_value` and `moment_value` read numbers since the epoch or since midnight.

| type | forms of texts |
|---|---|
| DATE | `2026-01-02` |
| TIME | `03:04`, `03:04:05`, `03:04:05.678`, with up to 9 fractional digits |
| TIMESTAMP of either kind | date and time with `T` or a blank between them; perhaps `Z`, `+02`, `+0200` or `+02:00` |

A text with an offset from UTC denotes a moment; a text without an offset is read as UTC. A TIMESTAMP without a time zone stores
the moment in UTC, so only the offset itself is lost. Years are 0001 to 9999; a TIMESTAMP of 7 to 9 digits has the years 1677 to
2262 only, because it is stored as 64 bits of nanoseconds.

Digits of the second that the type's Arrow form does not have are dropped here, which rounds towards the past. Digits that the
Arrow form has but the type does not declare are dropped later, in one place for all formats (`declared_digits`):

| type | digits of the Arrow form | digits of a row |
|---|---|---|
| TIME(0) (TIME), (1), (2) | 3 | 0, 1, 2 |
| TIME(3) to (9) | 3 | 3 |
| TIMESTAMP(0), (1), (2), (3) of either kind | 3 | 0, 1, 2, 3 |
| TIMESTAMP(4), (5), (6) | 6 | 4, 5, 6 |
| TIMESTAMP(7), (8), (9) | 9 | 7, 8, 9 |
"""

import re
from datetime import date, timedelta
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.arrow_cast import cut_cast
from braid.lake import DataType, TypeRoot, to_arrow_type

_DATE: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_TIME: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,9}))?)?", re.ASCII)
_MOMENT: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(?:(Z)|([+-])(\d\d)(?::?(\d\d))?)?",
    re.ASCII,
)
# Dates of years before 1 or after 9999, which ISO 8601 has and the table's readers do not.
_FAR: Final = re.compile(r"(-\d{4}|[+-]?\d{5,9}|0000)-\d\d-\d\d", re.ASCII)
_EPOCH: Final = date(1970, 1, 1)
_DAY_NS: Final = 86_400 * 10**9
_DAY_MIN: Final = (date.min - _EPOCH).days
_DAY_MAX: Final = (date.max - _EPOCH).days
_NS_MIN: Final = _DAY_MIN * _DAY_NS
_NS_MAX: Final = (_DAY_MAX + 1) * _DAY_NS - 1
_INT64_BOUND: Final = 9_223_372_036 * 10**9  # whole seconds, so that every fraction fits
_OFFSET_MAX: Final = timedelta(hours=18)
_PER_UNIT: Final = {"ms": 10**6, "us": 10**3, "ns": 1}

# Exactly the days that there are: Arrow's cast refuses a whole column for one other text.
_LEAP_YEAR: Final = (
    r"(\d\d(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)"  # year 0 is none
)
_DAY_OF_YEAR: Final = r"((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30)|02-(0[1-9]|1\d|2[0-8]))"
_DAY: Final = rf"(\d{{4}}-{_DAY_OF_YEAR}|{_LEAP_YEAR}-02-29)"
_TIME_OF_DAY: Final = r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?"

_DATE_PATTERN: Final = rf"^{_DAY}$"
_ZONE: Final = r"(Z|[+-](0\d|1[0-7])(:?[0-5]\d)?|[+-]18(:?00)?)"  # up to `_OFFSET_MAX`
_ZONE_PATTERN: Final = rf"{_ZONE}$"
_MOMENT_PATTERN: Final = rf"^{_DAY}[T ]{_TIME_OF_DAY}{_ZONE}?$"
_TIME_PATTERN: Final = rf"^{_TIME_OF_DAY}$"

DATE_AND_TIME_TYPES: Final = frozenset(
    {TypeRoot.DATE, TypeRoot.TIME, TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ}
)


def time_value(text: str, data_type: DataType) -> int:
    """Return a date or time in the form that `pa.array` accepts for the type's Arrow form.

    Args:
        text: The text.
        data_type: DATE, TIME or a TIMESTAMP of either kind.

    Returns:
        Days since 1970-01-01, milliseconds of the day, or units of the TIMESTAMP's Arrow form since the epoch.

    Raises:
        ValueError: The text is no such date or time.
        OverflowError: It is one that the type does not hold.
    """
    match data_type.root:
        case TypeRoot.DATE:
            return _days(text)
        case TypeRoot.TIME:
            return _day_ns(text) // 10**6
        case _:
            unit = to_arrow_type(data_type).unit
            return _moment_ns(text, is_fine=unit == "ns") // _PER_UNIT[unit]


def day_value(days: int) -> int:
    """Return days since 1970-01-01 as a DATE.

    Raises:
        OverflowError: No DATE holds them.
    """
    if not _DAY_MIN <= days <= _DAY_MAX:
        raise OverflowError(days)
    return days


def time_of_day_value(nanos: int) -> int:
    """Return nanoseconds since midnight as a TIME: milliseconds, further digits dropped.

    Raises:
        OverflowError: A day does not have them.
    """
    if not 0 <= nanos < _DAY_NS:
        raise OverflowError(nanos)
    return nanos // 10**6


def moment_value(nanos: int, data_type: DataType) -> int:
    """Return nanoseconds since the epoch as a TIMESTAMP of either kind: units of its Arrow form, rounded down.

    Raises:
        OverflowError: The type does not hold them.
    """
    unit = to_arrow_type(data_type).unit
    if not _is_near(nanos, is_fine=unit == "ns"):
        raise OverflowError(nanos)
    return nanos // _PER_UNIT[unit]


def moment_bounds(unit_ns: int, *, is_fine: bool = False) -> tuple[int, int]:
    """Return the first and the last moment that a TIMESTAMP holds, in units since the epoch; of days, as a DATE does.

    Args:
        unit_ns: Nanoseconds of one unit.
        is_fine: Whether the TIMESTAMP has 7 to 9 digits of the second.
    """
    if is_fine:
        return -((_INT64_BOUND - 1) // unit_ns), (_INT64_BOUND - 1) // unit_ns
    return -(-_NS_MIN // unit_ns), _NS_MAX // unit_ns


def _days(text: str) -> int:
    found = _DATE.fullmatch(text)
    if found is None or found[1] == "0000":
        raise _unreadable(text)
    return (date(int(found[1]), int(found[2]), int(found[3])) - _EPOCH).days


def _day_ns(text: str) -> int:
    found = _TIME.fullmatch(text)
    if found is None:
        message = "not a time of day"
        raise ValueError(message)
    seconds = int(found[1]) * 3_600 + int(found[2]) * 60 + int(found[3] or 0)
    return seconds * 10**9 + int((found[4] or "").ljust(9, "0"))


def _moment_ns(text: str, *, is_fine: bool) -> int:
    found = _MOMENT.fullmatch(text)
    if found is None or text.startswith("0000"):
        raise _unreadable(text)
    moment = _days(found[1]) * _DAY_NS + _day_ns(found[2])
    if found[4] is not None:
        moment -= _offset_ns(found[4], int(found[5]), int(found[6] or 0))
    # Near the bounds the zone decides which year it is, so the moment is compared and not the text.
    if not _is_near(moment, is_fine=is_fine):
        raise OverflowError(text)
    return moment


def _is_near(moment: int, *, is_fine: bool) -> bool:
    """Return whether nanoseconds since the epoch are a moment that a TIMESTAMP holds."""
    return abs(moment) < _INT64_BOUND if is_fine else _NS_MIN <= moment <= _NS_MAX


def _offset_ns(sign: str, hours: int, minutes: int) -> int:
    offset = timedelta(hours=hours, minutes=minutes)
    if minutes > 59 or offset > _OFFSET_MAX:
        message = "no zone has this offset"
        raise ValueError(message)
    return (1 if sign == "+" else -1) * int(offset.total_seconds()) * 10**9


def _unreadable(text: str) -> Exception:
    if _FAR.match(text):
        return OverflowError(text)
    return ValueError("not in the form of ISO 8601")


def time_array(texts: pa.StringArray, data_type: DataType) -> pa.Array:
    """Return dates or times for texts, null for each text that `time_value` has to decide.

    Args:
        texts: The texts; may contain nulls.
        data_type: DATE, TIME or a TIMESTAMP of either kind.

    Returns:
        The type's Arrow form, of the same length. Where it is null and the text is not, the text is in no usual
        form, or denotes nothing that the type holds.
    """
    wanted = to_arrow_type(data_type)
    match data_type.root:
        case TypeRoot.DATE:
            return _within(_matching(texts, _DATE_PATTERN).cast(pa.date32()), wanted)
        case TypeRoot.TIME:
            return _times(_matching(texts, _TIME_PATTERN)).cast(wanted)
        case _:
            return _moments(_matching(texts, _MOMENT_PATTERN), wanted)


def _matching(texts: pa.StringArray, pattern: str) -> pa.StringArray:
    is_usual = pc.match_substring_regex(texts, pattern)
    # There is no year 0, not even where a zone moves the moment into year 1.
    is_usual = pc.and_not(is_usual, pc.starts_with(texts, "0000"))
    return pc.if_else(is_usual, texts, pa.scalar(None, pa.string()))


def _times(texts: pa.StringArray) -> pa.Array:
    # Arrow reads no times of day: as moments of the first day of the epoch they are the same number.
    moments = pc.binary_join_element_wise("1970-01-01T", texts, "Z", "")
    micros = _cut(moments, 6).cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
    return pc.divide(micros, 1_000).cast(pa.int32())


def ends_with_zone(texts: pa.StringArray) -> pa.BooleanArray:
    """Return for each text of a date and time whether an offset from UTC follows them; null for null."""
    return pc.match_substring_regex(texts, _ZONE_PATTERN)


def _moments(texts: pa.StringArray, wanted: pa.TimestampType) -> pa.Array:
    texts = pc.if_else(ends_with_zone(texts), texts, _joined(texts, "Z"))
    if wanted.unit == "ns":
        # Nanoseconds of other years would overflow without an error.
        year = pc.utf8_slice_codeunits(texts, 0, 4)
        is_near = pc.and_(pc.greater_equal(year, "1678"), pc.less(year, "2262"))
        texts = pc.if_else(is_near, texts, pa.scalar(None, pa.string()))
        return texts.cast(pa.timestamp("ns", tz="UTC")).cast(wanted)
    found = _cut(texts, 6).cast(pa.timestamp("us", tz="UTC"))
    return _within(cut_cast(found, pa.timestamp(wanted.unit, tz="UTC")), wanted)


def _joined(texts: pa.StringArray, end: str) -> pa.StringArray:
    return pc.binary_join_element_wise(texts, end, "")


def _cut(texts: pa.StringArray, digits: int) -> pa.StringArray:
    """Return the texts with at most so many fractional digits."""
    if not pc.any(pc.match_substring_regex(texts, rf"\.\d{{{digits + 1}}}")).as_py():
        return texts
    return pc.replace_substring_regex(texts, rf"(\.\d{{{digits}}})\d+", r"\1")


def _within(found: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Return dates or timestamps in the wanted form, null outside of the years 0001 to 9999."""
    if pa.types.is_date(found.type):
        number, unit_ns = pa.int32(), _DAY_NS
    else:
        number, unit_ns = pa.int64(), _PER_UNIT[found.type.unit]
    values = found.cast(number)
    low, high = pa.scalar(_NS_MIN // unit_ns, number), pa.scalar(_NS_MAX // unit_ns, number)
    is_near = pc.and_(pc.greater_equal(values, low), pc.less_equal(values, high))
    return pc.if_else(is_near, found, pa.scalar(None, found.type)).cast(wanted)
