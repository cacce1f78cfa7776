import itertools

import numpy as np
import pyarrow as pa
import pytest

from braid.lake.merge.order.key_order import key_codes, number_codes
from braid.lake.merge.order.order_values import order_values
from tests.property.strategies import ATOMIC_VALUES

WIDE = ATOMIC_VALUES[pa.int64()]


def dense(codes: np.ndarray) -> list[int]:
    """Return ranks, so that only the order of codes counts."""
    return np.unique(codes, return_inverse=True)[1].tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", ATOMIC_VALUES, ids=str)
def test_codes_ascend_as_the_values_of_every_type(kind: pa.DataType) -> None:
    column = pa.chunked_array([pa.array([None, *reversed(ATOMIC_VALUES[kind])], kind)])
    expected = order_values(column)

    assert dense(key_codes([column])) == [sorted(set(expected)).index(v) for v in expected]


def test_codes_of_several_columns_compare_column_by_column() -> None:
    rows = list(itertools.product([3, 1, 2], ["b", "", "a"], [None, -1.0]))
    columns = [pa.array(values) for values in zip(*rows, strict=True)]
    keys = [(number, text, () if real is None else (real,)) for number, text, real in rows]

    assert dense(key_codes(columns)) == [sorted(keys).index(key) for key in keys]


def test_keys_wider_than_a_code_are_ranked() -> None:
    rows = list(itertools.product(WIDE, WIDE, ["x" * 30, "x" * 31, "x" * 29 + "y"]))
    columns = [pa.array(values) for values in zip(*rows, strict=True)]

    assert dense(key_codes(columns)) == [sorted(rows).index(row) for row in rows]


def test_ties_of_the_first_word_only_are_sorted_further() -> None:
    columns = [pa.array([2**62, 0, 0, 2**62]), pa.array([5, 2**62, 0, 5])]

    assert dense(key_codes(columns)) == [2, 1, 0, 2]


def test_descending_turns_values_but_not_null() -> None:
    columns = [pa.array([1, None, 2, 1]), pa.array(["b", "b", "a", None])]

    assert dense(key_codes(columns, descending=True)) == [3, 0, 1, 2]


def test_numbers_have_codes_too() -> None:
    numbers = [np.array([1, 0, 1], dtype=np.uint64), np.array([7, 9, 2**64 - 1], dtype=np.uint64)]

    assert dense(number_codes(numbers)) == [1, 0, 2]
    assert number_codes([numbers[0][:1]]).tolist() == [0]


def test_no_rows_have_no_codes() -> None:
    assert key_codes([pa.array([], pa.string()), pa.array([], pa.int8())]).tolist() == []


def test_rows_without_key_columns_fail_an_assertion() -> None:
    with pytest.raises(AssertionError):
        key_codes([])
