"""Time formats: the forms in which the dates and times of a column are written.

| format | texts |
|---|---|
| `iso` | ISO 8601 (`formats.times`) |
| `epoch_days`, `epoch_s`, `epoch_ms`, `epoch_us`, `epoch_ns` | a number of days, seconds … since 1970-01-01 00:00 UTC, also with a fraction; for TIME since midnight |
| a pattern | `formats.mapping.time_pattern` |

Digits of the second that the column's Arrow form does not have are dropped, towards the past. For a DATE, the time of day is
dropped if the format is an epoch or a pattern, and refused if the format is `iso`. A time without an offset from UTC is a local
time in the declared zone; without a declared zone it is in UTC.
"""

from collections.abc import Callable
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.arrays import replace_rows, rows_where
from braid.formats.dead_letter import DeadLetterReason
from braid.formats.json.exact_values import NUMBER_TEXT
from braid.formats.mapped_column import ISO, TimeFormat
from braid.formats.mapping.local_clock import LocalClock
from braid.formats.mapping.time_pattern import TimePattern
from braid.formats.native.kinds import NativeKind
from braid.formats.native.leaf_arrays import Leaf, plain_column, rescaled
from braid.formats.times import (
    day_value,
    ends_with_zone,
    moment_bounds,
    moment_value,
    time_array,
    time_of_day_value,
    time_value,
)
from braid.lake import DataType, TypeRoot

_DAY_NS: Final = 86_400 * 10**9
EPOCH_UNIT_NS: Final = {
    "epoch_days": _DAY_NS,
    "epoch_s": 10**9,
    "epoch_ms": 10**6,
    "epoch_us": 10**3,
    "epoch_ns": 1,
}
"""Nanoseconds of the unit of each format that is a number."""
_UNIT_NS: Final = {"ms": 10**6, "us": 10**3, "ns": 1}
_NUMBER_CHARACTERS_MAX: Final = 100
_EXACT: Final = Context(prec=250, rounding=ROUND_FLOOR)
_DIGITS_MAX: Final = 40  # of a number before its point: no type holds so many nanoseconds
_PLAIN: Final = r"^(?P<whole>-?[0-9]{1,18})(?:\.(?P<fraction>[0-9]{1,9}))?$"

Unfit = dict[int, DeadLetterReason]
"""By row: why a text is no value of the column."""


class TimeZoneWithoutEffect(ValueError):
    """A time zone is declared for texts that have no time of day, or have an offset from UTC; the text says which."""


class TimeTexts(Protocol):
    """Reads the texts of a column."""

    def column(self, texts: pa.StringArray) -> tuple[pa.Array, Unfit]:
        """Return the column's Arrow form, null where a text is null or unfit; and the unfit texts."""
        ...


def time_texts(declared: TimeFormat, data_type: DataType) -> TimeTexts:
    """Return what reads a column's texts.

    Args:
        declared: Their form.
        data_type: DATE, TIME or a TIMESTAMP of either kind.

    Raises:
        ValueError: There is no such format, or none for the type; the message says why.
    """
    unit_ns = EPOCH_UNIT_NS.get(declared.text)
    is_moment = data_type.root in (TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ)
    if declared.zone is not None and (unit_ns is not None or not is_moment):
        where = "a number since the epoch" if is_moment else f"a {data_type.root.value}"
        message = f"{where} has no time zone"
        raise TimeZoneWithoutEffect(message)
    if unit_ns is not None:
        return _EpochTexts(data_type, unit_ns)
    clock = None if declared.zone is None else LocalClock(declared.zone)
    if declared.text == ISO:
        return _IsoTexts(data_type, clock)
    pattern = TimePattern(declared.text)
    _check(pattern, data_type, has_clock=clock is not None)
    return _PatternTexts(pattern, data_type, clock)


