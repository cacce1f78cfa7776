"""Reduction of `product`.

Products are computed step by step for all segments at once: the product of the first two values of every segment,
then the product with the third value, and so on. These segments are left undecided:

| type | undecided |
|---|---|
| FLOAT, DOUBLE | long segments, if any step is a retract |
| integers that wrap around | segments with a divisor |
| other integers | segments in which an intermediate product might leave the type, or a divisor is 0 or -2**63; long segments, if any step is a retract |
| DECIMAL | segments in which an intermediate product might leave the type or 64 bits; segments with a retracted value; long segments |

A segment is long if it has more than `_POSITIONS_MAX` steps. For a DECIMAL, only steps with a value are counted, and
if its scale is above 18, a segment of two steps is long already.

Source: merge-semantics 4.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from braid.lake.format.arrays import validity
from braid.lake.merge.aggregate_function import Reduced, Reduction
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.functions.reductions.segment_folds import following, has_any, in_order
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
from braid.lake.merge.row_reductions import first_positions
from braid.lake.merge.segments import Bools, Ints, Segments
from braid.lake.merge.steps import Step, Steps

_INT64_MIN = -(2**63)
# 10**18 is the largest power of ten in 64 bits.
_SCALE_MAX = 18
# Half of the largest divisor, 10**18 / 2, is added for rounding and must fit 64 bits: 2**62 leaves room.
_PRODUCT_MAX = 2.0**62
# Magnitudes are multiplied as DOUBLE, whose relative error over a segment is far below 1e-6.
_MARGIN = 1 - 1e-6
# Longer segments with divisions or rounding are left to the definition.
_POSITIONS_MAX = 64


def product_reduction(function: ColumnFunction, kind: pa.DataType) -> Reduction:
    """Return the reduction for a numeric Arrow type."""
    wraps = overflow_of(function) is Overflow.WRAP
    return number_reduction(
        kind,
        integers=_wrapping_integers if wraps else _integers,
        floating=_floating,
        decimals=_decimals,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Factors:
    """The factors of a column, one per position.

    Attributes:
        values: The factors; 1 where a step has no effect, because its value is null or because it
            is a retract before the first factor.
        divides: True for divisors; None if there are none.
        found: True for segments with a product; None if all have one.
    """

    values: Numbers
    divides: Bools | None
    found: Bools | None


def _factors(steps: Steps, column: pa.Array) -> _Factors:
    segments = steps.segments
    values = numbers_of(column)
    has_value = validity(column)[segments.order] if column.null_count else None
    placed = values[segments.order]
    if not steps.has(Step.RETRACT):
        if has_value is None:
            return _Factors(values=placed, divides=None, found=None)
        found = has_any(has_value, segments)
        return _Factors(values=_one_unless(has_value, placed), divides=None, found=found)
    divides = steps.where(Step.RETRACT)
    multiplies = ~divides
    if has_value is not None:
        multiplies &= has_value
    never = np.full(segments.count, len(placed))
    first = first_positions(segments, np.flatnonzero(multiplies), default=never)
    # Before the first factor a retract has no effect.
    divides &= np.arange(len(placed)) > first[segments.segment_of]
    if has_value is not None:
        divides &= has_value
    return _Factors(
        values=_one_unless(multiplies | divides, placed), divides=divides, found=first != never
    )


def _one_unless(counts: Bools, values: Numbers) -> Numbers:
    return np.where(counts, values, values.dtype.type(1))


def _floating(steps: Steps, column: pa.Array) -> Reduced:
    factors = _factors(steps, column)
    if factors.divides is None:
        products = in_order(np.multiply, factors.values, steps.segments)
        return Reduced(values=number_column(products, factors.found, column.type))
    products, undecided = _with_division(factors.values, factors.divides, steps.segments)
    return Reduced(values=number_column(products, factors.found, column.type), undecided=undecided)


def _wrapping_integers(steps: Steps, column: pa.Array) -> Reduced:
    segments, factors = steps.segments, _factors(steps, column)
    values = factors.values.astype(np.int64, copy=False)
    products = in_order(np.multiply, values, segments)
    undecided = None
    if factors.divides is not None:
        undecided = np.flatnonzero(has_any(factors.divides, segments))
    return Reduced(values=number_column(products, factors.found, column.type), undecided=undecided)


def _integers(steps: Steps, column: pa.Array) -> Reduced:
    segments, kind = steps.segments, column.type
    factors = _factors(steps, column)
    values = factors.values.astype(np.int64, copy=False)
    # At least 1, because a zero would hide an intermediate product that is too large; divisors count
    # as 1, because integer division never enlarges.
    magnitudes = np.maximum(np.abs(values.astype(np.float64)), 1.0)
    if factors.divides is not None:
        magnitudes[factors.divides] = 1.0
    limit = (1 << (kind.bit_width - 1)) - 1
    greatest = in_order(np.multiply, magnitudes, segments)
    doubtful = greatest > (limit if kind.bit_width < 64 else limit * _MARGIN)
    if factors.divides is None:
        products = in_order(np.multiply, values, segments)
    else:
        # The magnitude of the smallest number does not fit 64 bits.
        unfit = (values == 0) | (values == _INT64_MIN)
        doubtful |= has_any(factors.divides & unfit, segments)
        products, undecided = _with_division(values, factors.divides, segments)
        doubtful[undecided] = True
    return Reduced(
        values=number_column(products, factors.found, kind), undecided=np.flatnonzero(doubtful)
    )


def _with_division(values: Numbers, divides: Bools, segments: Segments) -> tuple[Numbers, Ints]:
    """Return the products of segments with divisors, and the segments too long for this."""
    divide = np.divide if values.dtype.kind == "f" else _quotients
    with np.errstate(all="ignore"):
        products = values[segments.starts]
        longer, at = following(segments, 1)
        for step in range(2, _POSITIONS_MAX + 1):
            if not len(longer):
                break
            accumulated, factors = products[longer], values[at]
            multiplied = accumulated * factors
            products[longer] = np.where(divides[at], divide(accumulated, factors), multiplied)
            longer, at = following(segments, step, among=longer)
    return products, longer


def _quotients(dividends: Ints, divisors: Ints) -> Ints:
    """Return truncated integer quotients; arbitrary for a divisor of 0 or -2**63."""
    some = np.where(divisors == 0, 1, divisors)
    quotients = np.abs(dividends) // np.abs(some)
    return np.where((dividends < 0) == (some < 0), quotients, -quotients)


def _decimals(steps: Steps, column: pa.Array) -> Reduced:
    segments, kind = steps.segments, column.type
    low, high = halves_of(column)
    is_wide = high != sign_of(low)
    divides = steps.where(Step.RETRACT) if steps.has(Step.RETRACT) else None
    doubtful = np.zeros(segments.count, dtype=np.bool_)
    if column.null_count:
        # Null positions are removed, not replaced by 1: unscaled, a 1 is 10**scale and could overflow.
        has_value = validity(column)[segments.order]
        if not has_value.any():
            return Reduced(values=pa.nulls(segments.count, kind))
        chosen, at = segments.where(has_value)
        divides = None if divides is None else divides[has_value]
    else:
        chosen, at = segments, np.arange(segments.count)
    products, beyond = _rounded(low[chosen.order], chosen, kind)
    beyond |= has_any(is_wide[chosen.order], chosen)
    if divides is not None:
        beyond |= has_any(divides, chosen)
    doubtful[at] = beyond
    found, totals = np.zeros_like(doubtful), np.zeros(segments.count, dtype=np.int64)
    found[at], totals[at] = True, products
    values = decimal_column(totals, sign_of(totals), found, kind)
    return Reduced(values=values, undecided=np.flatnonzero(doubtful))


def _rounded(values: Ints, segments: Segments, kind: pa.DataType) -> tuple[Ints, Bools]:
    """Return products, rounded half up after every factor, and which segments exceed 64 bits or digits."""
    one = np.int64(10 ** min(kind.scale, _SCALE_MAX))
    limit = min(float(10**kind.precision), _PRODUCT_MAX)
    products = values[segments.starts]
    longer, at = following(segments, 1)
    beyond = np.zeros(segments.count, dtype=np.bool_)
    for step in range(2, _POSITIONS_MAX + 1):
        if not len(longer) or kind.scale > _SCALE_MAX:
            break
        accumulated, factors = products[longer], values[at]
        sizes = np.abs(accumulated.astype(np.float64)) * np.abs(factors.astype(np.float64))
        unrounded = accumulated * factors
        rounded = (np.abs(unrounded) + one // 2) // one
        beyond[longer] |= (sizes >= _PRODUCT_MAX) | (rounded >= limit)
        products[longer] = np.where(unrounded < 0, -rounded, rounded)
        longer, at = following(segments, step, among=longer)
    beyond[longer] = True
    return products, beyond
