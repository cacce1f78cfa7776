"""Streams of aggregation and first-row tables, single and several."""

from collections.abc import Mapping
from typing import Any

import pytest

from braid.registry.rules.stream_completion import complete_stream
from braid.registry.rules.stream_rules import check_stream
from braid.schemas import FieldProblem, TableSpec
from tests.unit.registry.aggregates import column, totals
from tests.unit.registry.shop import definition, mapped

CLICKS = column("clicks", "BIGINT", "sum")
BUYS = column("buys", "BIGINT", "sum")


def joining(
    table: TableSpec, *columns: str, others: Mapping[str, tuple[str, ...]] | None = None
) -> list[FieldProblem]:
    """All that is wrong with a stream `b` of the columns beside the others."""
    known = {
        name: complete_stream(table, definition(columns=mapped("id", *theirs)), name=name)
        for name, theirs in (others or {}).items()
    }
    spec = complete_stream(table, definition(columns=mapped("id", *columns)), name="b")
    return check_stream(table, known, spec)


def test_one_stream_may_feed_any_aggregation_table() -> None:
    table = totals(
        column("a", "STRING NOT NULL", "listagg"),
        column("b", "INT", "last_value"),
        column("c", "DOUBLE", "sum"),
        column("s", "INT"),
        options={"sequence.field": "s"},
        deletes="remove_row",
    )

    assert joining(table, "a", "b", "c", "s") == []


def test_a_stream_that_names_no_columns_writes_all() -> None:
    table = totals(CLICKS, BUYS)

    assert complete_stream(table, definition(), name="a").column_names == ("id", "clicks", "buys")


@pytest.mark.parametrize(
    ("sql", "function"),
    [
        ("INT", "sum"),
        ("DECIMAL(10, 2)", "sum"),
        ("INT", "product"),
        ("STRING", "max"),
        ("DATE", "min"),
        ("BOOLEAN", "bool_and"),
        ("BOOLEAN", "bool_or"),
        ("BYTES", "rbm32"),
        ("BYTES", "rbm64"),
        ("BYTES", "hll_sketch"),
        ("BYTES", "theta_sketch"),
    ],
)
def test_several_streams_share_a_table_of_order_free_functions(sql: str, function: str) -> None:
    table = totals(CLICKS, column("v", sql, function))

    assert joining(table, "v", others={"a": ("clicks",)}) == []
    assert joining(table, "clicks", others={"a": ("v",)}) == []


@pytest.mark.parametrize(
    ("sql", "function", "risk"),
    [
        ("DOUBLE", "sum", "its last digits depend on the order"),
        ("STRING", "listagg", "depends on the order in which records arrive"),
        ("INT", "first_non_null_value", "depends on the order in which records arrive"),
        ("INT", None, "result of `last_non_null_value` depends on the order"),
        ("ARRAY<INT>", "collect", "depends on the order in which records arrive"),
    ],
)
def test_functions_that_depend_on_order_take_one_stream_or_the_risk(
    sql: str, function: str | None, risk: str
) -> None:
    table = totals(CLICKS, column("v", sql, function))
    theirs = {"a": ("clicks",)}

    (problem,) = joining(table, "v", others=theirs)

    assert (problem.pointer, problem.value) == ("/columns/1/column", "v")
    assert risk in problem.message
    assert "`unordered: allowed`" in str(problem.hint)
    (problem,) = joining(table, "clicks", others={"a": ("v",)})
    assert (problem.pointer, problem.value) == ("/name", "v")
    allowed = totals(CLICKS, column("v", sql, function), unordered="allowed")
    assert joining(allowed, "v", others=theirs) == []
    alone = totals(CLICKS, column("v", sql, function) | {"unordered": "allowed"})
    assert joining(alone, "v", others=theirs) == []


@pytest.mark.parametrize("unordered", ["refused", "allowed"])
@pytest.mark.parametrize("function", ["last_value", "first_value"])
def test_functions_for_which_nulls_count_take_one_stream(function: str, unordered: str) -> None:
    table = totals(CLICKS, column("v", "INT", function), unordered=unordered)

    (problem,) = joining(table, "v", others={"a": ("clicks",)})

    assert (problem.pointer, problem.value) == ("/columns/1/column", "v")
    assert f"`{function}` of `v` treats nulls as values" in problem.message
    assert "a sequence group for each stream" in str(problem.hint)


