"""Streams that could harm others are refused, each with location and hint."""

from typing import Any

import pytest

from braid.registry.rules.stream_completion import complete_stream
from braid.registry.rules.stream_rules import check_stream
from braid.schemas import FieldProblem, StreamSpec, TableSpec
from tests.unit.registry.shop import ORDERS, definition, mapped, orders

KEY = ("id", "region")
SALES = (*KEY, "total", "currency", "order_version")


def registered(table: TableSpec, **streams: dict[str, Any]) -> dict[str, StreamSpec]:
    """Streams by name, completed."""
    return {
        name: complete_stream(table, definition(**fields), name=name)
        for name, fields in streams.items()
    }


def problems_of(
    name: str,
    fields: dict[str, Any] | None = None,
    *,
    table: TableSpec | None = None,
    others: dict[str, dict[str, Any]] | None = None,
) -> list[FieldProblem]:
    """All that is wrong with one more stream of the table."""
    table = table or orders()
    spec = complete_stream(table, definition(**(fields or {})), name=name)
    return check_stream(table, registered(table, **(others or {})), spec)


def places(problems: list[FieldProblem]) -> list[tuple[str | None, str | None]]:
    return [(problem.pointer, problem.value) for problem in problems]


def test_streams_that_own_a_group_each_are_fine_side_by_side() -> None:
    others = {"sales": {"topic": "s"}, "payments": {"topic": "p"}}

    assert problems_of("shipping", {"topic": "t"}, others=others) == []


def test_two_streams_may_read_one_topic() -> None:
    assert problems_of("payments", others={"sales": {}}) == []


def test_two_streams_of_a_topic_do_not_overwrite_each_others_mirror() -> None:
    given = {"topic": "t", "mirror_consumer_group": "braid.t"}

    found = problems_of("payments", given, others={"sales": given})

    assert places(found) == [("/mirror_consumer_group", "braid.t")]
    assert problems_of("payments", given, others={"sales": {**given, "topic": "u"}}) == []
    assert problems_of("sales", given, others={"sales": given}) == []


def test_a_stream_is_not_compared_with_what_it_replaces() -> None:
    assert problems_of("sales", {"trigger_ms": 100}, others={"sales": {}}) == []


@pytest.mark.parametrize(
    ("name", "fields", "expected"),
    [
        pytest.param(
            "sales",
            {"columns": mapped(*SALES, "discount")},
            [("/columns/5/column", "discount")],
            id="unknown-column",
        ),
        pytest.param(
            "sales",
            {"columns": mapped("id", "total", "currency", "order_version")},
            [("/columns", "region")],
            id="key-column-not-mapped",
        ),
        pytest.param(
            "sales",
            {"columns": mapped(*KEY, "total", "order_version")},
            [("/columns", "currency")],
            id="part-of-a-group",
        ),
        pytest.param(
            "sales",
            {"columns": mapped(*KEY, "total", "currency")},
            [("/columns", "order_version")],
            id="ordering-column-not-mapped",
        ),
        pytest.param(
            "sales",
            {"columns": mapped(*SALES, "paid")},
            [("/columns/5/column", "paid")],
            id="column-of-another-group",
        ),
        pytest.param(
            "sales",
            {"columns": mapped(*SALES, "total")},
            [("/columns/5/column", "total")],
            id="column-mapped-twice",
        ),
        pytest.param(
            "payments",
            {"columns": mapped(*KEY, "paid", "method", "payments__offset")},
            [("/columns/4/column", "payments__offset")],
            id="generated-column",
        ),
        pytest.param(
            "returns",
            {"sequence_group": "return"},
            [("/sequence_group", "return")],
            id="unknown-group",
        ),
        pytest.param("returns", {}, [("/sequence_group", None)], id="no-group"),
        pytest.param(
            "sales!",
            {"sequence_group": "sales"},
            [("/name", "sales!")],
            id="name-that-is-no-name",
        ),
        pytest.param(
            "sales",
            {"topic": "a b"},
            [("/topic", "a b"), ("/dead_letter_topic", "a b.dead-letters")],
            id="topic-that-is-no-topic",
        ),
        pytest.param(
            "sales",
            {"dead_letter_topic": "orders"},
            [("/dead_letter_topic", "orders")],
            id="dead-letters-to-itself",
        ),
        pytest.param(
            "sales",
            {
                "columns": [
                    *mapped(*KEY, "total", "order_version"),
                    {"column": "currency", "path": "a..b"},
                ]
            },
            [("/columns/4/path", "a..b")],
            id="path-with-a-gap",
        ),
        pytest.param(
            "sales",
            {
                "columns": [
                    *mapped(*KEY, "total", "order_version"),
                    {"column": "currency", "path": "$.currency"},
                ]
            },
            [("/columns/4/path", "$.currency")],
            id="path-in-jsonpath",
        ),
        pytest.param(
            "sales",
            {
                "columns": [
                    *mapped(*KEY, "total", "order_version"),
                    {"column": "currency", "path": "total.currency"},
                ]
            },
            [("/columns/2/path", "total")],
            id="path-through-a-value",
        ),
        pytest.param(
            "sales",
            {
                "columns": [
                    *mapped(*KEY, "total", "order_version"),
                    {"column": "currency", "path": "total"},
                ]
            },
            [("/columns/4/path", "total")],
            id="path-of-two-types",
        ),
    ],
)
def test_an_invalid_or_harmful_declaration_is_refused_with_its_location(
    name: str, fields: dict[str, Any], expected: list[tuple[str | None, str | None]]
) -> None:
    problems = problems_of(name, fields)

    assert places(problems) == expected
    assert all(problem.hint for problem in problems)


