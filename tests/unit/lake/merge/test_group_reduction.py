import numpy as np
import pyarrow as pa

from lake.merge.group_reduction import (
    arrivals,
    group_order,
    last_non_null_rows,
    winning_rows,
)
from lake.merge.segments import Segments

# Two keys: rows 0 to 3, and row 4 alone.
SEGMENTS = Segments(order=np.arange(5), starts=np.array([0, 4]))


def column(*values: object) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, pa.int64())])


def test_the_last_of_the_greatest_wins() -> None:
    order = group_order([column(2, 9, 9, 3, 1)])

    assert order.takes_part is None
    assert winning_rows(SEGMENTS, order).tolist() == [2, 4]


def test_rows_without_ordering_values_take_no_part_unless_alone() -> None:
    order = group_order([column(None, None, None, None, None), column(*[None] * 5)])

    assert winning_rows(SEGMENTS, order).tolist() == [-1, 4]
    assert arrivals(SEGMENTS, order).accepted.tolist() == []


def test_one_ordering_value_is_enough_to_take_part() -> None:
    order = group_order([column(None, None, None, 1, None), column(None, 7, None, None, None)])

    assert winning_rows(SEGMENTS, order).tolist() == [3, 4]


def test_late_is_what_is_smaller_than_anything_before() -> None:
    found = arrivals(SEGMENTS, group_order([column(5, 3, None, 5, 1)]))

    assert found.accepted.tolist() == [0, 3, 4]
    assert found.late.tolist() == [1]


def test_a_late_value_fills_only_what_no_accepted_value_does() -> None:
    found = arrivals(SEGMENTS, group_order([column(5, 3, 4, 5, 1)]))
    late_only = np.array([False, True, True, False, False])
    both = np.array([True, True, True, False, True])

    assert last_non_null_rows(SEGMENTS, found, late_only).tolist() == [1, 4]
    assert last_non_null_rows(SEGMENTS, found, both).tolist() == [0, 4]
    assert last_non_null_rows(SEGMENTS, found, np.zeros(5, bool)).tolist() == [-1, 4]
