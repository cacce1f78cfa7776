"""Rows that a table refuses are found, by themselves and beside others, and no other rows."""

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from braid.lake import InvalidRequest, SchemaMismatch, StorageUnavailable
from braid.records.trial_writes import TrialSchedule, find_refused_rows, is_refusal


def rows(values: list[int]) -> pa.Table:
    return pa.table({"v": pa.array(values, pa.int64())})


@given(st.lists(st.booleans(), max_size=40))
def test_exactly_the_bad_rows_are_refused(are_bad: list[bool]) -> None:
    def attempt(some: pa.Table) -> None:
        bad = [value for value in some["v"].to_pylist() if value]
        if bad:
            message = f"{len(bad)} of {some.num_rows} rows\nhint: none"
            raise SchemaMismatch(message)

    found = find_refused_rows(rows([int(is_bad) for is_bad in are_bad]), attempt)

    assert set(found) == {row for row, is_bad in enumerate(are_bad) if is_bad}
    assert set(found.values()) <= {"1 of 1 rows; hint: none"}


@given(st.lists(st.integers(min_value=1, max_value=9), max_size=20))
def test_rows_that_do_not_go_together_are_taken_as_far_as_they_go(values: list[int]) -> None:
    """Each by itself fits; a sum above twenty does not: the later ones are refused."""

    def attempt(some: pa.Table) -> None:
        if sum(some["v"].to_pylist()) > 20:
            raise OverflowError("sum")

    found = find_refused_rows(rows(values), attempt)

    taken = 0
    expected = set()
    for row, value in enumerate(values):
        if taken + value > 20:
            expected.add(row)
        else:
            taken += value
    assert set(found) == expected
    assert set(found.values()) <= {"OverflowError: sum"}


def test_an_error_that_is_not_about_rows_is_raised() -> None:
    def attempt(some: pa.Table) -> None:
        raise StorageUnavailable("the disk is full")

    with pytest.raises(StorageUnavailable):
        find_refused_rows(rows([1, 2]), attempt)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (SchemaMismatch("rows"), True),
        (pa.ArrowInvalid("a value"), True),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates"), True),
        (AssertionError("a defect of ours"), True),
        (StorageUnavailable("away"), False),
        (InvalidRequest("the table"), False),
        (OSError("away"), False),
        (MemoryError(), False),
        (ImportError("libarrow: cannot allocate memory"), False),
        (RuntimeError("can't start new thread"), False),
        (RuntimeError("a value"), True),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_about_rows_are_known_by_their_class(error: Exception, expected: bool) -> None:
    assert is_refusal(error) is expected


def test_rows_are_tried_for_some_micro_batches_after_a_refusal() -> None:
    schedule = TrialSchedule()
    due = [schedule.is_due]

    schedule.begin()
    for _ in range(11):
        due.append(schedule.is_due)
        schedule.note(has_refused_row=False)

    assert due == [False, *[True] * 10, False]


def test_a_refused_row_prolongs_the_trials() -> None:
    schedule = TrialSchedule()
    schedule.note(has_refused_row=True)

    assert schedule.is_due
