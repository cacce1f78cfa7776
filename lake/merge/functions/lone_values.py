"""The reduction of every function that leaves a value beside nulls as it is.

Of a key whose records hold at most one value, as with many streams that each fill their own columns,
the answer is that value. All other keys are left to the definition.

Source: merge-semantics 4 ("null-skip").
"""

import numpy as np
import pyarrow as pa

from lake.merge.aggregate_function import Reduced, Reduction
from lake.merge.order_words import validity
from lake.merge.selection import NO_ROW, Pick, Rows
from lake.merge.steps import Step, Steps


def lone_values(steps: Steps, column: pa.Array) -> Reduced:
    """Return the only value of each segment, null where there is none."""
    segments = steps.segments
    if not column.null_count:
        undecided = np.flatnonzero(~segments.is_single)
        return Reduced(values=Pick(rows=segments.last_rows), undecided=_some(undecided))
    has_value = validity(column)[segments.order]
    counts = np.add.reduceat(has_value, segments.starts, dtype=np.int64)
    rows = np.full(segments.count, NO_ROW, dtype=np.int64)
    # Of several values the last is taken; they are undecided.
    rows[segments.segment_of[has_value]] = segments.order[has_value]
    return Reduced(values=Pick(rows=rows), undecided=_some(np.flatnonzero(counts > 1)))


def _some(undecided: Rows) -> Rows | None:
    return undecided if len(undecided) else None


LONE_VALUES = Reduction(reduce=lone_values, handles=frozenset({Step.ADD, Step.LATE}))