@pytest.mark.parametrize(
    ("columns", "changes", "mine", "expected", "expected_text"),
    [
        (
            [CLICKS, BUYS],
            {},
            ("clicks",),
            [("/columns/1/column", "clicks")],
            "the stream `a` writes this column already",
        ),
        (
            [CLICKS, column("buys", "BIGINT NOT NULL", "sum")],
            {},
            ("buys",),
            [("/columns/1/column", "buys")],
            "the records of the other streams have no value for it",
        ),
        (
            [CLICKS, BUYS],
            {"deletes": "remove_row"},
            ("buys",),
            [("/name", "b")],
            "removes what other streams wrote",
        ),
        (
            [CLICKS, column("buys", "INT", "product")],
            {"deletes": "clear_columns"},
            ("buys",),
            [("/columns/1/column", "buys")],
            "the value of `product` of `buys` after a delete",
        ),
    ],
    ids=["two-owners", "not-null", "remove-row", "taken-back"],
)
def test_what_several_streams_cannot_have_is_reported(
    columns: list[dict[str, Any]],
    changes: dict[str, Any],
    mine: tuple[str, ...],
    expected: list[tuple[str, str]],
    expected_text: str,
) -> None:
    table = totals(*columns, **changes)

    problems = joining(table, *mine, others={"a": ("clicks",)})

    assert [(problem.pointer, problem.value) for problem in problems] == expected
    assert expected_text in problems[0].message


def test_sums_are_taken_back_in_any_order() -> None:
    table = totals(CLICKS, BUYS, deletes="clear_columns")

    assert joining(table, "buys", others={"a": ("clicks",)}) == []


def test_rows_ordered_whole_take_one_stream() -> None:
    table = totals(CLICKS, BUYS, column("s", "INT"), options={"sequence.field": "s"})

    problems = joining(table, "buys", "s", others={"a": ("clicks", "s")})

    assert ("/columns/2/column", "s") in [(p.pointer, p.value) for p in problems]
    assert any("`sequence.field` orders whole rows by `s`" in p.message for p in problems)


@pytest.mark.parametrize(
    ("column_type", "options", "missing"),
    [("INT NOT NULL", {}, "v"), ("INT", {"sequence.field": "v"}, "v")],
    ids=["not-null", "sequence-field"],
)
@pytest.mark.parametrize("engine", ["aggregation", "deduplicate"])
def test_a_stream_maps_what_every_record_needs(
    engine: str, column_type: str, options: dict[str, str], missing: str
) -> None:
    table = totals(column("v", column_type), merge_engine=engine, options=options)

    (problem,) = joining(table)

    assert (problem.pointer, problem.value) == ("/columns", missing)


@pytest.mark.parametrize("engine", ["deduplicate", "first-row"])
def test_tables_of_whole_rows_take_one_stream(engine: str) -> None:
    table = totals(column("v", "INT"), merge_engine=engine)

    assert joining(table, "v") == []
    (problem,) = joining(table, "v", others={"a": ("v",)})
    assert (problem.pointer, problem.value) == ("/name", "b")
    assert f"a {engine} table takes only one stream, and already has `a`" in problem.message


@pytest.mark.parametrize("engine", ["aggregation", "first-row"])
def test_only_partial_update_has_sequence_groups(engine: str) -> None:
    table = totals(column("v", "INT"), merge_engine=engine)
    spec = complete_stream(table, definition(sequence_group="sales"), name="b")

    (problem,) = check_stream(table, {}, spec)

    assert (problem.pointer, problem.value) == ("/sequence_group", "sales")


def test_rows_that_say_their_kind_get_it_from_the_stream() -> None:
    table = totals(
        column("v", "INT"),
        column("kind", "STRING"),
        merge_engine="deduplicate",
        options={"rowkind.field": "kind"},
    )

    assert joining(table, "v", "kind") == []
    (problem,) = joining(table, "v")
    assert (problem.pointer, problem.value) == ("/columns", "kind")
