"""What a stream may read from headers, timestamps and the places of its records."""

from typing import Any

import pytest

from braid.registry.rules.arrival_rules import (
    is_keyed,
    is_ordered_by_arrival_alone,
    needs_keyed_partitions,
)
from braid.registry.rules.stream_completion import complete_stream
from braid.registry.rules.stream_rules import check_stream
from braid.registry.rules.tables.table_rules import check_table
from braid.schemas import StreamDefinition, StreamSpec, TableSpec

TYPES = {
    "id": "BIGINT",
    "shop": "STRING",
    "at": "TIMESTAMP(3)",
    "moment": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    "ms": "BIGINT",
    "part": "INT",
    "place": "BIGINT",
    "origin": "VARCHAR(6)",
    "trace": "BYTES",
    "price": "INT",
}
SOURCES: dict[str, dict[str, Any]] = {
    "id": {"source": "key"},
    "shop": {"source": "header"},
    "at": {"source": "timestamp"},
    "moment": {"source": "timestamp"},
    "ms": {"source": "timestamp"},
    "part": {"source": "partition"},
    "place": {"source": "offset"},
    "origin": {"source": "topic"},
    "trace": {"source": "header", "path": "$.trace[0]..id"},
    "price": {},
}


def declared(**table: Any) -> TableSpec:
    columns = [{"name": name, "type": sql} for name, sql in TYPES.items()]
    spec = TableSpec.model_validate({"columns": columns, "primary_key": ["id"]} | table)
    assert list(check_table("db", "t", spec)) == []
    return spec


def grouped(*ordering: str, **table: Any) -> TableSpec:
    """Return the table with all columns in one group."""
    key = table.get("primary_key", ["id"])
    protected = [name for name in TYPES if name not in (*key, *ordering)]
    group = {"name": "s", "ordering": list(ordering) or None, "columns": protected}
    return declared(**{"sequence_groups": [group], **table})


def stream(table: TableSpec, changes: dict[str, Any] | None = None, **fields: Any) -> StreamSpec:
    columns = [
        {"column": name} | source | (changes or {}).get(name, {})
        for name, source in SOURCES.items()
    ]
    definition = StreamDefinition.model_validate({"topic": "prices", "columns": columns} | fields)
    return complete_stream(table, definition, name="s")


WHOLE: dict[str, Any] = {"merge_engine": "deduplicate"}
CLEARED: dict[str, Any] = {"deletes": "clear_columns"}


@pytest.mark.parametrize(
    ("table", "changes", "fields"),
    [
        pytest.param(grouped(), {}, {}, id="protected columns"),
        pytest.param(grouped("at"), {}, {}, id="ordered by the timestamp"),
        pytest.param(grouped("ms", "shop"), {}, {}, id="ordered by milliseconds and a header"),
        pytest.param(declared(**WHOLE, options={"sequence.field": "at"}), {}, {}, id="whole rows"),
        pytest.param(grouped(primary_key=["shop", "id"]), {}, {}, id="a header in the key"),
        pytest.param(grouped(primary_key=["origin", "id"]), {}, {}, id="the topic in the key"),
        pytest.param(grouped(), {"shop": {"on_missing": "reject"}}, {}, id="a header rejected"),
        pytest.param(
            grouped(), {"price": {"path": "value"}}, {"format": "raw"}, id="beside a raw message"
        ),
        pytest.param(grouped(), {"part": {"path": None}}, {"topic": "t"}, id="a shorter topic"),
        pytest.param(
            grouped("at", "shop", **CLEARED),
            {},
            {"on_tombstone": "clear_columns"},
            id="tombstones ordered by parts",
        ),
        pytest.param(
            grouped("at", primary_key=["id", "shop", "origin"], **CLEARED),
            {},
            {"on_tombstone": "clear_columns"},
            id="tombstones with a header in the key",
        ),
        pytest.param(
            declared(**WHOLE, delete_retention={"seconds": 60, "columns": ["at"]}),
            {},
            {"on_tombstone": "remove_row"},
            id="tombstones with the time of the record",
        ),
    ],
)
def test_parts_fill_columns_and_order_rows(
    table: TableSpec, changes: dict[str, Any], fields: dict[str, Any]
) -> None:
    assert check_stream(table, {}, stream(table, changes, **fields)) == []


