"""Streams of every format: values of all types come through Kafka and Spark as they were sent, bad records stay out."""

import csv
import datetime as dt
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pytest
from pyspark.sql import SparkSession

from braid.demo.broker import KafkaBroker
from braid.lake import BatchAccount, SystemClock
from braid.schemas import TableDocument, TableSpec
from braid.service.control.row_lookup import LookedUp, find_row_status
from braid.service.control.row_status import StatusRules
from tests.integration.ingest_bed import IngestBed
from tests.unit.formats.protobuf.orders import NAME, order_set, order_type

pytestmark = [pytest.mark.integration, pytest.mark.spark]

COLUMNS = {
    "id": "BIGINT",
    "flag": "BOOLEAN",
    "tiny": "TINYINT",
    "real": "DOUBLE",
    "price": "DECIMAL(20, 4)",
    "name": "VARCHAR(40)",
    "bytes": "VARBINARY(10)",
    "day": "DATE",
    "time": "TIME(3)",
    "at": "TIMESTAMP(6)",
    "moment": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "list": "ARRAY<INT>",
    "version": "INT",
}
TEXTS = {
    "id": "7",
    "flag": "true",
    "tiny": "-128",
    "real": "0.1",
    "price": "1234567890123456.7891",
    "name": 'a "quoted", name\nof two lines',
    "bytes": "aGk=",
    "day": "2026-01-02",
    "time": "03:04:05.678",
    "at": "2026-01-02T03:04:05.678901",
    "moment": "2026-01-02T05:04:05.678+02:00",
    "list": "[1, null, 3]",
    "version": "1",
}
ROW = {
    "id": 7,
    "flag": True,
    "tiny": -128,
    "real": 0.1,
    "price": Decimal("1234567890123456.7891"),
    "name": 'a "quoted", name\nof two lines',
    "bytes": b"hi",
    "day": dt.date(2026, 1, 2),
    "time": dt.time(3, 4, 5, 678_000),
    "at": dt.datetime.fromisoformat("2026-01-02T03:04:05.678901"),
    "moment": dt.datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=dt.UTC),
    "list": [1, None, 3],
    "version": 1,
}


def _bed(
    kafka: KafkaBroker,
    session: SparkSession,
    directory: Path,
    columns: dict[str, str],
    **table: Any,
) -> IngestBed:
    declared = {
        "columns": [{"name": name, "type": sql} for name, sql in columns.items()],
        "primary_key": ["id"],
        "buckets": 2,
        **table,
    }
    return IngestBed(
        broker=kafka,
        session=session,
        directory=directory,
        spec=TableSpec.model_validate(declared),
    )


def _line(texts: dict[str, str]) -> bytes:
    line = io.StringIO()
    csv.writer(line, delimiter=";").writerow(texts.get(name, "") for name in COLUMNS)
    return line.getvalue().encode()


def test_lines_of_csv_become_rows(
    kafka: KafkaBroker, session: SparkSession, tmp_path: Path
) -> None:
    group = {"name": "s", "ordering": ["version"], "columns": [*COLUMNS][1:-1]}
    bed = _bed(kafka, session, tmp_path, COLUMNS, sequence_groups=[group])
    topic = bed.topic("csv")
    bad = [b"1;2", _line({**TEXTS, "id": "8", "day": "tomorrow"}), b"\xff", None]
    nulls = _line({"id": "9", "version": "1"})
    bed.produce(topic, [_line(TEXTS), *bad, nulls])
    format_ = {"type": "csv", "fields": [*COLUMNS], "delimiter": ";"}

    bed.ingest_available(bed.plan("s", topic=topic, format=format_))

    first, second = bed.rows(*[*COLUMNS][1:])
    assert first == ROW
    assert second == {**dict.fromkeys(COLUMNS), "id": 9, "version": 1}
    assert bed.position("s").account == BatchAccount(accepted=2, dead_lettered=4)
    letters = {letter.value for letter in bed.records(f"{topic}.dead-letters")}
    assert letters == set(bad)


