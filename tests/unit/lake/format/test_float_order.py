"""Floats as integers of the same order."""

import numpy as np
import pyarrow as pa
import pytest

from braid.lake.format.float_order import total_order, total_order_column, with_one_nan

ASCENDING = [-np.inf, -1.5, -0.0, 0.0, 1e-45, 1.5, np.inf, np.nan]


@pytest.mark.parametrize("width", [4, 8])
def test_the_order_is_javas(width: int) -> None:
    numbers = total_order(np.array(ASCENDING, dtype=f"f{width}"))

    assert numbers.dtype == f"i{width}"
    assert (np.diff(numbers.astype(object)) > 0).all()


@pytest.mark.parametrize("bits", [0x7FF8000000000001, 0xFFF8000000000000, 0x7FF0000000000001])
def test_nan_is_one_value(bits: int) -> None:
    other = np.array([bits], dtype=np.uint64).view(np.float64)

    assert total_order(other).tolist() == total_order(np.array([np.nan])).tolist()


@pytest.mark.parametrize(
    ("width", "others", "one"),
    [
        (4, [0xFFC00000, 0x7F800001], 0x7FC00000),
        (8, [0xFFF8000000000000, 0x7FF0000000000001], 0x7FF8000000000000),
    ],
)
def test_every_nan_gets_the_bits_of_javas(width: int, others: list[int], one: int) -> None:
    nans = np.array(others, dtype=f"u{width}").view(f"f{width}")
    column = pa.chunked_array(
        [pa.array(nans), pa.array([1.5, -0.0, None], pa.from_numpy_dtype(nans.dtype))]
    )

    found = with_one_nan(column)

    assert found.slice(0, 2).to_numpy().view(f"u{width}").tolist() == [one, one]
    assert str(found.slice(2).to_pylist()) == "[1.5, -0.0, None]"
    assert with_one_nan(found.slice(2)).equals(found.slice(2))


def test_nulls_stay_and_slices_count() -> None:
    column = pa.chunked_array([pa.array([9.0, None, 0.0]).slice(1), pa.array([None], pa.float64())])

    assert total_order_column(column).to_pylist() == [None, 0, None]
