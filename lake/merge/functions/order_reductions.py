"""`max`, `min`, `bool_and` and `bool_or` for many keys at once: each picks a record.

Null has the smallest code whichever way the values are ordered, so it is picked only when there is
nothing else. Late records count like any other.

Source: merge-semantics 4.
"""

import pyarrow as pa

from lake.merge.aggregate_function import Reduced, Reduction
from lake.merge.order_words import concatenated, order_words
from lake.merge.reductions import last_rows_of_greatest
from lake.merge.selection import Pick
from lake.merge.steps import Step, Steps

_HANDLED = frozenset({Step.ADD, Step.LATE, Step.SEED})


def largest_reduction() -> Reduction:
    """Return the reduction that picks the largest value; of booleans, true."""
    return Reduction(reduce=_largest, handles=_HANDLED)


def smallest_reduction() -> Reduction:
    """Return the reduction that picks the smallest value; of booleans, false."""
    return Reduction(reduce=_smallest, handles=_HANDLED)


def _largest(steps: Steps, column: pa.Array) -> Reduced:
    return _greatest(steps, column, descending=False)


def _smallest(steps: Steps, column: pa.Array) -> Reduced:
    return _greatest(steps, column, descending=True)


def _greatest(steps: Steps, column: pa.Array, *, descending: bool) -> Reduced:
    words = concatenated(order_words(column, descending=descending))
    rows = last_rows_of_greatest(steps.segments, [word.values for word in words])
    return Reduced(values=Pick(rows=rows))