def test_a_group_has_one_owner() -> None:
    (problem,) = problems_of(
        "sales2", {"sequence_group": "sales", "topic": "t"}, others={"sales": {}}
    )

    assert problem.pointer == "/sequence_group"
    assert "the stream `sales` owns" in problem.message
    assert problem.hint is not None
    assert "`payments`, `shipping`" in problem.hint


def test_a_column_of_an_owned_group_names_its_owner() -> None:
    (problem,) = problems_of(
        "sales", {"columns": mapped(*SALES, "paid")}, others={"payments": {"topic": "p"}}
    )

    assert "which the stream `payments` owns" in problem.message


def test_the_name_of_a_stream_differs_from_others_in_more_than_case() -> None:
    (problem,) = problems_of(
        "SALES", {"sequence_group": "payments", "topic": "t"}, others={"sales": {}}
    )

    assert places([problem]) == [("/name", "SALES")]


def test_no_stream_reads_the_dead_letters_of_another_one() -> None:
    others = {"sales": {"topic": "s"}}

    read = problems_of("payments", {"topic": "s.dead-letters"}, others=others)
    written = problems_of("payments", {"topic": "p", "dead_letter_topic": "s"}, others=others)

    assert places(read) == [("/topic", "s.dead-letters")]
    assert places(written) == [("/dead_letter_topic", "s")]


def test_a_deduplicate_table_takes_one_stream_and_no_group() -> None:
    table = orders(merge_engine="deduplicate", sequence_groups=[])

    assert problems_of("all", table=table) == []
    problems = problems_of("more", {"sequence_group": "g"}, table=table, others={"all": {}})
    assert places(problems) == [("/name", "more"), ("/sequence_group", "g")]


def test_the_stream_of_a_deduplicate_table_writes_what_orders_the_rows() -> None:
    table = orders(
        merge_engine="deduplicate",
        sequence_groups=[],
        options={"sequence.field": "order_version"},
    )

    problems = problems_of("all", {"columns": mapped(*KEY, "total")}, table=table)

    assert places(problems) == [("/columns", "order_version")]


def test_an_unordered_column_has_one_owner_where_the_table_allows_it() -> None:
    table = orders(sequence_groups=[], unordered="allowed")
    fields = {"columns": mapped(*KEY, "carrier"), "topic": "t"}

    assert problems_of("a", fields, table=table) == []
    problems = problems_of("b", fields, table=table, others={"a": fields})
    assert places(problems) == [("/columns/2/column", "carrier")]


def test_a_stream_writes_no_column_without_a_group_but_those_that_may_be_unordered() -> None:
    names = [column["name"] for column in ORDERS["columns"]]
    allowed = names.index("carrier")
    columns = [*ORDERS["columns"]]
    columns[allowed] = columns[allowed] | {"unordered": "allowed"}
    table = orders(sequence_groups=[], columns=columns)
    fields = {"columns": mapped(*KEY, "carrier"), "topic": "t"}

    assert problems_of("a", fields, table=table) == []
    assert complete_stream(table, definition(topic="t"), name="a").column_names == (*KEY, "carrier")
    problems = problems_of("b", fields, table=table, others={"a": fields})
    assert places(problems) == [("/columns/2/column", "carrier")]
    others = {"columns": mapped(*KEY, "carrier", "total"), "topic": "t"}
    assert places(problems_of("a", others, table=table)) == [("/columns/3/column", "total")]


def test_a_column_that_json_cannot_fill_is_refused() -> None:
    columns = [*ORDERS["columns"]]
    columns[7] = {"name": "carrier", "type": "MAP<INT, STRING>"}

    problems = problems_of("shipping", table=orders(columns=columns))

    assert places(problems) == [("/columns/2/column", "carrier")]
