"""Differences of a test are bounded, however large the values and however many the rows."""

from typing import Any

from braid.lake import ManualClock
from braid.service.control.table_tests.case_differences import DIFFERENCES_MAX, same_json
from braid.service.control.table_tests.table_run import run_tests
from tests.unit.service.control.table_tests.shop_tests import KEY, case, document, sale


def test_long_values_are_cut_and_many_differences_are_left_out() -> None:
    record = sale(1, "1")
    record["value"]["currency"] = "x" * 100_000
    rows = [{"key": KEY, "row": {"currency": "y"}}] * 100

    (result,) = run_tests(document(), [case(record, rows=rows)], clock=ManualClock()).cases

    assert len(result.differences) == DIFFERENCES_MAX
    first = result.differences[0]
    assert (first.expected, first.found[:3], len(first.found)) == ("y", '"xx', 203)
    assert len(result.model_dump_json()) < 30_000


def test_values_are_equal_as_json_values() -> None:
    equal: list[tuple[Any, Any]] = [
        (1, 1.0),
        ({"a": [1, {"b": None}]}, {"a": [1.0, {"b": None}]}),
        (None, None),
        (True, True),
    ]
    different: list[tuple[Any, Any]] = [
        (True, 1),
        (0, False),
        ("1", 1),
        ({"a": 1}, {"a": 1, "b": None}),
        ([1], [1, 1]),
        ([True], [1]),
        (None, 0),
    ]

    assert [same_json(*pair) for pair in equal] == [True] * len(equal)
    assert [same_json(*pair) for pair in different] == [False] * len(different)
