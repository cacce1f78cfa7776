"""Declared effects of deletes: their rules, and the options of the table format."""

from typing import Any

import pytest

from braid.registry.layout.physical_table import physical_table
from braid.registry.rules.tables.table_rules import check_table
from braid.schemas import FieldProblem, TableSpec
from tests.unit.registry.aggregates import column, grouped, totals
from tests.unit.registry.shop import ORDERS, orders

REMOVE_ON_GROUP = "partial-update.remove-record-on-sequence-group"


def found(table: TableSpec) -> list[FieldProblem]:
    """All that is wrong with the table."""
    return check_table("shop", "totals", table)


def groups_with(*deletes: str | None) -> list[dict[str, Any]]:
    """The three groups, each with its deletes."""
    groups = zip(ORDERS["sequence_groups"], deletes, strict=True)
    return [group | ({"deletes": how} if how else {}) for group, how in groups]


def delete_options(table: TableSpec) -> dict[str, str]:
    """The options of the table that are about deletes."""
    options = physical_table(table).options
    return {key: v for key, v in options.items() if "delete" in key or "remove-record" in key}


def null_deletes(*groups: str, ordering: str) -> dict[str, str]:
    """The options of groups whose deletes are written without values."""
    return {
        "braid.null-deletes": ordering,
        "braid.null-deletes.kept-fields": ",".join(f"{group}__at" for group in groups),
        "braid.null-deletes.mark-fields": ",".join(f"{group}__op" for group in groups),
    }


def whole_rows(engine: str, **changes: Any) -> TableSpec:
    """A table of the engine without functions and groups."""
    return totals(column("v", "INT"), merge_engine=engine, **changes)


OFFSETS = [{"name": "sales", "columns": ["v"]}]
LOOSE = {"unordered": "allowed"}


@pytest.mark.parametrize(
    ("table", "options"),
    [
        (whole_rows("deduplicate"), {}),
        (whole_rows("deduplicate", deletes="remove_row"), {}),
        (whole_rows("deduplicate", deletes="ignore"), {"ignore-delete": "true"}),
        (whole_rows("aggregation"), {}),
        (whole_rows("aggregation", deletes="ignore"), {"ignore-delete": "true"}),
        (
            whole_rows("aggregation", deletes="remove_row", unordered="allowed"),
            {"aggregation.remove-record-on-delete": "true"},
        ),
        (
            whole_rows("partial-update", deletes="remove_row", unordered="allowed"),
            {"partial-update.remove-record-on-delete": "true"},
        ),
        (
            whole_rows("partial-update", deletes="ignore", unordered="allowed"),
            {"ignore-delete": "true"},
        ),
        (orders(), {}),
        (
            orders(deletes="clear_columns"),
            null_deletes(
                "sales",
                "payments",
                "shipping",
                ordering="order_version,payments__partition,payments__offset,"
                "shipping__partition,shipping__offset",
            ),
        ),
        (
            orders(deletes="clear_columns", tracking=False),
            {
                "braid.null-deletes": "order_version,payments__partition,payments__offset,"
                "shipping__partition,shipping__offset"
            },
        ),
        (orders(deletes="ignore"), {"ignore-delete": "true"}),
        (
            orders(sequence_groups=groups_with("ignore", "ignore", "ignore")),
            {"ignore-delete": "true"},
        ),
        (
            grouped(
                column("v", "INT"),
                sequence_groups=OFFSETS,
                deletes="remove_row",
                unordered="allowed",
            ),
            {REMOVE_ON_GROUP: "sales__partition,sales__offset"}
            | null_deletes("sales", ordering="sales__partition,sales__offset"),
        ),
        (
            orders(
                sequence_groups=groups_with("remove_row", None, "clear_columns"),
                unordered="allowed",
            ),
            {REMOVE_ON_GROUP: "order_version"}
            | null_deletes(
                "sales",
                "shipping",
                ordering="order_version,shipping__partition,shipping__offset",
            ),
        ),
        (
            orders(
                deletes="remove_row",
                sequence_groups=groups_with(None, None, "clear_columns"),
                unordered="allowed",
            ),
            {REMOVE_ON_GROUP: "order_version,payments__partition,payments__offset"}
            | null_deletes(
                "sales",
                "payments",
                "shipping",
                ordering="order_version,payments__partition,payments__offset,"
                "shipping__partition,shipping__offset",
            ),
        ),
    ],
    ids=lambda value: str(value)[-60:],
)
def test_what_is_declared_becomes_the_options_of_the_engine(
    table: TableSpec, options: dict[str, str]
) -> None:
    assert found(table) == []
    assert delete_options(table) == options


def test_one_group_ordered_by_offsets_removes_rows_safely() -> None:
    columns = [column("id", "BIGINT"), column("v", "INT")]

    assert found(grouped(columns=columns, sequence_groups=OFFSETS, deletes="remove_row")) == []


