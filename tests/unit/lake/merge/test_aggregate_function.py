import pytest

from lake.merge.aggregate_function import NO_VALUE, LastNonNullValue

HAS_VALUE = [True, False, True]


@pytest.mark.parametrize(
    ("accumulated", "record", "expected"),
    [(NO_VALUE, 0, 0), (0, 2, 2), (0, 1, 0), (NO_VALUE, 1, NO_VALUE)],
)
def test_a_value_replaces_and_null_does_not(accumulated: int, record: int, expected: int) -> None:
    function = LastNonNullValue(has_value=HAS_VALUE, ignore_retract=False)

    assert function.aggregate(accumulated, record) == expected


@pytest.mark.parametrize(
    ("accumulated", "record", "expected"),
    [(NO_VALUE, 0, 0), (0, 2, 0), (NO_VALUE, 1, NO_VALUE)],
)
def test_an_older_value_only_fills(accumulated: int, record: int, expected: int) -> None:
    function = LastNonNullValue(has_value=HAS_VALUE, ignore_retract=False)

    assert function.aggregate_older(accumulated, record) == expected


@pytest.mark.parametrize(
    ("ignore_retract", "record", "expected"), [(False, 2, NO_VALUE), (False, 1, 0), (True, 2, 0)]
)
def test_a_retracted_value_empties_the_cell_unless_retracts_are_ignored(
    ignore_retract: bool, record: int, expected: int
) -> None:
    function = LastNonNullValue(has_value=HAS_VALUE, ignore_retract=ignore_retract)

    assert function.retract(0, record) == expected
