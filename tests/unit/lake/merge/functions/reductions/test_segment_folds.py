import numpy as np
import pytest

from braid.lake.merge.functions.reductions.segment_folds import (
    following,
    greatest_length,
    has_any,
    in_order,
    prefix_bounds,
    sums,
)
from braid.lake.merge.functions.support.number_columns import Numbers
from braid.lake.merge.segments import Segments


def segments_of(*lengths: int) -> Segments:
    starts = np.cumsum([0, *lengths[:-1]])
    return Segments(order=np.arange(sum(lengths)), starts=starts)


def test_a_running_sum_that_wraps_round_still_gives_each_sum() -> None:
    largest = 2**63 - 1
    values = np.array([largest, 0, largest, -largest, largest, 5, -7])

    assert sums(values, segments_of(2, 2, 1, 2)).tolist() == [largest, 0, largest, -2]
    wide = np.array([2**64 - 1, 2**64 - 1, 3], dtype=np.uint64)
    assert sums(wide, segments_of(1, 1, 1)).tolist() == wide.tolist()


def test_narrow_numbers_are_summed_in_64_bits() -> None:
    assert sums(np.full(4, 127, dtype=np.int8), segments_of(3, 1)).tolist() == [381, 127]


def test_the_way_to_a_sum_has_bounds() -> None:
    smallest, largest = prefix_bounds(np.array([100, 3, -5, 1, -7]), segments_of(1, 4))

    assert smallest.tolist() == [100, -8]
    assert largest.tolist() == [100, 3]


# Few segments, and those that are longer than they are many, are finished one by one.
@pytest.mark.parametrize(
    "lengths", [[1], [3, 1, 2], [100, 1, 90], [2, 50] * 40, [40] * 33, [90, 2, 34, 33] * 9]
)
@pytest.mark.parametrize("ufunc", [np.add, np.multiply])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_are_folded_from_the_first_to_the_last(
    lengths: list[int], ufunc: np.ufunc, dtype: type
) -> None:
    segments = segments_of(*lengths)
    wide = np.random.default_rng(1).uniform(0.5, 1.5, sum(lengths))
    values: Numbers = wide.astype(dtype)

    expected = []
    for part in np.split(values, segments.starts[1:]):
        folded = part[0]
        for value in part[1:]:
            folded = ufunc(folded, value)
        expected.append(folded)
    result = in_order(ufunc, values, segments)
    assert result.dtype == dtype
    assert result.tolist() == [float(value) for value in expected]


def test_positions_after_the_first_are_found() -> None:
    segments = segments_of(1, 3, 2)

    longer, positions = following(segments, 1)
    assert (longer.tolist(), positions.tolist()) == ([1, 2], [2, 5])
    longer, positions = following(segments, 2, among=longer)
    assert (longer.tolist(), positions.tolist()) == ([1], [3])
    assert greatest_length(segments) == 3


def test_segments_with_a_chosen_position_are_found() -> None:
    chosen = np.array([False, False, True, True, False])

    assert has_any(chosen, segments_of(1, 3, 1)).tolist() == [False, True, False]