AVRO = {
    "type": "record",
    "name": "Row",
    "fields": [
        {"name": "id", "type": "long"},
        *(
            {"name": name, "type": ["null", kind], "default": None}
            for name, kind in {
                "flag": "boolean",
                "tiny": "int",
                "real": "double",
                "price": {
                    "type": "bytes",
                    "logicalType": "decimal",
                    "precision": 20,
                    "scale": 4,
                },
                "name": "string",
                "bytes": "bytes",
                "day": {"type": "int", "logicalType": "date"},
                "time": {"type": "int", "logicalType": "time-millis"},
                "at": {"type": "long", "logicalType": "local-timestamp-micros"},
                "moment": {"type": "long", "logicalType": "timestamp-millis"},
                "list": {"type": "array", "items": ["null", "int"]},
                "version": "int",
            }.items()
        ),
    ],
}


def _avro(row: dict[str, Any]) -> bytes:
    message = io.BytesIO()
    fastavro.schemaless_writer(message, fastavro.parse_schema(AVRO), row)
    return message.getvalue()


def test_records_of_avro_become_rows(
    kafka: KafkaBroker, session: SparkSession, tmp_path: Path
) -> None:
    group = {"name": "s", "ordering": ["version"], "columns": [*COLUMNS][1:-1]}
    bed = _bed(kafka, session, tmp_path, COLUMNS, sequence_groups=[group])
    topic = bed.topic("avro")
    bad = [b"", _avro(ROW)[:-1], _avro({"id": 8, "tiny": 128, "version": 1}), b"\xff" * 30, None]
    good = [_avro({"id": number, "version": 1}) for number in range(9, 49)]
    bed.produce(topic, [_avro(ROW), *bad, *good])
    format_ = {"type": "avro", "schema": json.dumps(AVRO)}

    bed.ingest_available(bed.plan("s", topic=topic, format=format_))

    first, *others = bed.rows(*[*COLUMNS][1:])
    assert first == ROW
    nulls = dict.fromkeys(COLUMNS)
    assert others == [{**nulls, "id": number, "version": 1} for number in range(9, 49)]
    assert bed.position("s").account == BatchAccount(accepted=41, dead_lettered=5)
    letters = {letter.value for letter in bed.records(f"{topic}.dead-letters")}
    assert letters == set(bad)


def test_messages_of_protobuf_become_rows(
    kafka: KafkaBroker, session: SparkSession, tmp_path: Path
) -> None:
    columns = {
        "id": "BIGINT",
        "state": "STRING",
        "total": "DECIMAL(20, 0)",
        "body": "BYTES",
        "at": "TIMESTAMP(6)",
        "note": "STRING",
        "article": "BIGINT",
        "items": "ARRAY<ROW<article BIGINT>>",
        "texts": "MAP<STRING, STRING>",
        "share": "BIGINT",
        "shop": "STRING",
        "maybe": "INT",
    }
    owned = [*columns][1:]
    group = {"name": "s", "columns": owned}
    bed = _bed(kafka, session, tmp_path, columns, sequence_groups=[group])
    topic = bed.topic("protobuf")
    order: Any = order_type().message_class
    full = order(
        f_int64=1,
        state=1,
        f_uint64=2**64 - 1,
        f_bytes=b"\0\xff",
        at={"seconds": 1, "nanos": 500_000},
        note={"value": "n"},
        item={"article": 3},
        items=[{"article": 4}, {}],
        texts={"k": "v"},
        maybe=5,
    )
    bad = [b"\xff", full.SerializeToString()[:-1], order(f_int64=3, f_uint64=1).SerializeToString()]
    bad[2] += order(at={"seconds": 2**50}).SerializeToString()
    # An expression fails for the last one.
    bad.append(order(f_int64=4, item={"article": 0}).SerializeToString())
    values = [full.SerializeToString(), *bad, order(f_int64=2).SerializeToString()]
    bed.produce(topic, values, partition=0)
    paths = {"id": "f_int64", "total": "f_uint64", "body": "f_bytes", "article": "item.article"}
    plan = bed.plan(
        "s",
        topic=topic,
        format={"type": "protobuf", "descriptor_set": order_set(), "message": NAME},
        partitioned_by_key=True,
        columns=[
            *({"column": name, "path": paths.get(name, name)} for name in [*columns][:-3]),
            {"column": "share", "expression": "6 // item.article"},
            {"column": "shop", "constant": "web"},
            {"column": "maybe", "default": -1},
        ],
    )

    bed.ingest_available(plan)

    first, second = bed.rows(*owned)
    assert first == {
        "id": 1,
        "state": "PAID",
        "total": Decimal(2**64 - 1),
        "body": b"\0\xff",
        "at": dt.datetime.fromisoformat("1970-01-01T00:00:01.000500"),
        "note": "n",
        "article": 3,
        "items": [{"article": 4}, {"article": 0}],
        "texts": [("k", "v")],
        "share": 2,
        "shop": "web",
        "maybe": 5,
    }
    assert second == {
        **dict.fromkeys(columns),
        "id": 2,
        "state": "NEW",
        "total": 0,
        "body": b"",
        "items": [],
        "texts": [],
        "shop": "web",
        "maybe": -1,
    }
    assert bed.position("s").account == BatchAccount(accepted=2, dead_lettered=4)
    letters = [letter.value for letter in bed.records(f"{topic}.dead-letters")]
    assert sorted(letters) == sorted(bad)


