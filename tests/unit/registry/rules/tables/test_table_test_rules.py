"""Tests that do not fit their table are refused, each with location and hint."""

from typing import Any

import pytest

from braid.registry.rules.tables.table_rules import check_table
from braid.schemas import TableSpec
from braid.schemas.table_test import GIVEN_MAX, RECORDS_MAX
from tests.unit.registry.shop import ORDERS, orders

KEY = {"id": 1, "region": "eu"}


def case(*rows: dict[str, Any], name: str = "a", **expect: Any) -> dict[str, Any]:
    return {"name": name, "expect": {"rows": rows, **expect}}


def places(table: TableSpec) -> list[tuple[str | None, str | None]]:
    found = check_table("shop", "orders", table)
    assert all(problem.hint for problem in found)
    return [(problem.pointer, problem.value) for problem in found]


@pytest.mark.parametrize(
    ("cases", "expected"),
    [
        pytest.param([case({"key": KEY, "row": {"total": 1, "sales__at": None}})], [], id="fine"),
        pytest.param([case(), case()], [("/tests/cases/1/name", "a")], id="same-name"),
        pytest.param(
            [case({"key": {"id": 1}})],
            [("/tests/cases/0/expect/rows/0/key", '{"id": 1}')],
            id="half-a-key",
        ),
        pytest.param(
            [case({"key": {**KEY, "total": 1}})],
            [("/tests/cases/0/expect/rows/0/key", '{"id": 1, "region": "eu", "total": 1}')],
            id="more-than-a-key",
        ),
        pytest.param(
            [case({"key": KEY, "row": {"weight": 1}})],
            [("/tests/cases/0/expect/rows/0/row/weight", "weight")],
            id="no-column",
        ),
        pytest.param(
            [case({"key": KEY, "exists": False, "row": {"total": 1}})],
            [("/tests/cases/0/expect/rows/0/row", None)],
            id="values-of-no-row",
        ),
        pytest.param(
            [case({"key": KEY, "reasons": {"total": ["late"], "id": ["late"], "paid": ["odd"]}})],
            [
                ("/tests/cases/0/expect/rows/0/reasons/id", "id"),
                ("/tests/cases/0/expect/rows/0/reasons/paid", "odd"),
            ],
            id="reasons",
        ),
        pytest.param(
            [case({"key": KEY, "groups": {"returns": "absent"}})],
            [("/tests/cases/0/expect/rows/0/groups/returns", "returns")],
            id="no-group",
        ),
        pytest.param(
            [case(dead_letters=[{"stream": "s", "reason": "odd"}])],
            [("/tests/cases/0/expect/dead_letters/0/reason", "odd")],
            id="no-reason",
        ),
    ],
)
def test_a_test_has_columns_and_groups_of_its_table(
    cases: list[dict[str, Any]], expected: list[tuple[str, str]]
) -> None:
    assert places(orders(tests={"cases": cases})) == expected


def test_the_order_of_a_kept_column_is_not_tested() -> None:
    groups = [dict(group) for group in ORDERS["sequence_groups"]]
    groups[1] |= {"keep": ["paid"]}
    tests = {"cases": [case({"key": KEY, "row": {"paid__order": None, "paid": 1}})]}

    assert places(orders(sequence_groups=groups, tests=tests)) == [
        ("/tests/cases/0/expect/rows/0/row/paid__order", "paid__order")
    ]


def test_all_tests_of_a_table_have_a_bounded_number_of_records() -> None:
    given = [{"stream": "s"}] * GIVEN_MAX
    count = RECORDS_MAX // GIVEN_MAX
    cases = [{"name": str(number), "given": given, "expect": {}} for number in range(count)]
    one_more = {"name": "more", "given": given[:1], "expect": {}}

    assert places(orders(tests={"cases": cases})) == []
    assert places(orders(tests={"cases": [*cases, one_more]})) == [
        ("/tests/cases", str(RECORDS_MAX + 1))
    ]
