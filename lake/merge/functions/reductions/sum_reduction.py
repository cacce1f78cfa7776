"""Reduction of `sum`.

A segment whose sum, or an intermediate sum, might leave the type is left undecided; the definition then adds its
values one by one by the rules for overflow (`support.overflow`). Without a declared rule, sums of a DECIMAL of at
most 18 digits have 64 bits; there a segment is also undecided if a retracted value has more digits than the type.
Sums of floating numbers, and of integers that wrap around, are never undecided. If the largest magnitude times the
length of the longest segment fits, as it nearly always does, the sums of single segments are not checked.

Source: merge-semantics 4.
"""

from functools import partial

import numpy as np
import pyarrow as pa

from braid.lake.format.arrays import validity
from braid.lake.merge.aggregate_function import Reduced, Reduction
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.functions.reductions.segment_folds import (
    greatest_length,
    has_any,
    in_order,
    prefix_bounds,
    sums,
)
from braid.lake.merge.functions.support.exact_numbers import DECIMAL64_DIGITS
from braid.lake.merge.functions.support.number_columns import (
    Numbers,
    decimal_column,
    halves_of,
    number_column,
    number_reduction,
    numbers_of,
    sign_of,
)
from braid.lake.merge.functions.support.overflow import Overflow, overflow_of
from braid.lake.merge.segments import Bools, Ints, Segments
from braid.lake.merge.steps import Step, Steps

_INT64_MAX = 2**63 - 1
_LOW_32 = np.uint64(0xFFFF_FFFF)
_SHIFT_32 = np.uint64(32)
# Magnitudes that may not fit 64 bits are summed as DOUBLE, whose relative error is far below 1e-6.
_MARGIN = 1 - 1e-6


def sum_reduction(function: ColumnFunction, kind: pa.DataType) -> Reduction:
    """Return the reduction for a numeric Arrow type."""
    overflow = overflow_of(function)
    return number_reduction(
        kind,
        integers=partial(_integers, overflow=overflow),
        floating=_floating,
        decimals=partial(_decimals, overflow=overflow),
    )


def _integers(steps: Steps, column: pa.Array, *, overflow: Overflow) -> Reduced:
    segments, kind = steps.segments, column.type
    has_value = _validity(column, segments)
    values = _zero_where_null(numbers_of(column)[segments.order], has_value)
    limit = (1 << (kind.bit_width - 1)) - 1
    wraps = overflow is Overflow.WRAP
    fits = wraps or _magnitude(values) * greatest_length(segments) <= limit
    values = _with_signs(values, steps)
    undecided = None
    if not fits and kind.bit_width < 64:
        smallest, largest = prefix_bounds(values, segments)
        undecided = np.flatnonzero((smallest < -limit - 1) | (largest > limit))
    elif not fits:
        undecided = _beyond(np.abs(values.astype(np.float64)), limit, segments)
    totals = sums(values, segments)
    found = _found(has_value, segments)
    return Reduced(values=number_column(totals, found, kind), undecided=undecided)


def _floating(steps: Steps, column: pa.Array) -> Reduced:
    segments, kind = steps.segments, column.type
    has_value = _validity(column, segments)
    values = numbers_of(column)[segments.order]
    if steps.has(Step.RETRACT):
        np.negative(values, out=values, where=steps.where(Step.RETRACT))
    if has_value is not None:
        # The neutral element is -0.0, not 0.0, because -0.0 + 0.0 is 0.0.
        np.copyto(values, -0.0, where=~has_value)
    totals = in_order(np.add, values, segments)
    return Reduced(values=number_column(totals, _found(has_value, segments), kind))


def _decimals(steps: Steps, column: pa.Array, *, overflow: Overflow) -> Reduced:
    segments, kind = steps.segments, column.type
    has_value = _validity(column, segments)
    low, high = (_zero_where_null(half[segments.order], has_value) for half in halves_of(column))
    if kind.precision <= DECIMAL64_DIGITS:
        sums_of = _short_sums if overflow is Overflow.FORMAT else _bounded_sums
        totals, undecided = sums_of(low, steps, kind)
    elif _fit_64_bits(low, high, segments):
        totals, undecided = sums(_with_signs(low, steps), segments), None
    else:
        return _long_decimals(steps, kind, low, high, has_value)
    values = decimal_column(totals, sign_of(totals), _found(has_value, segments), kind)
    return Reduced(values=values, undecided=undecided)


