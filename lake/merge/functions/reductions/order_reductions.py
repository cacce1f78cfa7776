"""Reductions of `max`, `min`, `bool_and` and `bool_or`: each picks a record.

Each value gets a code, and the record with the greatest code is picked; for `min` and `bool_and` greater values get
smaller codes. Null always has the smallest code, so it is picked only when there is no value. Late records count like
any other.

Source: merge-semantics 4.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.lake.format.arrays import validity
from braid.lake.merge.aggregate_function import Reduced, Reduction
from braid.lake.merge.functions.support.exact_numbers import DECIMAL64_DIGITS
from braid.lake.merge.functions.support.number_columns import halves_of, numbers_of
from braid.lake.merge.order.key_codes import Numbers, concatenated
from braid.lake.merge.order.normalized_keys import normalized_keys
from braid.lake.merge.row_reductions import last_rows_of_greatest, last_rows_of_maximum
from braid.lake.merge.selection import Pick
from braid.lake.merge.steps import Step, Steps

_HANDLED = frozenset({Step.ADD, Step.LATE, Step.SEED})


def largest_reduction() -> Reduction:
    """Return the reduction that picks the largest value; of booleans, true."""
    return Reduction(reduce=_largest, handles=_HANDLED, late_as_add=True)


def smallest_reduction() -> Reduction:
    """Return the reduction that picks the smallest value; of booleans, false."""
    return Reduction(reduce=_smallest, handles=_HANDLED, late_as_add=True)


def _largest(steps: Steps, column: pa.Array) -> Reduced:
    return _greatest(steps, column, descending=False)


def _smallest(steps: Steps, column: pa.Array) -> Reduced:
    return _greatest(steps, column, descending=True)


def _greatest(steps: Steps, column: pa.Array, *, descending: bool) -> Reduced:
    codes = _codes(column, descending=descending)
    if codes is not None:
        rows = last_rows_of_maximum(steps.segments, codes)
    else:
        words = concatenated(normalized_keys(column, descending=descending))
        rows = last_rows_of_greatest(steps.segments, [word.values for word in words])
    return Reduced(values=Pick(rows=rows))


def _codes(column: pa.Array, *, descending: bool) -> Numbers | None:
    """Return one number per row that orders the values, null smallest; None if there is none."""
    numbers = _ordered_numbers(column)
    if numbers is None:
        return None
    # The complement reverses the order and, unlike negation, never overflows.
    codes = ~numbers if descending else numbers
    if not column.null_count:
        return codes
    # Null needs a number below all others, but a 64-bit code may be the smallest number already.
    smallest = np.int64(-(2**63))
    if codes.itemsize == smallest.itemsize and (codes == smallest).any():
        return None
    return np.where(validity(column), codes, smallest)


def _ordered_numbers(column: pa.Array) -> Numbers | None:
    """Return signed numbers that order the values, arbitrary where null; None for other types."""
    kind = column.type
    if pa.types.is_signed_integer(kind) or pa.types.is_temporal(kind):
        return numbers_of(column)
    if pa.types.is_floating(kind):
        return _in_total_order(numbers_of(column))
    if pa.types.is_decimal(kind) and kind.precision <= DECIMAL64_DIGITS:
        return halves_of(column)[0]
    return None


def _in_total_order(values: npt.NDArray[np.floating[Any]]) -> Numbers:
    """Return numbers that order FLOAT or DOUBLE as Java does: -0.0 before 0.0, NaN last."""
    if np.isnan(values).any():
        # One NaN stands for all.
        values = np.where(np.isnan(values), values.dtype.type(np.nan), values)
    bits: Numbers = values.view(f"i{values.itemsize}")
    # Of negative values, the bits without the sign grow as the values fall.
    return bits ^ ((bits >> (8 * values.itemsize - 1)) & np.iinfo(bits.dtype).max)
