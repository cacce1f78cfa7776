"""Kept columns: what a table may declare, and what a stream may do with records without a field."""

from typing import Any

import pytest

from braid.registry.rules.stream_completion import complete_stream
from braid.registry.rules.stream_rules import check_stream
from braid.registry.rules.tables.table_rules import check_table
from tests.unit.registry.shop import ORDERS, definition, orders

SALES, PAYMENTS, SHIPPING = ORDERS["sequence_groups"]
KEPT = orders(sequence_groups=[{**SALES, "keep": ["currency"]}, PAYMENTS, SHIPPING])


def groups(**sales: Any) -> dict[str, Any]:
    return {"sequence_groups": [SALES | sales, PAYMENTS, SHIPPING]}


def column(name: str, /, **changes: Any) -> list[dict[str, Any]]:
    return [one | changes if one["name"] == name else one for one in ORDERS["columns"]]


ACCEPTED: list[dict[str, Any]] = [
    groups(keep=["currency"]),
    groups(keep=["currency", "total"]),
    groups(keep=["currency"], deletes="clear_columns"),
    {**groups(keep=["currency"]), "tracking": False},
    {**groups(keep=["total"]), "columns": column("total", default="0")},
    {**groups(keep=["total"]), "columns": column("order_version", type="DECIMAL(20, 4)")},
]
REFUSED: list[tuple[dict[str, Any], str, str]] = [
    (groups(keep=["paid"]), "/sequence_groups/0/keep/0", "not in `columns` of the group `sales`"),
    (groups(keep=["order_version"]), "/sequence_groups/0/keep/0", "not in `columns`"),
    (groups(keep=["id"]), "/sequence_groups/0/keep/0", "not in `columns`"),
    (groups(keep=["total", "total"]), "/sequence_groups/0/keep/1", "named twice"),
    (
        {
            **groups(keep=["total"]),
            "columns": column("total", aggregate={"function": "sum"}),
        },
        "/sequence_groups/0/keep/0",
        "`sum` combines the values",
    ),
    (
        {**groups(keep=["total"]), "columns": column("order_version", type="ROW<n INT>")},
        "/sequence_groups/0/ordering/0",
        "do not sort like its values",
    ),
    (
        {**groups(keep=["total", "currency"]), "tracking": False},
        "/sequence_groups/0/keep",
        "all columns of the group are kept",
    ),
    (
        {**groups(keep=["total"]), "columns": column("carrier", name="Total__Order")},
        "/columns/7/name",
        "generates a column of this name",
    ),
    (
        {
            **groups(columns=["total", "currency", "shipped"], keep=["shipped"]),
            "deletes": "remove_row",
            "unordered": "allowed",
            "delete_retention": {"seconds": 60, "columns": ["shipped"]},
        },
        "/sequence_groups/0/keep/0",
        "takes the time of a delete from this column",
    ),
]


@pytest.mark.parametrize("changes", ACCEPTED)
def test_columns_of_a_group_can_be_kept(changes: dict[str, Any]) -> None:
    assert check_table("shop", "orders", orders(**changes)) == []


@pytest.mark.parametrize(("changes", "pointer", "message"), REFUSED)
def test_columns_that_cannot_be_kept_are_refused(
    changes: dict[str, Any], pointer: str, message: str
) -> None:
    problems = check_table("shop", "orders", orders(**changes))

    assert any(one.pointer == pointer and message in one.message for one in problems), problems


def test_the_row_kind_cannot_be_kept() -> None:
    spec = orders(
        sequence_groups=[
            {
                "name": "sales",
                "columns": [
                    one["name"] for one in ORDERS["columns"] if one["name"] not in ("id", "region")
                ],
                "keep": ["method"],
            }
        ],
        options={"rowkind.field": "method"},
        deletes="clear_columns",
    )

    (problem,) = check_table("shop", "orders", spec)

    assert problem.pointer == "/sequence_groups/0/keep/0"
    assert "its own kind" in problem.message


def stream(*columns: dict[str, Any], **fields: Any) -> list[tuple[str | None, str]]:
    """Return the problems of stream `sales` with these columns beside the key and the order."""
    others = [{"column": name} for name in ("id", "region", "order_version")]
    requested = definition(columns=[*others, *columns], **fields)
    found = check_stream(KEPT, {}, complete_stream(KEPT, requested, name="sales"))
    return [(problem.pointer, problem.message) for problem in found]


@pytest.mark.parametrize("of_kept", [None, "null", "reject", "keep"])
@pytest.mark.parametrize("of_other", [None, "null", "reject"])
def test_a_stream_decides_what_a_missing_field_means(
    of_kept: str | None, of_other: str | None
) -> None:
    currency = {"column": "currency", "on_missing": of_kept}

    assert stream(currency, {"column": "total", "on_missing": of_other}) == []


def test_a_stream_cannot_keep_what_the_table_does_not_keep() -> None:
    ((pointer, message),) = stream(
        {"column": "currency"}, {"column": "total", "on_missing": "keep"}
    )

    assert pointer == "/columns/4/on_missing"
    assert "does not declare that `total` is kept" in message


@pytest.mark.parametrize("effect", ["reject", "keep"])
def test_fields_that_no_message_lacks_are_neither_kept_nor_rejected(effect: str) -> None:
    fields = ["id", "region", "order_version", "currency", "total"]
    csv = {"type": "csv", "fields": fields}
    currency, total = {"column": "currency", "on_missing": effect}, {"column": "total"}

    assert stream({"column": "currency"}, total, format=csv) == []
    ((pointer, message),) = stream(currency, total, format=csv)
    assert pointer == "/columns/3/on_missing"
    assert message == "a message of the format `csv` has every field, so this has no effect"


def test_a_column_of_the_kafka_key_is_not_missing() -> None:
    columns = [
        {"column": "id", "source": "key", "on_missing": "reject"},
        *({"column": name} for name in ("region", "order_version", "total", "currency")),
    ]
    requested = definition(columns=columns, format="json")

    found = check_stream(KEPT, {}, complete_stream(KEPT, requested, name="sales"))

    assert [one.pointer for one in found if "Kafka key has a field for every" in one.message] == [
        "/columns/0/on_missing"
    ]
