"""The time to live of rows: its rules, and the options of the table format."""

from typing import Any

import pytest
from pydantic import ValidationError

from braid.registry.layout.physical_table import physical_table
from braid.registry.rules.tables.table_rules import check_table
from braid.schemas import FieldProblem, TableSpec
from tests.unit.registry.aggregates import column, totals

DAY = 86_400
SALES = [{"name": "sales", "columns": ["v"]}]


def rows(engine: str = "deduplicate", **changes: Any) -> TableSpec:
    """A table of whole rows with times of several types."""
    columns = column("v", "STRING"), column("s", "INT"), column("ms", "BIGINT")
    return totals(*columns, column("at", "TIMESTAMP(3)"), merge_engine=engine, **changes)


def grouped(**changes: Any) -> TableSpec:
    """A table of one sequence group."""
    declared = {"merge_engine": "partial-update", "sequence_groups": SALES, **changes}
    return totals(column("v", "INT"), **declared)


def ttl(name: str) -> dict[str, Any]:
    return {"row_ttl": {"column": name, "seconds": DAY}}


def found(table: TableSpec) -> list[FieldProblem]:
    return check_table("shop", "totals", table)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (rows(), (None, None)),
        (rows(**ttl("s")), ("86400 s", "s")),
        (rows(**ttl("ms")), ("86400 s", "ms")),
        (rows("first-row", **ttl("at")), ("86400 s", "at")),
        (grouped(**ttl("sales__at")), ("86400 s", "sales__at")),
        (rows(**ttl("at"), options={"deletion-vectors.enabled": "true"}), ("86400 s", "at")),
        (rows(**ttl("at"), options={"changelog-producer": "input"}), ("86400 s", "at")),
    ],
)
def test_a_time_to_live_is_declared_by_options_of_the_format(
    table: TableSpec, expected: tuple[str | None, str | None]
) -> None:
    options = physical_table(table).options
    prefix = "record-level"

    assert found(table) == []
    assert (options.get(f"{prefix}.expire-time"), options.get(f"{prefix}.time-field")) == expected


@pytest.mark.parametrize(
    ("table", "pointer", "message"),
    [
        (rows(**ttl("v")), "/row_ttl/column", "the column is STRING"),
        (rows(**ttl("gone")), "/row_ttl/column", "no such column"),
        (rows(**ttl("sales__at")), "/row_ttl/column", "no such column"),
        (grouped(**ttl("sales__offset")), "/row_ttl/column", "no such column"),
        (grouped(**ttl("sales__at"), tracking=False), "/row_ttl/column", "no such column"),
        (
            rows(**ttl("at"), options={"changelog-producer": "lookup"}),
            "/row_ttl",
            "conflicts with changelog-producer = lookup",
        ),
        (
            rows(options={"record-level.time-field": "at"}),
            "/options/record-level.time-field",
            "",
        ),
    ],
)
def test_a_time_to_live_that_cannot_be_kept_is_refused(
    table: TableSpec, pointer: str, message: str
) -> None:
    (problem,) = found(table)

    assert problem.pointer == pointer
    assert message in problem.message
    assert problem.hint


@pytest.mark.parametrize("seconds", [0, -1, "7 d", 1.5, 36_500 * DAY + 1])
def test_a_time_to_live_is_a_number_of_seconds(seconds: object) -> None:
    with pytest.raises(ValidationError, match=r"row_ttl\.seconds"):
        rows(row_ttl={"column": "at", "seconds": seconds})
