"""Aggregate functions that a declared table may and may not have."""

from typing import Any

import pytest

from braid.registry.layout.physical_table import physical_table
from braid.registry.rules.tables.table_rules import check_table
from braid.schemas import FieldProblem, TableSpec
from tests.unit.registry.aggregates import column, grouped, totals

ROWS = "ARRAY<ROW<id INT, n INT, t STRING>>"


def found(table: TableSpec) -> list[FieldProblem]:
    """All that is wrong with the table."""
    return check_table("shop", "totals", table)


@pytest.mark.parametrize(
    ("sql", "function", "options", "expected"),
    [
        ("DOUBLE", "product", {"ignore_retract": True}, {"ignore-retract": "true"}),
        ("DATE", "max", {}, {}),
        ("STRING", "min", {}, {}),
        ("STRING", "last_value", {}, {}),
        ("STRING", "last_non_null_value", {}, {}),
        ("STRING", "first_value", {}, {}),
        ("STRING", "first_non_null_value", {}, {}),
        ("STRING", "first_not_null_value", {}, {}),
        (
            "STRING",
            "listagg",
            {"delimiter": "; ", "distinct": True},
            {"list-agg-delimiter": "; ", "distinct": "true"},
        ),
        ("BOOLEAN", "bool_and", {}, {}),
        ("BOOLEAN", "bool_or", {}, {}),
        ("ARRAY<INT>", "collect", {"distinct": True}, {"distinct": "true"}),
        ("MAP<STRING, INT>", "merge_map", {}, {}),
        (
            "MAP<STRING, ROW<x INT, t STRING>>",
            "merge_map_with_keytime",
            {"timestamp_field": "t"},
            {"ts-field": "t"},
        ),
        (
            ROWS,
            "nested_update",
            {
                "nested_key": ["id", "n"],
                "nested_key_null_strategy": "ignore",
                "nested_sequence": ["t"],
                "count_limit": 100,
            },
            {
                "nested-key": "id,n",
                "nested-key-null-strategy": "ignore",
                "nested-sequence-field": "t",
                "count-limit": "100",
            },
        ),
        (ROWS, "nested_partial_update", {"nested_key": ["id"]}, {"nested-key": "id"}),
        ("BIGINT", "sum", {"on_overflow": "fail"}, {"braid.on-overflow": "fail"}),
        ("DECIMAL(9, 2)", "product", {}, {"braid.on-overflow": "wrap"}),
        ("DOUBLE", "sum", {}, {}),
        ("BYTES", "rbm32", {}, {}),
        ("BYTES", "rbm64", {}, {}),
        ("BYTES", "hll_sketch", {}, {"braid.lg-k": "12", "braid.hll-type": "HLL_4"}),
        (
            "BYTES",
            "hll_sketch",
            {"lg_k": 10, "hll_type": "HLL_8"},
            {"braid.lg-k": "10", "braid.hll-type": "HLL_8"},
        ),
        ("BYTES", "theta_sketch", {"lg_k": 14}, {"braid.lg-k": "14"}),
    ],
)
def test_every_function_can_be_declared_with_its_options(
    sql: str, function: str, options: dict[str, Any], expected: dict[str, str]
) -> None:
    table = totals(column("v", sql, function, **options))

    assert found(table) == []
    assert {
        key: value
        for key, value in physical_table(table).options.items()
        if key.startswith("fields.v.")
    } == {f"fields.v.{key}": v for key, v in {"aggregate-function": function, **expected}.items()}


@pytest.mark.parametrize(
    ("columns", "pointer", "value", "expected_text"),
    [
        (
            [column("v", "INT", "Sum")],
            "/columns/1/aggregate/function",
            "Sum",
            "did you mean `sum`?",
        ),
        (
            [column("v", "STRING", "sum")],
            "/columns/1/aggregate/function",
            "sum",
            "column `v` is STRING",
        ),
        (
            [column("v", "STRING", "listagg", distinct=True, count_limit=3)],
            "/columns/1/aggregate/count_limit",
            "3",
            "it belongs to nested_update",
        ),
        (
            [column("v", "INT", "sum", options={"distinct": "true"})],
            "/columns/1/aggregate/options/distinct",
            "true",
            "use `distinct`",
        ),
        (
            [column("v", "INT", "sum", options={"aggregate-function": "max"})],
            "/columns/1/aggregate/options/aggregate-function",
            "max",
            "use `function`",
        ),
        (
            [column("v", "INT", "sum", options={"windw": "7"})],
            "/columns/1/aggregate/options/windw",
            "7",
            "no such option",
        ),
        (
            [column("v", ROWS, "nested_update", nested_key=["id", "nope"])],
            "/columns/1/aggregate/nested_key",
            "nope",
            "fields: id, n, t",
        ),
        (
            [column("v", ROWS, "nested_partial_update")],
            "/columns/1/aggregate/nested_key",
            None,
            "which identifies rows",
        ),
        (
            [
                column(
                    "v",
                    "MAP<INT, ROW<x INT, t STRING>>",
                    "merge_map_with_keytime",
                    timestamp_field="at",
                )
            ],
            "/columns/1/aggregate/timestamp_field",
            "at",
            "x, t",
        ),
        (
            [column("v", "INT", "acme.longest")],
            "/columns/1/aggregate/function",
            "acme.longest",
            "no such aggregate function",
        ),
        (
            [column("v", "ARRAY<INT>", "nested_update", nested_key=["a,b"])],
            "/columns/1/aggregate/nested_key/0",
            "a,b",
            "name each field on its own",
        ),
        (
            [column("v", "ARRAY<INT>", "nested_update", nested_sequence=["a", " b"])],
            "/columns/1/aggregate/nested_sequence/1",
            " b",
            "name each field on its own",
        ),
    ],
    ids=lambda value: str(value)[:60],
)
def test_an_invalid_function_is_reported_with_its_location(
    columns: list[dict[str, Any]], pointer: str, value: str | None, expected_text: str
) -> None:
    (problem,) = found(totals(*columns))

    assert (problem.pointer, problem.value) == (pointer, value)
    assert expected_text in f"{problem.message} {problem.hint}"


