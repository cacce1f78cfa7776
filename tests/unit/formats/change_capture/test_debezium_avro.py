"""Debezium's events in Avro have the rows, deletes, orders and placeholders of those in JSON."""

import io
import json
from datetime import datetime, timedelta
from typing import Any

import fastavro
import pytest

from braid.formats.schema_registry.schema_source import SchemaKind
from braid.records.record_reader import ReadRecords
from tests.support.given_schemas import GivenSchemas, framed
from tests.unit.formats.change_capture.given_changes import faults_of, read, rows_of
from tests.unit.formats.change_capture.test_debezium_json import PLACEHOLDER

COLUMNS = {
    "id": "BIGINT",
    "pos": "BYTES",
    "name": "STRING",
    "body": "BYTES",
    "tags": "ARRAY<STRING>",
    "at": "TIMESTAMP(6)",
}
ROW = {
    "type": "record",
    "name": "Value",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"], "default": None},
        {"name": "body", "type": ["null", "bytes"], "default": None},
        {
            "name": "tags",
            "type": ["null", {"type": "array", "items": "string"}],
            "default": None,
        },
        {
            "name": "at",
            "type": ["null", {"type": "long", "connect.name": "io.debezium.time.MicroTimestamp"}],
            "default": None,
        },
    ],
}
SOURCE = {
    "type": "record",
    "name": "Source",
    "fields": [
        {"name": "sequence", "type": ["null", "string"]},
        {"name": "lsn", "type": ["null", "long"]},
        {"name": "table", "type": "string"},
    ],
}
ENVELOPE = {
    "type": "record",
    "name": "Envelope",
    "fields": [
        {"name": "before", "type": ["null", ROW], "default": None},
        {"name": "after", "type": ["null", "Value"], "default": None},
        {"name": "source", "type": SOURCE},
        {"name": "op", "type": "string"},
    ],
}
UNWRAPPED = {
    **ROW,
    "fields": [
        *ROW["fields"],
        {"name": "__op", "type": ["null", "string"]},
        {"name": "__deleted", "type": ["null", "string"]},
        {"name": "__source_sequence", "type": ["null", "string"]},
    ],
}
EXACT, VECTORISED = 1, 50
"""Batches of few messages are decoded one by one."""


def encoded(schema: dict[str, Any], message: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), message)
    return out.getvalue()


def event(op: str, after: Any = None, *, before: Any = None, table: str = "orders") -> bytes:
    source = {"sequence": '["5","10"]', "lsn": 10, "table": table}
    return encoded(ENVELOPE, {"before": before, "after": after, "source": source, "op": op})


def found_in(*messages: bytes | None, times: int = 1, **options: Any) -> ReadRecords:
    avro = {"type": "avro", "schema": json.dumps(ENVELOPE)}
    declared = {"type": "debezium", "database": "postgresql", "messages": avro}
    return read(declared, messages * times, columns=COLUMNS, **options)


@pytest.mark.parametrize("times", [EXACT, VECTORISED])
def test_events_are_upserts_and_deletes_of_their_rows(times: int) -> None:
    row = {"id": 1, "name": "a", "body": b"x", "tags": ["t"], "at": 1_500_000}

    found = found_in(event("r", row), event("d", before={"id": 2}), None, times=times)

    at = datetime.fromisoformat("1970-01-01") + timedelta(seconds=1.5)
    assert found.left_out == times
    assert (
        rows_of(found, "id", "name", "body", "tags", "at")
        == [
            ("+", 1, "a", b"x", ["t"], at),
            ("-", 2, None, None, None, None),
        ]
        * times
    )
    read_at, changed_at = found.columns["pos"].to_pylist()[:2]
    assert read_at < changed_at


@pytest.mark.parametrize("times", [EXACT, VECTORISED])
def test_placeholders_are_missing_fields(times: int) -> None:
    row = {"id": 1, "name": PLACEHOLDER, "body": PLACEHOLDER.encode(), "tags": [PLACEHOLDER]}

    found = found_in(event("u", row), event("u", {"id": 1}), times=times)

    assert {name: mask.to_pylist() for name, mask in found.missing.items()} == {
        "name": [True, False] * times,
        "body": [True, False] * times,
        "tags": [True, False] * times,
        "at": [False, False] * times,
    }
    assert found.columns["name"].null_count == 2 * times


def test_what_changes_no_row_is_refused_in_words() -> None:
    found = found_in(event("t"), event("m"), event("c"), b"\x02")

    reasons = [text.partition(":")[0] for text in faults_of(found).values()]
    assert reasons == ["truncate", "malformed", "missing_key", "malformed"]


def test_conditions_and_parts_are_fields_of_the_event() -> None:
    columns = {"id": "BIGINT", "pos": "BYTES", "lsn": "BIGINT"}
    avro = {"type": "avro", "schema": json.dumps(ENVELOPE)}
    declared = {"type": "debezium", "database": "postgresql", "messages": avro}
    messages = [event("c", {"id": 1}), event("t", table="other")]

    found = read(
        declared,
        messages,
        columns=columns,
        sources={"lsn": {"source": "change", "path": "source.lsn"}},
        where="source.table = 'orders'",
    )

    assert found.left_out == 1
    assert rows_of(found, "id", "lsn") == [("+", 1, 10)]


def test_fields_that_only_the_row_has_are_new_fields() -> None:
    avro = {"type": "avro", "schema": json.dumps(ENVELOPE)}
    declared = {"type": "debezium", "database": "mysql", "messages": avro}
    columns = {"id": "BIGINT", "name": "STRING"}

    found = read(declared, [event("c", {"id": 1})], columns=columns, on_new_field="reject")

    assert faults_of(found) == {
        0: "new_field: the record has fields that the stream does not declare: body, tags, at"
    }


def test_messages_may_name_their_schemas_by_id() -> None:
    schemas = GivenSchemas({7: SchemaKind.AVRO}, text=json.dumps(ENVELOPE))
    avro = {"type": "avro", "schema_registry": "shop"}
    declared = {"type": "debezium", "database": "postgresql", "messages": avro}
    messages = [framed(7, event("c", {"id": 1})), framed(8, event("c", {"id": 1})), None]

    found = read(declared, messages, columns=COLUMNS, schemas=schemas)

    assert rows_of(found, "id") == [("+", 1)]
    assert [text.partition(":")[0] for text in faults_of(found).values()] == ["malformed"]


def test_unwrapped_events_are_rows_with_marks() -> None:
    avro = {"type": "avro", "schema": json.dumps(UNWRAPPED)}
    declared = {
        "type": "debezium",
        "database": "postgresql",
        "messages": avro,
        "unwrapped": True,
    }
    marks = {"__op": "u", "__deleted": "false", "__source_sequence": '["5","10"]'}
    messages = [
        encoded(UNWRAPPED, {"id": 1, "name": PLACEHOLDER} | marks),
        encoded(UNWRAPPED, {"id": 2} | marks | {"__deleted": "true"}),
    ]

    found = read(declared, messages, columns=COLUMNS, on_new_field="reject")

    assert rows_of(found, "id", "name") == [("+", 1, None), ("-", 2, None)]
    assert found.missing["name"].to_pylist() == [True, False]