def test_raw_messages_are_rows_with_the_parts_of_their_records(
    kafka: KafkaBroker, session: SparkSession, tmp_path: Path
) -> None:
    columns = {
        "id": "STRING",
        "sent": "TIMESTAMP(3)",
        "body": "BYTES",
        "shop": "INT",
        "part": "INT",
        "place": "BIGINT",
        "origin": "STRING",
    }
    group = {"name": "s", "ordering": ["sent"], "columns": [*columns][2:]}
    bed = _bed(kafka, session, tmp_path, columns, sequence_groups=[group], deletes="clear_columns")
    # The broker keeps records of 1970.
    topic = bed.topic("raw", configs={"retention.ms": "-1"})
    # The key, the value, the seconds of the time, and the last header.
    records: list[tuple[bytes, bytes | None, int, bytes]] = [
        (b"a", b"\x00\xff", 2, b"7"),
        (b"b", b"{", 2, b"8"),
        (b"c", b"gone", 2, b"9"),
        (b"a", b"older", 1, b"9"),
        (b"b", None, 1, b""),
        (b"c", None, 3, b""),
        (b"\xff", b"x", 4, b"1"),
        (b"d", b"y", 4, b"one"),
    ]
    bed.produce(
        topic,
        [value for _, value, _, _ in records],
        keys=[key for key, _, _, _ in records],
        partition=1,
        headers=[[("x-shop", b"first"), ("x-shop", last)] for _, _, _, last in records],
        timestamps_ms=[seconds * 1_000 for _, _, seconds, _ in records],
    )
    sources: dict[str, dict[str, str]] = {
        "id": {"source": "key"},
        "sent": {"source": "timestamp"},
        "body": {"path": "value"},
        "shop": {"source": "header", "path": "x-shop"},
        "part": {"source": "partition"},
        "place": {"source": "offset"},
        "origin": {"source": "topic"},
    }
    plan = bed.plan(
        "s",
        topic=topic,
        format="raw",
        columns=[{"column": name, **source} for name, source in sources.items()],
        on_tombstone="clear_columns",
    )

    bed.ingest_available(plan)

    second = dt.datetime.fromisoformat("1970-01-01T00:00:02")
    place = {"sent": second, "part": 1, "origin": topic}
    assert bed.rows(*[*columns][1:]) == [
        {"id": "a", "body": b"\x00\xff", "shop": 7, "place": 0, **place},
        {"id": "b", "body": b"{", "shop": 8, "place": 1, **place},
        {**dict.fromkeys(columns), "id": "c", "sent": second + dt.timedelta(seconds=1)},
    ]
    account = bed.position("s").account
    assert (account.accepted + account.folded, account.dead_lettered) == (6, 2)
    letters = bed.records(f"{topic}.dead-letters")
    assert {letter.key: dict(letter.headers)["braid.reason"] for letter in letters} == {
        b"\xff": b"malformed_key",
        b"d": b"malformed_header",
    }
    assert {letter.value for letter in letters} == {b"x", b"y"}


