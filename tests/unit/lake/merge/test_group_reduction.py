import numpy as np
import pyarrow as pa

from braid.lake.merge.group_reduction import (
    late_positions,
    ordering_codes,
    takes_part,
    winning_rows,
)
from braid.lake.merge.segments import Segments

# Two keys: rows 0 to 3, and row 4 alone.
SEGMENTS = Segments(order=np.arange(5), starts=np.array([0, 4]))

ALONE = np.array([False, True])


def column(*values: object) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, pa.int64())])


def test_the_last_of_the_greatest_wins() -> None:
    order = ordering_codes([column(2, 9, 9, 3, 1)])

    assert order.takes_part is None
    assert winning_rows(SEGMENTS, order, ALONE).tolist() == [2, 4]


def test_rows_without_ordering_values_take_no_part_unless_alone() -> None:
    order = ordering_codes([column(None, None, None, None, None), column(*[None] * 5)])

    assert winning_rows(SEGMENTS, order, ALONE).tolist() == [-1, 4]
    assert winning_rows(SEGMENTS, order, None).tolist() == [-1, -1]
    assert takes_part(SEGMENTS, order).tolist() == [False] * 5


def test_one_ordering_value_is_enough_to_take_part() -> None:
    order = ordering_codes([column(None, None, None, 1, None), column(None, 7, None, None, None)])

    assert winning_rows(SEGMENTS, order, ALONE).tolist() == [3, 4]


def test_late_is_what_is_smaller_than_anything_chosen_before() -> None:
    order = ordering_codes([column(5, 3, None, 5, 1)])
    late = late_positions(SEGMENTS, order, takes_part(SEGMENTS, order))

    assert late is not None
    assert late.tolist() == [False, True, False, False, False]
    assert late_positions(SEGMENTS, order, np.array([False, True, False, True, True])) is None
