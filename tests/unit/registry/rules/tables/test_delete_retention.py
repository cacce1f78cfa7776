"""Retention of deletes: its rules, and the options of the table format."""

from typing import Any

import pytest
from pydantic import ValidationError

from braid.registry.layout.physical_table import physical_table
from braid.registry.rules.tables.table_rules import check_table
from braid.schemas import FieldProblem, TableSpec
from tests.unit.registry.aggregates import column, totals
from tests.unit.registry.shop import orders

WEEK = {"seconds": 604_800}
SALES = [{"name": "sales", "columns": ["v"]}]
VERSIONED = {"sequence.field": "at"}


def rows(engine: str = "deduplicate", **changes: Any) -> TableSpec:
    """A table of whole rows with a time."""
    columns = column("v", "INT"), column("at", "TIMESTAMP(3)")
    return totals(*columns, merge_engine=engine, **changes)


def one_group(**changes: Any) -> TableSpec:
    """A table whose one group removes rows."""
    declared = {"merge_engine": "partial-update", "sequence_groups": SALES, **changes}
    return totals(column("v", "INT"), deletes="remove_row", **declared)


def found(table: TableSpec) -> list[FieldProblem]:
    return check_table("shop", "totals", table)


def options(table: TableSpec) -> tuple[str | None, str | None]:
    declared = physical_table(table).options
    key = "braid.delete-retention"
    return declared.get(key), declared.get(f"{key}.time-fields")


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (one_group(), (None, None)),
        (one_group(delete_retention=WEEK), ("604800 s", "sales__at")),
        (
            one_group(delete_retention=WEEK | {"columns": ["sales__at"]}),
            ("604800 s", "sales__at"),
        ),
        (rows(delete_retention=WEEK | {"columns": ["at"]}, options=VERSIONED), ("604800 s", "at")),
        (
            rows(
                "aggregation",
                deletes="remove_row",
                delete_retention=WEEK | {"columns": ["at"]},
                unordered="allowed",
            ),
            ("604800 s", "at"),
        ),
        (
            orders(
                sequence_groups=[
                    group | ({"deletes": "remove_row"} if group["name"] == "payments" else {})
                    for group in orders().model_dump()["sequence_groups"]
                ],
                unordered="allowed",
                delete_retention=WEEK,
            ),
            ("604800 s", "payments__at"),
        ),
    ],
    ids=["none", "group", "made", "deduplicate", "aggregation", "of groups"],
)
def test_what_is_declared_becomes_options(
    table: TableSpec, expected: tuple[str | None, str | None]
) -> None:
    assert found(table) == []
    assert options(table) == expected


@pytest.mark.parametrize(
    ("table", "field", "said"),
    [
        (orders(delete_retention=WEEK), "delete_retention", "no delete of this table removes"),
        (
            rows(deletes="ignore", delete_retention=WEEK | {"columns": ["at"]}),
            "delete_retention",
            "no delete of this table removes",
        ),
        (
            rows("first-row", delete_retention=WEEK | {"columns": ["at"]}),
            "delete_retention",
            "no delete of this table removes",
        ),
        (rows(delete_retention=WEEK), "delete_retention.columns", "has no sequence groups"),
        (
            one_group(tracking=False, delete_retention=WEEK),
            "delete_retention.columns",
            "declares `tracking: false`",
        ),
        (
            rows(delete_retention=WEEK | {"columns": ["at", "when"]}),
            "delete_retention.columns[1]",
            "no such column",
        ),
        (
            rows(delete_retention=WEEK | {"columns": ["v"]}),
            "delete_retention.columns[0]",
            "expected a TIMESTAMP",
        ),
        (
            rows(
                delete_retention=WEEK | {"columns": ["at"]},
                options={"deletion-vectors.enabled": "true"},
            ),
            "delete_retention",
            "deletion-vectors.enabled",
        ),
        (
            rows(options={"braid.delete-retention": "7 d"}),
            "options.braid.delete-retention",
            "a field of the declaration sets this",
        ),
    ],
    ids=["clears", "ignores", "first", "groupless", "untracked", "unknown", "type", "dv", "option"],
)
def test_a_retention_that_the_table_cannot_have_is_refused(
    table: TableSpec, field: str, said: str
) -> None:
    (problem,) = found(table)

    assert problem.field == field
    assert said in problem.message


@pytest.mark.parametrize("retention", [{"seconds": 0}, {"seconds": 1, "columns": []}, {}])
def test_a_retention_has_seconds_and_names_columns_or_none(retention: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="delete_retention"):
        rows(delete_retention=retention)