@pytest.mark.parametrize(
    ("table", "pointer", "value", "expected_text"),
    [
        (whole_rows("first-row", deletes="remove_row"), "/deletes", "remove_row", "`ignore`"),
        (whole_rows("first-row", deletes="clear_columns"), "/deletes", "clear_columns", "`ignore`"),
        (
            whole_rows("deduplicate", deletes="clear_columns"),
            "/deletes",
            "clear_columns",
            "use `remove_row` or `ignore`",
        ),
        (
            whole_rows("partial-update", deletes="clear_columns", unordered="allowed"),
            "/deletes",
            "clear_columns",
            "declare a sequence group",
        ),
        (
            orders(sequence_groups=groups_with("ignore", "clear_columns", None)),
            "/sequence_groups/0/deletes",
            "ignore",
            "by a whole table or not at all",
        ),
        (
            orders(deletes="ignore", sequence_groups=groups_with(None, "clear_columns", None)),
            "/deletes",
            "ignore",
            "by a whole table or not at all",
        ),
        (
            orders(sequence_groups=groups_with("remove_row", None, None)),
            "/sequence_groups/0/deletes",
            "remove_row",
            "whether the columns of the other groups outlive the delete",
        ),
        (
            grouped(column("v", "INT"), deletes="remove_row"),
            "/deletes",
            "remove_row",
            "arrives after it brings the row back",
        ),
        (
            grouped(column("v", "INT", "max", ignore_retract=True), deletes="clear_columns"),
            "/columns/2/aggregate/function",
            "max",
            "does not know which of them a delete retracts",
        ),
        (
            grouped(column("v", "INT", "sum"), deletes="clear_columns", unordered="allowed"),
            "/columns/2/aggregate/function",
            "sum",
            "leave the `aggregate` out",
        ),
        (
            totals(column("v", "STRING", "listagg"), deletes="clear_columns"),
            "/deletes",
            "clear_columns",
            "deletes cannot have this effect in aggregation tables",
        ),
        (
            totals(column("v", "INT", "sum"), deletes="remove_row"),
            "/deletes",
            "remove_row",
            "is added to the values that the row had before the delete",
        ),
        (
            grouped(
                columns=[column("id", "BIGINT"), column("v", "INT", "sum")],
                sequence_groups=OFFSETS,
                deletes="remove_row",
            ),
            "/deletes",
            "remove_row",
            "is added to the values that the row had before the delete",
        ),
        (
            totals(
                column("v", "INT") | LOOSE,
                column("w", "INT") | LOOSE,
                merge_engine="partial-update",
                deletes="remove_row",
            ),
            "/deletes",
            "remove_row",
            "decides what is left of the row declare one sequence group with all columns",
        ),
        (
            totals(
                column("v", "INT"),
                column("w", "INT") | LOOSE,
                merge_engine="partial-update",
                sequence_groups=OFFSETS,
                deletes="remove_row",
            ),
            "/deletes",
            "remove_row",
            "decides what is left of the row use `clear_columns`",
        ),
        (
            whole_rows("deduplicate", deletes="remove_row", options={"sequence.field": "v"}),
            "/deletes",
            "remove_row",
            "brings the row back",
        ),
        (
            totals(
                column("v", "INT", "sum", ignore_retract=True),
                deletes="remove_row",
                unordered="allowed",
            ),
            "/columns/1/aggregate/ignore_retract",
            "true",
            "aggregation.remove-record-on-delete",
        ),
        (
            whole_rows("deduplicate", options={"ignore-delete": "true"}),
            "/options/ignore-delete",
            "true",
            "use the field `deletes`",
        ),
        (
            whole_rows("aggregation", options={"aggregation.remove-record-on-delete": "true"}),
            "/options/aggregation.remove-record-on-delete",
            "true",
            "use the field `deletes`",
        ),
    ],
    ids=lambda value: str(value)[-60:],
)
def test_an_invalid_retention_is_reported_with_its_location(
    table: TableSpec, pointer: str, value: str, expected_text: str
) -> None:
    (problem,) = found(table)

    assert (problem.pointer, problem.value) == (pointer, value)
    assert expected_text in f"{problem.message} {problem.hint}"


@pytest.mark.parametrize(
    "table",
    [
        grouped(column("v", "INT", "sum"), deletes="ignore"),
        totals(column("v", "INT", "max"), deletes="ignore"),
        totals(column("v", "INT", "sum"), deletes="remove_row", unordered="allowed"),
        whole_rows("partial-update", deletes="remove_row", sequence_groups=OFFSETS),
        totals(
            column("v", "INT"),
            column("w", "INT"),
            merge_engine="partial-update",
            sequence_groups=OFFSETS,
            deletes="clear_columns",
            unordered="allowed",
        ),
        totals(
            column("v", "INT"),
            column("w", "INT") | LOOSE,
            merge_engine="partial-update",
            sequence_groups=OFFSETS,
            deletes="clear_columns",
        ),
        whole_rows(
            "deduplicate",
            deletes="remove_row",
            options={"sequence.field": "v"},
            unordered="allowed",
        ),
    ],
    ids=lambda value: str(value)[-60:],
)
def test_the_hints_lead_to_a_table(table: TableSpec) -> None:
    assert found(table) == []


@pytest.mark.parametrize(
    ("engine", "deletes", "expected"),
    [
        ("deduplicate", None, []),
        ("aggregation", "ignore", []),
        ("first-row", "ignore", []),
        ("aggregation", None, [("/options/rowkind.field", "kind")]),
        ("first-row", None, [("/options/rowkind.field", "kind")]),
    ],
)
def test_rows_that_say_their_kind_need_a_word_about_deletes(
    engine: str, deletes: str | None, expected: list[tuple[str, str]]
) -> None:
    table = totals(
        column("kind", "STRING"),
        merge_engine=engine,
        deletes=deletes,
        options={"rowkind.field": "kind"},
    )

    assert [(problem.pointer, problem.value) for problem in found(table)] == expected


def test_rows_of_several_groups_do_not_say_their_kind() -> None:
    (problem,) = found(orders(deletes="clear_columns", options={"rowkind.field": "method"}))

    assert (problem.pointer, problem.value) == ("/options/rowkind.field", "method")
    assert "which only one stream can write" in problem.message
