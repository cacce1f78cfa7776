import numpy as np
import pytest

from braid.lake.merge.row_reductions import (
    first_positions,
    last_positions,
    last_rows_of_maximum,
    last_rows_where,
)
from braid.lake.merge.segments import Segments


def random_segments(seed: int, *, longest: int) -> Segments:
    random = np.random.default_rng(seed)
    lengths = random.integers(1, longest + 1, size=12)
    ends = np.cumsum(lengths)
    return Segments(order=random.permutation(ends[-1]), starts=ends - lengths)


def rows_of(segments: Segments) -> list[list[int]]:
    return [rows.tolist() for rows in np.split(segments.order, segments.starts[1:])]


cases = pytest.mark.parametrize("longest", [1, 3, 100])
seeds = pytest.mark.parametrize("seed", range(8))


@cases
@seeds
def test_the_last_qualifying_row_is_found_else_the_last(seed: int, longest: int) -> None:
    segments = random_segments(seed, longest=longest)
    qualifies = (
        np.random.default_rng(seed).random(len(segments.order)) < (0.0, 0.03, 0.5, 1)[seed % 4]
    )

    expected = [
        next((row for row in reversed(rows) if qualifies[row]), rows[-1])
        for rows in rows_of(segments)
    ]
    assert last_rows_where(segments, qualifies).tolist() == expected


@cases
@seeds
def test_the_last_of_the_greatest_is_found(seed: int, longest: int) -> None:
    segments = random_segments(seed, longest=longest)
    codes = np.random.default_rng(seed).integers(0, 5, len(segments.order)).astype(np.uint64)

    expected = [
        max(enumerate(rows), key=lambda position: (codes[position[1]], position[0]))[1]
        for rows in rows_of(segments)
    ]
    assert last_rows_of_maximum(segments, codes).tolist() == expected


def test_first_and_last_of_given_positions() -> None:
    segments = Segments(order=np.arange(6), starts=np.array([0, 3, 5]))
    positions, default = np.array([0, 1, 5]), np.array([-1, -1, -1])

    assert first_positions(segments, positions, default=default).tolist() == [0, -1, 5]
    assert last_positions(segments, positions, default=default).tolist() == [1, -1, 5]
    assert default.tolist() == [-1, -1, -1]