def test_a_key_has_no_function() -> None:
    columns = [column("id", "BIGINT", "sum"), column("v", "INT", "sum")]

    (problem,) = found(totals(columns=columns))

    assert problem.pointer == "/columns/0/aggregate/function"
    assert "`id` is a key column" in problem.message


@pytest.mark.parametrize("engine", ["deduplicate", "first-row"])
def test_tables_of_whole_rows_have_no_functions(engine: str) -> None:
    table = totals(column("v", "INT", "sum"), merge_engine=engine, default_aggregate="max")

    assert [(problem.pointer, problem.value) for problem in found(table)] == [
        ("/columns/1/aggregate", "sum"),
        ("/default_aggregate", "max"),
    ]


def test_a_default_reaches_declared_columns_only() -> None:
    table = grouped(column("v", "INT"), column("w", "INT", "min"), default_aggregate="max")

    assert found(table) == []
    assert {
        key: value
        for key, value in physical_table(table).options.items()
        if key.endswith("aggregate-function")
    } == {"fields.v.aggregate-function": "max", "fields.w.aggregate-function": "min"}


def test_an_invalid_default_is_reported_at_the_default() -> None:
    (problem,) = found(totals(column("v", "STRING"), default_aggregate="sum"))

    assert (problem.pointer, problem.value) == ("/default_aggregate", "sum")
    assert "column `v` is STRING" in problem.message


def test_a_default_leaves_the_columns_that_order_rows_alone() -> None:
    table = totals(
        column("v", "INT"),
        column("s", "STRING"),
        default_aggregate="sum",
        options={"sequence.field": "s"},
    )

    assert found(table) == []


@pytest.mark.parametrize(
    ("sql", "function"),
    [
        ("INT", "sum"),
        ("DECIMAL(20, 2)", "sum"),
        ("BIGINT", "product"),
        ("DECIMAL(20, 0)", "product"),
        ("DATE", "max"),
        ("DOUBLE", "min"),
        ("BOOLEAN", "bool_or"),
        ("BYTES", "rbm64"),
        ("BYTES", "theta_sketch"),
        ("STRING", "last_value"),  # the group says which is the last
    ],
)
def test_order_free_functions_are_welcome_in_a_group(sql: str, function: str) -> None:
    assert found(grouped(column("v", sql, function))) == []


@pytest.mark.parametrize(
    ("sql", "function", "why", "hint"),
    [
        ("DOUBLE", "sum", "is rounded at each record", "use an integer or, for sums, DECIMAL"),
        ("FLOAT", "product", "is rounded at each record", "use an integer"),
        ("DECIMAL(20, 2)", "product", "is rounded at each record", "use an integer"),
        ("STRING", "listagg", "depends on the order", "choose an order-free function"),
        ("ARRAY<INT>", "collect", "depends on the order", "choose an order-free function"),
        ("INT", "first_value", "depends on the order", "choose an order-free function"),
        ("INT", "last_non_null_value", "depends on the order", "choose an order-free function"),
        ("MAP<INT, INT>", "merge_map", "depends on the order", "choose an order-free function"),
    ],
)
def test_functions_that_depend_on_order_need_a_word_for_it(
    sql: str, function: str, why: str, hint: str
) -> None:
    (problem,) = found(grouped(column("v", sql, function)))

    assert (problem.pointer, problem.value) == ("/columns/2/aggregate/function", function)
    assert why in problem.message
    assert str(problem.hint).startswith(hint)
    assert "`unordered: allowed`" in str(problem.hint)
    assert found(grouped(column("v", sql, function), unordered="allowed")) == []
    assert found(grouped(column("v", sql, function) | {"unordered": "allowed"})) == []


def test_a_function_outside_of_a_group_is_refused_even_where_order_may_matter() -> None:
    table = grouped(column("v", "INT"), unordered="allowed")
    loose = [*(c.model_dump() for c in table.columns), column("w", "INT", "sum")]

    (problem,) = found(
        table.model_copy(
            update={
                "columns": TableSpec.model_validate(
                    {"columns": loose, "primary_key": ["id"]}
                ).columns
            }
        )
    )

    assert (problem.pointer, problem.value) == ("/columns/3/aggregate/function", "sum")
    assert "in no sequence group" in problem.message
