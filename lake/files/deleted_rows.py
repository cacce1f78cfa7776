"""Removal of the rows that a deletion vector marks from the batches of a file.

Positions in the vector count rows of the whole file. Batches hold only rows of the decoded row groups, and may
span several groups. So positions are translated once to the numbering of the decoded rows, and the positions of
each batch are found by binary search.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import AbstractBitMap


class DeletedRowFilter:
    """Filters the batches of one file, in order.

    Args:
        vector: Positions of marked rows, 0-based in file order.
        row_counts: Rows of each row group of the file.
        groups: Numbers of the row groups that are decoded, ascending.
    """

    def __init__(
        self, vector: AbstractBitMap, row_counts: Sequence[int], groups: Sequence[int]
    ) -> None:
        self._marked = _positions_in(vector, row_counts, groups)
        self._passed = 0

    def without(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the next batch without its marked rows; it may be empty."""
        begin, end = self._passed, self._passed + batch.num_rows
        self._passed = end
        first, last = np.searchsorted(self._marked, [begin, end])
        if first == last:
            return batch
        is_live = np.ones(batch.num_rows, dtype=bool)
        is_live[self._marked[first:last] - begin] = False
        return batch.filter(pa.array(is_live))


def _positions_in(
    vector: AbstractBitMap, row_counts: Sequence[int], groups: Sequence[int]
) -> npt.NDArray[np.int64]:
    """Return the marked positions among the rows of some row groups, ascending."""
    # A bitmap yields its positions in ascending order.
    positions = np.asarray(vector.to_array(), dtype=np.int64)
    assert all(first < second for first, second in pairwise(groups)), "row groups ascend"
    bounds = list(pairwise(np.cumsum([0, *row_counts]).tolist()))
    parts = [np.zeros(0, dtype=np.int64)]
    rows_before = 0
    for group in groups:
        begin, end = bounds[group]
        first, last = np.searchsorted(positions, [begin, end])
        parts.append(positions[first:last] - begin + rows_before)
        rows_before += end - begin
    return np.concatenate(parts)