def test_streams_take_their_records_deletes_and_tombstones_of_one_topic(
    kafka: KafkaBroker, session: SparkSession, tmp_path: Path
) -> None:
    groups = [{"name": "sales", "columns": ["total"]}, {"name": "shipping", "columns": ["carrier"]}]
    columns = {"id": "BIGINT", "total": "INT", "carrier": "STRING"}
    declared = {"sequence_groups": groups, "deletes": "clear_columns"}
    bed = _bed(kafka, session, tmp_path, columns, **declared)
    topic = bed.topic("kinds", partitions=1)
    refused = {"type": "sale", "op": "u", "total": "many"}
    bed.produce(
        topic,
        [
            {"type": "sale", "op": "u", "total": 5},
            {"type": "sale", "op": "u", "total": 6},
            {"type": "parcel", "carrier": "DHL", "total": {"no": "number"}},
            {"type": "sale", "op": "d", "total": "nothing"},
            None,
            {"type": "sale", "op": "u", "total": 7},
            refused,
        ],
        keys=[b"1", b"2", b"1", b"1", b"2", b"3", b"4"],
    )
    key = {"column": "id", "source": "key"}
    sales = bed.plan(
        "sales",
        topic=topic,
        columns=[key, {"column": "total"}],
        where="type = 'sale'",
        delete_when="op = 'd'",
        on_tombstone="clear_columns",
    )
    parcels = bed.plan(
        "shipping",
        topic=topic,
        columns=[key, {"column": "carrier"}],
        where="type = 'parcel'",
        on_tombstone="ignore",
    )

    for plan in (sales, parcels):
        bed.ingest_available(plan)

    assert bed.rows("total", "carrier") == [
        {"id": 1, "total": None, "carrier": "DHL"},
        {"id": 2, "total": None, "carrier": None},
        {"id": 3, "total": 7, "carrier": None},
    ]
    assert bed.position("sales").account == BatchAccount(
        accepted=3, folded=2, ignored=1, dead_lettered=1
    )
    assert bed.position("shipping").account == BatchAccount(accepted=1, ignored=6)
    (letter,) = bed.records(f"{topic}.dead-letters")
    assert (letter.key, letter.value) == (b"4", json.dumps(refused).encode())
    document = TableDocument(database="db", name="wide", table=bed.spec)
    lookup = bed.table().lookup_at()
    at = LookedUp(lookup=lookup, verified_ms=SystemClock().now_ms(), write_row=dict)
    rules = StatusRules(document, lookup.schema)
    states = {
        number: [
            group.state for group in find_row_status(at, rules, {"id": number}).groups.values()
        ]
        for number in (1, 2, 3)
    }
    assert states == {
        1: ["deleted", "present"],
        2: ["deleted", "absent"],
        3: ["present", "absent"],
    }


def test_a_row_keeps_what_newer_records_leave_out(
    kafka: KafkaBroker, session: SparkSession, tmp_path: Path
) -> None:
    group = {
        "name": "s",
        "ordering": ["version"],
        "columns": ["carrier", "note"],
        "keep": ["note"],
    }
    columns = {"id": "BIGINT", "version": "INT", "carrier": "STRING", "note": "STRING"}
    declared = {"sequence_groups": [group], "deletes": "clear_columns"}
    bed = _bed(kafka, session, tmp_path, columns, **declared)
    topic = bed.topic("kept", partitions=1)
    plan = bed.plan(
        "s",
        topic=topic,
        columns=[
            *({"column": name} for name in ("id", "version", "note")),
            {"column": "carrier", "on_missing": "reject"},
        ],
        delete_when="gone = TRUE",
    )
    first: list[dict[str, Any]] = [
        {"id": 1, "version": 3, "carrier": "UPS"},
        {"id": 2, "version": 1, "carrier": "UPS", "note": "fragile"},
        {"id": 3, "version": 1, "carrier": "UPS", "note": "fragile"},
        {"id": 4, "version": 1, "note": "no carrier"},
    ]
    later: list[dict[str, Any]] = [
        {"id": 1, "version": 2, "carrier": "DHL", "note": "late"},
        {"id": 2, "version": 2, "carrier": "DHL", "note": None},
        {"id": 3, "version": 2, "gone": True},
        {"id": 3, "version": 3, "carrier": "DHL"},
    ]

    for messages in (first, later):
        bed.produce(topic, messages)
        bed.ingest_available(plan)

    expected = [
        {"id": 1, "carrier": "UPS", "note": "late"},
        {"id": 2, "carrier": "DHL", "note": None},
        {"id": 3, "carrier": "DHL", "note": None},
    ]
    assert bed.rows("carrier", "note") == expected
    bed.table().compact(full=True)
    assert bed.rows("carrier", "note") == expected
    (letter,) = bed.records(f"{topic}.dead-letters")
    assert letter.value == json.dumps(first[3]).encode()
    assert dict(letter.headers)["braid.reason"] == b"missing_field"