@pytest.mark.parametrize(
    ("table", "changes", "fields", "place", "message", "hint"),
    [
        pytest.param(
            grouped(),
            {"price": {"source": "timestamp"}},
            {},
            "column",
            "the timestamp of a record cannot fill a column of type INT",
            "TIMESTAMP(3), with or without LOCAL TIME ZONE, or BIGINT",
            id="timestamp",
        ),
        pytest.param(
            grouped(),
            {"at": {"source": "partition"}},
            {},
            "column",
            "the partition of a record cannot fill a column of type TIMESTAMP(3)",
            "declare the column as INT",
            id="partition",
        ),
        pytest.param(
            grouped(),
            {"part": {"source": "offset"}},
            {},
            "column",
            "the offset of a record cannot fill a column of type INT",
            "declare the column as BIGINT",
            id="offset",
        ),
        pytest.param(
            grouped(),
            {"trace": {"source": "topic", "path": None}},
            {},
            "column",
            "the topic of a record cannot fill a column of type ",
            "declare the column as STRING",
            id="topic",
        ),
        pytest.param(
            grouped(),
            {},
            {"topic": "pricing"},
            "column",
            "the name of the topic, `pricing`, does not fit VARCHAR(6)",
            "STRING",
            id="a long topic",
        ),
        pytest.param(
            grouped(),
            {"at": {"path": "ms"}},
            {},
            "path",
            "the timestamp of a record has no fields",
            "leave `path` out",
            id="a path",
        ),
        pytest.param(
            grouped(),
            {"trace": {"path": "x" * 1_001}},
            {},
            "path",
            "at most 1000 characters, this one has 1001",
            "shorter",
            id="a long name",
        ),
        pytest.param(
            grouped(),
            {"at": {"time_format": "epoch_ms"}},
            {},
            "time_format",
            "the timestamp of a record is not a text, so this has no effect",
            "leave it out",
            id="a time format",
        ),
        pytest.param(
            grouped(primary_key=["id", "place"]),
            {},
            {},
            "source",
            "the offset of a record tells records apart, not rows",
            "read key columns from `value`, `key`, `header`, `topic`",
            id="the offset in the key",
        ),
        pytest.param(
            grouped("place"),
            {},
            {},
            "source",
            "the offset of a record does not order records",
            "leave the column out of the ordering",
            id="ordered by the offset",
        ),
        pytest.param(
            declared(**WHOLE, options={"sequence.field": "origin"}),
            {},
            {},
            "source",
            "the topic of a record does not order records",
            "arrival",
            id="ordered by the topic",
        ),
        pytest.param(
            grouped(),
            {"at": {"on_missing": "reject"}},
            {},
            "on_missing",
            "every record has its timestamp",
            "leave it out",
            id="a timestamp that is missing",
        ),
        pytest.param(
            grouped(),
            {"shop": {"on_missing": "keep"}},
            {},
            "on_missing",
            "the table does not declare that `shop` is kept",
            "`keep`",
            id="a header that is kept",
        ),
    ],
)
def test_a_column_that_its_part_cannot_fill_is_refused_with_a_hint(
    table: TableSpec,
    changes: dict[str, Any],
    fields: dict[str, Any],
    place: str,
    message: str,
    hint: str,
) -> None:
    (problem,) = check_stream(table, {}, stream(table, changes, **fields))

    assert (problem.pointer or "").startswith("/columns/")
    assert (problem.pointer or "").endswith(f"/{place}")
    assert message in problem.message
    assert hint in (problem.hint or "")


def test_a_tombstone_still_needs_what_is_read_from_the_value() -> None:
    table = grouped("at", "price", **CLEARED)

    (problem,) = check_stream(table, {}, stream(table, on_tombstone="clear_columns"))

    assert "`price`, which order the records, are read from the value" in problem.message
    assert "`at`" not in problem.message
    assert "by the record's `timestamp` or a `header`" in (problem.hint or "")


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (["id"], True),
        (["origin", "id"], True),
        (["origin"], False),
        (["shop"], False),
        (["shop", "id"], False),
    ],
    ids=str,
)
def test_the_records_of_a_row_are_in_one_partition_if_the_kafka_key_tells_rows_apart(
    key: list[str], expected: bool
) -> None:
    table = grouped(primary_key=key)

    assert is_keyed(table, stream(table, {} if "id" in key else {"id": {"source": "value"}})) is (
        expected
    )


def test_a_declared_time_of_the_record_is_an_order_besides_arrival() -> None:
    by_time, by_arrival = grouped("at"), grouped()

    assert not is_ordered_by_arrival_alone(by_time, stream(by_time))
    assert not needs_keyed_partitions(by_time, stream(by_time))
    assert needs_keyed_partitions(by_arrival, stream(by_arrival))