def _check(pattern: TimePattern, data_type: DataType, *, has_clock: bool) -> None:
    """Refuse a pattern whose texts do not have what the type needs, or have what it cannot use."""
    message = None
    if data_type.root is TypeRoot.TIME:
        if not pattern.always_has_hour:
            message = "a TIME needs an hour in the pattern"
        elif pattern.has_part_of_date:
            message = "the pattern has a part of a date, but a TIME has none"
    elif not pattern.has_whole_date:
        message = f"a {data_type.root.value} needs year, month and day in the pattern"
    elif data_type.root is TypeRoot.DATE and pattern.has_zone:
        message = "the pattern has an offset from UTC, but a DATE has none"
    elif has_clock and pattern.always_has_zone:
        message = "every text has an offset from UTC, so the zone has no effect"
        raise TimeZoneWithoutEffect(message)
    if data_type.root is TypeRoot.TIME and pattern.has_zone:
        message = "the pattern has an offset from UTC, but a TIME has none"
    if message is not None:
        raise ValueError(message)


class _IsoTexts:
    """Reads ISO 8601."""

    def __init__(self, data_type: DataType, clock: LocalClock | None) -> None:
        self._type = data_type
        self._clock = clock

    def column(self, texts: pa.StringArray) -> tuple[pa.Array, Unfit]:
        """Return the column (see `TimeTexts.column`)."""
        found = time_array(texts, self._type)
        found, unfit = _decide(texts, found, lambda text: time_value(text, self._type))
        return (found, unfit) if self._clock is None else self._in_utc(found, texts, unfit)

    def _in_utc(
        self, found: pa.Array, texts: pa.StringArray, unfit: Unfit
    ) -> tuple[pa.Array, Unfit]:
        """Return moments, which clocks in UTC would have shown, where a clock of the zone has shown them."""
        assert self._clock is not None, "only the times of a clock are shifted"
        unit_ns = _UNIT_NS[found.type.unit]
        is_shown = pc.and_(found.is_valid(), pc.invert(ends_with_zone(texts))).fill_null(False)
        rows = np.flatnonzero(is_shown.to_numpy(zero_copy_only=False))
        numbers = found.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False).copy()
        per_second = 10**9 // unit_ns
        ahead = self._clock.offsets(np.floor_divide(numbers[rows], per_second)) * per_second
        # Near the bounds of the type the zone decides whether it holds the moment. The bounds are moved, and
        # towards zero only: the number itself could leave 64 bits, and come out at the other end of the type.
        low, high = moment_bounds(unit_ns, is_fine=unit_ns == 1)
        is_far = np.zeros(len(numbers), bool)
        is_far[rows] = (numbers[rows] < low + np.maximum(ahead, 0)) | (
            numbers[rows] > high + np.minimum(ahead, 0)
        )
        numbers[rows] -= ahead
        unfit |= dict.fromkeys(np.flatnonzero(is_far).tolist(), DeadLetterReason.OUT_OF_RANGE)
        is_null = found.is_null().to_numpy(zero_copy_only=False) | is_far
        return pa.array(numbers, mask=is_null).cast(found.type), unfit


class _PatternTexts:
    """Reads texts of a pattern."""

    def __init__(self, pattern: TimePattern, data_type: DataType, clock: LocalClock | None) -> None:
        self._pattern = pattern
        self._iso = _IsoTexts(data_type, clock)
        self._has_date = data_type.root is not TypeRoot.TIME
        self._has_time = data_type.root is not TypeRoot.DATE

    def column(self, texts: pa.StringArray) -> tuple[pa.Array, Unfit]:
        """Return the column (see `TimeTexts.column`)."""
        iso = self._pattern.iso_texts(texts, has_date=self._has_date, has_time=self._has_time)
        found, unfit = self._iso.column(iso)
        is_other = pc.and_(iso.is_null(), texts.is_valid())
        return found, unfit | dict.fromkeys(rows_where(is_other), DeadLetterReason.WRONG_TYPE)


