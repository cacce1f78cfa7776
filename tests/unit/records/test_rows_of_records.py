"""Records of several rows are refused as a whole, counted once, and have one row for each key."""

import numpy as np
import pyarrow as pa
import pytest

from braid.formats.fault import Faults, malformed
from braid.records.record_columns import OFFSET, PARTITION
from braid.records.rows_of_records import (
    counted_once,
    first_rows,
    numbers_of_records,
    replaced_rows,
    rows_per_record,
    spread_faults,
)

RECORD_OF = np.array([0, 1, 1, 1, 4, 4])


def test_a_fault_of_one_row_is_that_of_all() -> None:
    faults, fault = Faults(6), malformed("broken")
    faults.add(2, fault)

    spread_faults(faults, RECORD_OF)

    assert faults.rows == [1, 2, 3]
    assert {faults[row] for row in faults.rows} == {fault}


def test_of_rows_of_one_key_the_last_stays() -> None:
    keys = [pa.array([7, 7, 7, 8, 9, 9]), pa.array(["a", "a", "a", "a", None, None])]

    assert replaced_rows(keys, RECORD_OF).tolist() == [False, True, False, False, True, False]


def test_rows_beyond_the_first_of_their_record_are_counted() -> None:
    chosen = np.array([True, True, False, True, False, True])

    assert rows_per_record(RECORD_OF, chosen) == 1
    assert rows_per_record(None, chosen) == 0
    assert first_rows([1, 2, 4, 5], RECORD_OF) == [1, 4]
    assert first_rows([1, 2], None) == [1, 2]


def test_rows_of_one_place_are_one_record() -> None:
    places = pa.table({PARTITION: [0, 0, 1, 1, 0], OFFSET: [5, 5, 5, 6, 6]})

    assert numbers_of_records(places).tolist() == [0, 0, 1, 2, 3]


@pytest.mark.parametrize(
    ("further", "expected"), [(0, (5, 2, 1)), (1, (5, 1, 1)), (4, (3, 0, 1)), (8, (0, 0, 0))]
)
def test_the_counts_add_up_to_the_records(further: int, expected: tuple[int, int, int]) -> None:
    assert counted_once(accepted=5, folded=2, ignored=1, further=further) == expected