def test_times_in_declared_forms(kafka: KafkaBroker, session: SparkSession, tmp_path: Path) -> None:
    columns = {name: COLUMNS[name] for name in ("id", "day", "time", "at", "moment", "version")}
    group = {"name": "s", "ordering": ["version"], "columns": ["day", "time", "at", "moment"]}
    bed = _bed(kafka, session, tmp_path, columns, sequence_groups=[group])
    topic = bed.topic("times")
    times = {
        "day": "02.01.2026",
        "time": 11_045.678,
        "at": 1_767_323_045_678_901,
        "moment": "2 Jan 2026 04:04:05.678",
    }
    rows = [{"id": 7, "version": 1, **times}, {"id": 8, "version": 1}]
    bad = [
        json.dumps({"id": 9, "version": 1, name: value}).encode()
        for name, value in {"day": "2026-01-02", "time": 86_400, "at": "now", "moment": 0}.items()
    ]
    bed.produce(topic, [*(json.dumps(row).encode() for row in rows), *bad])
    forms: dict[str, dict[str, str]] = {
        "day": {"time_format": "dd.MM.yyyy"},
        "time": {"time_format": "epoch_s"},
        "at": {"time_format": "epoch_us"},
        "moment": {"time_format": "d MMM yyyy HH:mm:ss.SSS", "time_zone": "Europe/Berlin"},
    }
    mapped = [{"column": name, **forms.get(name, {})} for name in columns]

    bed.ingest_available(bed.plan("s", topic=topic, columns=mapped))

    first, second = bed.rows(*[*columns][1:])
    assert first == {name: ROW[name] for name in columns}
    assert second == {**dict.fromkeys(columns), "id": 8, "version": 1}
    assert bed.position("s").account == BatchAccount(accepted=2, dead_lettered=4)
    assert {letter.value for letter in bed.records(f"{topic}.dead-letters")} == {*bad}


def _change(op: str, row: dict[str, Any], *, commit: int | None, lsn: int) -> dict[str, Any]:
    sequence = json.dumps([None if commit is None else str(commit), str(lsn)])
    images = {"before": row, "after": None} if op == "d" else {"before": None, "after": row}
    return {**images, "op": op, "source": {"table": "orders", "sequence": sequence, "lsn": lsn}}


def test_captured_changes_become_the_rows_of_their_database(
    kafka: KafkaBroker, session: SparkSession, tmp_path: Path
) -> None:
    columns = {"id": "BIGINT", "position": "BYTES", "state": "STRING", "note": "STRING"}
    group = {
        "name": "s",
        "ordering": ["position"],
        "columns": ["state", "note"],
        "keep": ["state", "note"],
    }
    bed = _bed(kafka, session, tmp_path, columns, sequence_groups=[group], deletes="clear_columns")
    topic = bed.topic("captured", partitions=1)
    plan = bed.plan(
        "s",
        topic=topic,
        format={"type": "debezium", "database": "postgresql"},
        columns=[
            {"column": "position", "source": "change_position"},
            *({"column": name} for name in ("id", "state", "note")),
        ],
        where="source.`table` = 'orders'",
    )
    large = "x" * 3_000
    absent = "__debezium_unavailable_value"
    first: list[Any] = [
        _change("u", {"id": 1, "state": "paid", "note": absent}, commit=110, lsn=120),
        _change("c", {"id": 2, "state": "new", "note": "short"}, commit=120, lsn=130),
        _change("d", {"id": 2, "state": None, "note": None}, commit=130, lsn=140),
        None,
        _change("t", {}, commit=140, lsn=150),
    ]
    later: list[Any] = [
        _change("r", {"id": 1, "state": "new", "note": large}, commit=None, lsn=100),
        _change("c", {"id": 2, "state": "new", "note": "short"}, commit=120, lsn=130),
        {"schema": None, "payload": _change("c", {"id": 3, "state": "new"}, commit=150, lsn=160)},
        None,
    ]

    for messages in (first, later):
        bed.produce(topic, messages)
        bed.ingest_available(plan)

    expected = [
        {"id": 1, "state": "paid", "note": large},
        {"id": 2, "state": None, "note": None},
        {"id": 3, "state": "new", "note": None},
    ]
    assert bed.rows("state", "note") == expected
    bed.table().compact(full=True)
    assert bed.rows("state", "note") == expected
    assert bed.position("s").account == BatchAccount(
        accepted=5, folded=1, ignored=2, dead_lettered=1
    )
    (letter,) = bed.records(f"{topic}.dead-letters")
    assert letter.value == json.dumps(first[4]).encode()
    assert dict(letter.headers)["braid.reason"] == b"truncate"