class _EpochTexts:
    """Reads numbers since the epoch, or since midnight."""

    def __init__(self, data_type: DataType, unit_ns: int) -> None:
        self._type = data_type
        self._unit_ns = unit_ns

    def column(self, texts: pa.StringArray) -> tuple[pa.Array, Unfit]:
        """Return the column (see `TimeTexts.column`)."""
        parts = pc.extract_regex(texts, _PLAIN)
        whole = pc.struct_field(parts, "whole").cast(pa.int64())
        fraction = pc.struct_field(parts, "fraction")
        unit_ns = self._unit_ns
        if pc.any(pc.not_equal(fraction, "")).as_py():
            whole, unit_ns = self._nanos(whole, fraction), 1
        found = self._converted(whole, unit_ns)
        return _decide(texts, found, self._value)

    def _nanos(self, whole: pa.Array, fraction: pa.StringArray) -> pa.Array:
        """Return numbers in nanoseconds, rounded down; null for those that only `_value` can decide."""
        is_usual = pc.and_(
            pc.less(pc.abs(whole), 9 * 10**18 // self._unit_ns),
            pc.or_(pc.greater(whole, 0), pc.equal(fraction, "")),
        )
        digits = pc.ascii_rpad(fraction, 9, "0").cast(pa.int64())
        # The fraction of a day has too many nanoseconds to be counted in billionths.
        if self._unit_ns > 10**9:
            is_usual = pc.and_(is_usual, pc.equal(digits, 0))
        part = pc.divide(pc.multiply(digits, min(self._unit_ns, 10**9)), 10**9)
        whole = pc.if_else(is_usual, whole, pa.scalar(None, pa.int64()))
        return pc.add(pc.multiply(whole, self._unit_ns), part)

    def _converted(self, numbers: pa.Array, unit_ns: int) -> pa.Array:
        """Return the column of whole numbers, null for those that it does not hold."""
        match self._type.root:
            case TypeRoot.DATE:
                leaf = Leaf(NativeKind.DATE)
                numbers = rescaled(numbers, unit_ns, _DAY_NS)
            case TypeRoot.TIME:
                leaf = Leaf(NativeKind.TIME, unit_ns)
            case _:
                leaf = Leaf(NativeKind.MOMENT, unit_ns)
        return plain_column(numbers, leaf, self._type)

    def _value(self, text: str) -> int:
        """Return a text's value.

        Raises:
            ValueError: It is no number.
            OverflowError: The type does not hold it.
        """
        if not is_number(text):
            message = "not a number"
            raise ValueError(message)
        number = Decimal(text) or Decimal(0)  # a zero may have any exponent
        if number.adjusted() > _DIGITS_MAX:
            raise OverflowError(text)
        nanos = int(_EXACT.multiply(number, self._unit_ns).to_integral_value(ROUND_FLOOR))
        match self._type.root:
            case TypeRoot.DATE:
                return day_value(nanos // _DAY_NS)
            case TypeRoot.TIME:
                return time_of_day_value(nanos)
            case _:
                return moment_value(nanos, self._type)


def is_number(text: str) -> bool:
    """Return whether a text is a number that an epoch format reads, if perhaps too large a one."""
    return len(text) <= _NUMBER_CHARACTERS_MAX and NUMBER_TEXT.fullmatch(text) is not None


def _decide(
    texts: pa.StringArray, found: pa.Array, value_of: Callable[[str], int]
) -> tuple[pa.Array, Unfit]:
    """Return a column with the values of the texts for which it has null, and the texts that are unfit."""
    rows = rows_where(pc.and_(found.is_null(), texts.is_valid()))
    if not rows:
        return found, {}
    values: list[int | None] = []
    unfit: Unfit = {}
    for row, text in zip(rows, texts.take(pa.array(rows)).to_pylist(), strict=True):
        value = None
        try:
            value = value_of(text)
        except OverflowError:
            unfit[row] = DeadLetterReason.OUT_OF_RANGE
        except ValueError:
            unfit[row] = DeadLetterReason.WRONG_TYPE
        values.append(value)
    return replace_rows(found, rows, values), unfit
