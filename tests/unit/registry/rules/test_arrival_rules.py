"""Streams that only arrival orders, and columns that are read from the Kafka key."""

from typing import Any

import pytest

from braid.registry.rules.arrival_rules import (
    is_keyed,
    is_ordered_by_arrival_alone,
    needs_keyed_partitions,
    shows_older_rows,
)
from braid.registry.rules.stream_completion import complete_stream
from braid.registry.rules.stream_rules import check_stream
from braid.schemas import StreamSpec, TableSpec
from tests.unit.registry.shop import definition, orders

WHOLE: dict[str, Any] = {"sequence_groups": []}
SUMS: dict[str, Any] = {
    **WHOLE,
    "merge_engine": "aggregation",
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "region", "type": "STRING"},
        {"name": "paid", "type": "BIGINT", "aggregate": {"function": "sum"}},
        {"name": "note", "type": "STRING"},
    ],
}
KEYED = [
    {"column": "id", "path": "id", "source": "key"},
    {"column": "region", "path": "at.region", "source": "key"},
    {"column": "paid"},
    {"column": "method"},
]


def stream(table: TableSpec, name: str = "payments", **fields: Any) -> StreamSpec:
    return complete_stream(table, definition(**fields), name=name)


@pytest.mark.parametrize(
    ("table", "name", "columns", "expected"),
    [
        pytest.param({}, "payments", None, True, id="a group without ordering"),
        pytest.param({}, "sales", None, False, id="a group with ordering"),
        pytest.param(
            {"unordered": "allowed", "sequence_groups": []}, "any", None, False, id="no group"
        ),
        pytest.param(WHOLE | {"merge_engine": "deduplicate"}, "any", None, True, id="deduplicate"),
        pytest.param(WHOLE | {"merge_engine": "first-row"}, "any", None, True, id="first-row"),
        pytest.param(
            WHOLE | {"merge_engine": "deduplicate", "options": {"sequence.field": "order_version"}},
            "any",
            None,
            False,
            id="deduplicate with a sequence field",
        ),
        pytest.param(SUMS, "any", ["id", "region", "paid"], False, id="sums alone"),
        pytest.param(SUMS, "any", None, True, id="sums beside a last value"),
    ],
)
def test_what_arrival_alone_orders(
    table: dict[str, Any], name: str, columns: list[str] | None, expected: bool
) -> None:
    spec = orders(**table)
    given = {} if columns is None else {"columns": [{"column": column} for column in columns]}

    assert is_ordered_by_arrival_alone(spec, stream(spec, name, **given)) is expected


@pytest.mark.parametrize(
    ("table", "fields", "expected"),
    [
        pytest.param({}, {}, False, id="a group without ordering"),
        pytest.param({}, {"on_tombstone": "remove_row"}, True, id="deletes remove rows"),
        pytest.param(
            WHOLE | {"unordered": "allowed"}, {}, True, id="partial update without a group"
        ),
        pytest.param(WHOLE | {"merge_engine": "deduplicate"}, {}, True, id="deduplicate"),
        pytest.param(
            WHOLE | {"merge_engine": "deduplicate", "options": {"sequence.field": "order_version"}},
            {},
            True,
            id="deduplicate with a sequence field",
        ),
        pytest.param(WHOLE | {"merge_engine": "first-row"}, {}, False, id="first-row"),
        pytest.param(SUMS, {"columns": [{"column": "paid"}]}, False, id="sums alone"),
        pytest.param(SUMS, {}, True, id="sums beside a last value"),
        pytest.param(
            SUMS | {"options": {"sequence.field": "id"}}, {}, True, id="a last value by sequence"
        ),
    ],
)
def test_where_rows_are_older_while_a_stream_reads_again(
    table: dict[str, Any], fields: dict[str, Any], expected: bool
) -> None:
    spec = orders(**table)

    assert shows_older_rows(spec, stream(spec, **fields)) is expected


def test_a_stream_is_keyed_by_the_kafka_key_or_by_its_owners_word() -> None:
    table = orders()

    assert not is_keyed(table, stream(table))
    assert not is_keyed(table, stream(table, columns=[KEYED[0], {"column": "region"}, *KEYED[2:]]))
    assert is_keyed(table, stream(table, columns=KEYED))
    assert is_keyed(table, stream(table, partitioned_by_key=True))


def test_a_table_that_allows_any_order_needs_keyed_partitions_only_where_declared() -> None:
    table = orders(unordered="allowed")

    assert not needs_keyed_partitions(table, stream(table))
    assert needs_keyed_partitions(table, stream(table, partitioned_by_key=True))
    assert needs_keyed_partitions(orders(), stream(orders()))


def test_sums_beside_a_value_that_may_be_unordered_need_no_keyed_partitions() -> None:
    refused = orders(**SUMS)
    *others, note = SUMS["columns"]
    table = orders(**SUMS | {"columns": [*others, note | {"unordered": "allowed"}]})

    assert needs_keyed_partitions(refused, stream(refused))
    assert not needs_keyed_partitions(table, stream(table))
    assert needs_keyed_partitions(table, stream(table, partitioned_by_key=True))


@pytest.mark.parametrize(
    ("change", "places"),
    [
        pytest.param({}, [], id="paths in the key"),
        pytest.param({0: {"path": None}}, ["/columns/0/path"], id="the whole key and a part"),
        pytest.param({2: {"source": "key"}}, ["/columns/2/source"], id="not a key column"),
        pytest.param({0: {"path": "at"}}, ["/columns/0/path"], id="an object and what is in it"),
        pytest.param({2: {"path": "at.region"}}, [], id="the same path in the value"),
    ],
)
def test_what_is_read_from_the_kafka_key_is_checked(
    change: dict[int, dict[str, Any]], places: list[str]
) -> None:
    columns = [column | change.get(index, {}) for index, column in enumerate(KEYED)]
    problems = check_stream(orders(), {}, stream(orders(), columns=columns))

    assert [problem.pointer for problem in problems if problem.pointer in places] == places
    assert bool(problems) is bool(places)


def test_a_wait_that_is_no_duration_is_refused() -> None:
    [problem] = check_stream(orders(), {}, stream(orders(), partitions_settle="soon"))

    assert problem.pointer == "/partitions_settle"


def test_columns_that_are_left_out_are_read_where_they_were() -> None:
    table = orders()
    known = stream(table, columns=KEYED)

    again = complete_stream(table, definition(), name="payments", known=known)

    assert {c.column: c for c in again.columns} == {c.column: c for c in known.columns}
