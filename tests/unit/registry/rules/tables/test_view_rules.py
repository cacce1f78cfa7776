"""Feature views that do not fit their table are refused, each with location and hint."""

from typing import Any

import pytest

from braid.registry.rules.tables.table_rules import check_table
from tests.unit.registry.shop import mapped, orders


def view(*columns: str, **fields: Any) -> dict[str, Any]:
    return {"name": "risk", "columns": mapped(*columns), **fields}


@pytest.mark.parametrize(
    ("views", "expected"),
    [
        pytest.param([view("total", "carrier")], [], id="fine"),
        pytest.param(
            [view("total"), view("total", name="other", completeness={"groups": ["shipping"]})],
            [],
            id="two-views-of-one-column",
        ),
        pytest.param(
            [view("total", "weight")], [("/views/0/columns/1/column", "weight")], id="no-column"
        ),
        pytest.param(
            [view("sales__at")], [("/views/0/columns/0/column", "sales__at")], id="generated"
        ),
        pytest.param(
            [view("total", "total")], [("/views/0/columns/1/name", "total")], id="same-name"
        ),
        pytest.param(
            [view(columns=[{"column": "total", "name": "paid"}, {"column": "paid"}])],
            [("/views/0/columns/1/name", "paid")],
            id="the-name-of-another-column",
        ),
        pytest.param([view("total"), view("paid")], [("/views/1/name", "risk")], id="same-view"),
        pytest.param([view("total", name="a/b")], [("/views/0/name", "a/b")], id="bad-name"),
        pytest.param(
            [view("total", completeness={"groups": ["sales", "returns"]})],
            [("/views/0/completeness/groups/1", "returns")],
            id="completeness-of-an-unknown-group",
        ),
        pytest.param(
            [view("total", staleness={"groups": {"returns": 60}})],
            [("/views/0/staleness/groups/returns", "returns")],
            id="staleness-of-an-unknown-group",
        ),
    ],
)
def test_a_view_has_columns_and_groups_of_its_table(
    views: list[dict[str, Any]], expected: list[tuple[str, str]]
) -> None:
    found = check_table("shop", "orders", orders(views=views))

    assert [(problem.pointer, problem.value) for problem in found] == expected
    assert all(problem.hint for problem in found)


def test_a_view_cannot_be_stale_without_tracking() -> None:
    spec = orders(tracking=False, views=[view("total", staleness={"default_seconds": 60})])

    (problem,) = check_table("shop", "orders", spec)

    assert (problem.pointer, problem.value) == ("/views/0/staleness", "tracking: false")


def test_one_column_may_have_two_names_in_a_view() -> None:
    columns = [{"column": "total"}, {"column": "total", "name": "order_total"}]

    assert check_table("shop", "orders", orders(views=[view(columns=columns)])) == []