def _fit_64_bits(low: Ints, high: Ints, segments: Segments) -> bool:
    """Return whether all values and all their sums, intermediate ones included, fit 64 bits."""
    if not (high == sign_of(low)).all():
        return False
    return _magnitude(low) * greatest_length(segments) <= _INT64_MAX


def _short_sums(values: Ints, steps: Steps, kind: pa.DataType) -> tuple[Ints, Ints | None]:
    """Return sums of at most 18 digits, which may grow to 64 bits, and the undecided segments."""
    segments = steps.segments
    magnitude = _magnitude(values)
    values = _with_signs(values, steps)
    undecided = None
    if magnitude * greatest_length(segments) > _INT64_MAX:
        undecided = _beyond(np.abs(values.astype(np.float64)), _INT64_MAX, segments)
    limit = 10**kind.precision
    if magnitude >= limit and steps.has(Step.RETRACT):
        # A value beyond the digits, itself a sum, becomes null when it is retracted from nothing.
        wide = steps.where(Step.RETRACT) & ((values >= limit) | (values <= -limit))
        doubtful = np.flatnonzero(has_any(wide, segments))
        undecided = doubtful if undecided is None else np.union1d(undecided, doubtful)
    return sums(values, segments), undecided


def _bounded_sums(values: Ints, steps: Steps, kind: pa.DataType) -> tuple[Ints, Ints | None]:
    """Return sums of at most 18 digits that stay within their digits, and the undecided segments."""
    segments, largest = steps.segments, 10**kind.precision - 1
    undecided = None
    if _magnitude(values) * greatest_length(segments) > largest:
        undecided = _beyond(np.abs(values.astype(np.float64)), largest, segments)
    return sums(_with_signs(values, steps), segments), undecided


def _long_decimals(
    steps: Steps, kind: pa.DataType, low: Ints, high: Ints, has_value: Bools | None
) -> Reduced:
    """Return sums of more than 18 digits by three running sums, of 32, 32 and 64 bits of each value.

    A sum of 32-bit parts does not overflow 64 bits, so what exceeds its 32 bits is carried into the next
    part.
    """
    segments = steps.segments
    magnitudes = np.abs(high * 2.0**64 + low.view(np.uint64))
    undecided = _beyond(magnitudes, 10**kind.precision - 1, segments)
    if steps.has(Step.RETRACT):
        # The negative in two's complement: complement and add 1, which carries only where low is 0.
        back = steps.where(Step.RETRACT)
        high = np.where(back, ~high + (low == 0), high)
        low = np.where(back, -low, low)
    bits = low.view(np.uint64)
    lowest = sums(bits & _LOW_32, segments)
    middle = sums(bits >> _SHIFT_32, segments) + (lowest >> _SHIFT_32)
    total_low = ((lowest & _LOW_32) | (middle << _SHIFT_32)).view(np.int64)
    total_high = sums(high, segments) + (middle >> _SHIFT_32).view(np.int64)
    found = _found(has_value, segments)
    return Reduced(values=decimal_column(total_low, total_high, found, kind), undecided=undecided)


def _validity(column: pa.Array, segments: Segments) -> Bools | None:
    """Return which positions have a value; None if all have one."""
    return validity(column)[segments.order] if column.null_count else None


def _found(has_value: Bools | None, segments: Segments) -> Bools | None:
    """Return which segments have a value; None if all have one."""
    return None if has_value is None else has_any(has_value, segments)


def _zero_where_null(values: Numbers, has_value: Bools | None) -> Numbers:
    return values if has_value is None else values * has_value


def _with_signs(values: Numbers, steps: Steps) -> Numbers:
    """Return the values; the values of retracts are negated."""
    if not steps.has(Step.RETRACT):
        return values
    # In 64 bits: the negative of the smallest value does not fit a narrower type.
    wide = values.astype(np.int64, copy=False)
    return np.where(steps.where(Step.RETRACT), -wide, wide)


def _magnitude(values: Numbers) -> int:
    return max(-int(values.min()), int(values.max()))


def _beyond(magnitudes: Numbers, limit: int, segments: Segments) -> Ints:
    """Return the segments whose magnitudes might sum to more than a limit."""
    return np.flatnonzero(np.add.reduceat(magnitudes, segments.starts) > limit * _MARGIN)
