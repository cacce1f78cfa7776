"""Debezium's events in JSON: rows, deletes and faults, with and without schemas around them, wrapped and not."""

import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest

from braid.records.record_reader import ReadRecords
from tests.unit.formats.change_capture.given_changes import faults_of, read, rows_of

POSTGRESQL = {"type": "debezium", "database": "postgresql"}
UNWRAPPED = POSTGRESQL | {"unwrapped": True}
MONGODB = {"type": "debezium", "database": "mongodb"}
PLACEHOLDER = "__debezium_unavailable_value"


def moment(micros: int = 0) -> datetime:
    """Return the time so many microseconds after 1970 began."""
    return datetime.fromisoformat("1970-01-01") + timedelta(microseconds=micros)


def event(
    op: str, after: Any = None, *, before: Any = None, lsn: int = 10, **others: Any
) -> dict[str, Any]:
    source = {"connector": "postgresql", "sequence": json.dumps(["5", str(lsn)]), "lsn": lsn}
    return {"before": before, "after": after, "source": source, "op": op} | others


def enveloped(message: Any, *fields: dict[str, Any]) -> dict[str, Any]:
    """Return an event with a schema around it, of which only the fields of the row are of interest."""
    row = {"type": "struct", "optional": True, "fields": list(fields)}
    images = [row | {"field": "before"}, row | {"field": "after"}]
    return {"schema": {"type": "struct", "fields": images}, "payload": message}


def test_events_are_upserts_and_deletes_of_their_rows() -> None:
    messages = [
        event("r", {"id": 1, "name": "a", "total": "1.50"}),
        event("c", {"id": 2, "name": "b", "total": 2}),
        event("u", {"id": 2, "name": None, "total": 2.5}, before={"id": 2}),
        event("d", before={"id": 1, "name": None, "total": None}),
    ]

    found = read(POSTGRESQL, messages)

    assert rows_of(found, "id", "name", "total") == [
        ("+", 1, "a", Decimal("1.50")),
        ("+", 2, "b", Decimal("2.00")),
        ("+", 2, None, Decimal("2.50")),
        ("-", 1, None, None),
    ]
    assert found.columns["pos"].null_count == 0


def test_an_envelope_is_told_message_by_message() -> None:
    messages = [
        enveloped(event("c", {"id": 1, "name": "a"})),
        event("c", {"id": 2, "name": "b", "payload": {}, "schema": {}}),
        {"schema": None, "payload": event("d", before={"id": 3})},
    ]

    found = read(POSTGRESQL, messages)

    assert rows_of(found, "id", "name") == [("+", 1, "a"), ("+", 2, "b"), ("-", 3, None)]


def test_the_order_of_a_read_is_below_a_change_at_its_position() -> None:
    found = read(POSTGRESQL, [event("r", {"id": 1}), event("u", {"id": 1}), event("r", {"id": 1})])

    read_at, changed_at, read_again_at = found.columns["pos"].to_pylist()
    assert read_at < changed_at
    assert read_again_at == read_at


def test_tombstones_are_repeats() -> None:
    nothing = [None, {"schema": None, "payload": None}, b"null"]

    found = read(POSTGRESQL, [*nothing, event("c", {"id": 1})])

    assert found.left_out == 3
    assert rows_of(found, "id") == [("+", 1)]


def test_a_delete_without_its_row_has_the_fields_of_its_key() -> None:
    messages = [event("d"), event("d"), event("d"), event("d")]
    keys = [b'{"id": 7}', b'{"schema": null, "payload": {"id": 8}}', b"9", None]

    found = read(POSTGRESQL, messages, keys=keys)

    assert rows_of(found, "id") == [("-", 7), ("-", 8)]
    assert set(faults_of(found).values()) == {"missing_key: key column id is missing or null"}


def test_what_changes_no_row_is_refused_in_words() -> None:
    messages: list[dict[str, Any] | bytes | None]
    messages = [event("t"), event("m"), {"id": 7}, event("c"), event("u", "text"), b"{", b"[1]"]

    found = faults_of(read(POSTGRESQL, messages))

    assert found[0].startswith("truncate: the event says that all rows of the source table were")
    assert found[1] == "malformed: found `m` in `op`, expected one of c, u, r, d"
    assert found[2].startswith(
        "malformed: the message is not a change event: found nothing in `op`"
    )
    assert found[3] == "malformed: the event has no row: `after` is missing or null"
    assert found[4] == "malformed: found a string, expected an object"
    assert found[5].startswith("malformed: not JSON")
    assert found[6] == "malformed: found an array, expected an object"


def test_the_mode_of_the_connector_is_advised_for_mongodb_alone() -> None:
    (found,) = faults_of(read(MONGODB, [event("u")])).values()

    assert "set its `capture.mode` to `change_streams_update_full`" in found


def test_a_condition_is_about_the_event_and_comes_before_its_faults() -> None:
    def of_table(table: str, op: str, row: Any) -> dict[str, Any]:
        found = event(op, row)
        found["source"]["table"] = table
        return found

    messages = [
        of_table("orders", "c", {"id": 1}),
        of_table("invoices", "t", None),
        enveloped(of_table("invoices", "c", {"id": "?"})),
        enveloped(of_table("orders", "c", {"id": 2})),
    ]

    found = read(POSTGRESQL, messages, where="source.table = 'orders'")

    assert found.left_out == 2
    assert rows_of(found, "id") == [("+", 1), ("+", 2)]
    assert not found.faults.rows


def test_parts_of_events_are_columns_which_a_delete_does_not_set() -> None:
    columns = {
        "id": "BIGINT",
        "pos": "BYTES",
        "lsn": "BIGINT",
        "at": "TIMESTAMP(3)",
        "op": "STRING",
    }
    sources = {
        "lsn": {"source": "change", "path": "source.lsn"},
        "at": {"source": "change", "path": "ts_ms", "time_format": "epoch_ms"},
        "op": {"source": "change"},
    }
    messages = [event("c", {"id": 1}, ts_ms=1_500), event("d", before={"id": 1}, lsn=11, ts_ms=2)]

    found = read(POSTGRESQL, messages, columns=columns, sources=sources)

    at = moment(1_500_000)
    assert rows_of(found, "id", "lsn", "at", "op") == [
        ("+", 1, 10, at, "c"),
        ("-", 1, None, None, None),
    ]


def test_a_placeholder_is_a_missing_field_of_any_type() -> None:
    columns = {"id": "BIGINT", "pos": "BYTES", "a": "STRING", "b": "ARRAY<INT>", "c": "DATE"}
    row = {"id": 1, "a": PLACEHOLDER, "b": list(PLACEHOLDER.encode()), "c": PLACEHOLDER}

    found = read(POSTGRESQL, [event("u", row), event("u", {"id": 1, "a": None})], columns=columns)

    assert {name: mask.to_pylist() for name, mask in found.missing.items()} == {
        "a": [True, False],
        "b": [True, True],
        "c": [True, True],
    }
    assert not found.faults.rows


def connect(name: str, field: str, **others: Any) -> dict[str, Any]:
    return {"field": field, "name": name, "type": "int64", "optional": True} | others


KAFKA = "org.apache.kafka.connect.data"
TYPES = [
    ("DATE", connect(f"{KAFKA}.Date", "x"), 20_455, date(2026, 1, 2)),
    ("DATE", connect("io.debezium.time.Date", "x"), 20_455, date(2026, 1, 2)),
    ("TIME(3)", connect(f"{KAFKA}.Time", "x"), 1_500, time(0, 0, 1, 500_000)),
    ("TIME(3)", connect("io.debezium.time.Time", "x"), 1_500, time(0, 0, 1, 500_000)),
    ("TIME(3)", connect("io.debezium.time.MicroTime", "x"), 1_500_000, time(0, 0, 1, 500_000)),
    ("TIME(3)", connect("io.debezium.time.NanoTime", "x"), 1_500_000_000, time(0, 0, 1, 500_000)),
    ("TIMESTAMP(3)", connect(f"{KAFKA}.Timestamp", "x"), 1_500, moment(1_500_000)),
    ("TIMESTAMP(3)", connect("io.debezium.time.Timestamp", "x"), 1, moment(1_000)),
    ("TIMESTAMP(6)", connect("io.debezium.time.MicroTimestamp", "x"), 1, moment(1)),
    ("TIMESTAMP(6)", connect("io.debezium.time.NanoTimestamp", "x"), 1_999, moment(1)),
    ("TIMESTAMP(3)", connect("io.debezium.time.ZonedTimestamp", "x"), "1970-01-01T01:00:00+01:00", moment()),
    ("BIGINT", connect("io.debezium.time.MicroTimestamp", "x"), 7, 7),
    ("DECIMAL(9, 2)", connect(f"{KAFKA}.Decimal", "x", parameters={"scale": "3"}), "BF0=", Decimal("1.12")),
    ("DECIMAL(9, 2)", connect(f"{KAFKA}.Decimal", "x", parameters={"scale": "-2"}), "/w==", Decimal("-100.00")),
    ("DECIMAL(9, 2)", connect("io.debezium.data.VariableScaleDecimal", "x"), {"scale": 1, "value": "Fw=="}, Decimal("2.30")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("column", "field", "value", "expected"),
    TYPES,
    ids=[f"{t[1]['name']} as {t[0]}" for t in TYPES],
)
def test_a_schema_tells_the_type_of_a_value(
    column: str, field: dict[str, Any], value: Any, expected: Any
) -> None:
    message = enveloped(event("c", {"id": 1, "x": value}), field)

    found = read(POSTGRESQL, [message], columns={"id": "BIGINT", "pos": "BYTES", "x": column})

    assert faults_of(found) == {}
    assert rows_of(found, "x") == [("+", expected)]


def test_messages_of_several_schemas_are_read_each_by_its_own() -> None:
    columns = {"id": "BIGINT", "pos": "BYTES", "x": "TIMESTAMP(3)"}
    millis, micros = (
        connect(f"io.debezium.time.{name}", "x") for name in ("Timestamp", "MicroTimestamp")
    )
    messages = [
        enveloped(event("c", {"id": 1, "x": 1_000}), millis),
        enveloped(event("c", {"id": 2, "x": 1_000_000}), micros),
        event("c", {"id": 3, "x": "1970-01-01T00:00:01"}),
        enveloped(event("c", {"id": 4, "x": "soon"}), micros),
    ]

    found = read(POSTGRESQL, messages, columns=columns)

    at = moment(1_000_000)
    assert rows_of(found, "id", "x") == [("+", number, at) for number in (1, 2, 3)]
    assert faults_of(found) == {
        3: 'wrong_type: field x: found "soon", expected TIMESTAMP(3), written as epoch_us for column x'
    }


def test_a_declared_time_format_wins_over_the_schema() -> None:
    columns = {"id": "BIGINT", "pos": "BYTES", "x": "TIMESTAMP(3)"}
    message = enveloped(event("c", {"id": 1, "x": 1}), connect("io.debezium.time.Timestamp", "x"))

    found = read(POSTGRESQL, [message], columns=columns, sources={"x": {"time_format": "epoch_s"}})

    assert rows_of(found, "x") == [("+", moment(1_000_000))]


@pytest.mark.parametrize(
    ("value", "expected"),
    [("Aec=", Decimal("4.87")), ({"scale": 0, "value": "Ag=="}, Decimal("2.00")), (None, None)],
)
def test_unscaled_decimals_without_a_schema_have_the_scale_of_the_column(
    value: Any, expected: Decimal | None
) -> None:
    found = read(POSTGRESQL | {"decimals": "base64"}, [event("c", {"id": 1, "total": value})])

    assert rows_of(found, "total") == [("+", expected)]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("4.87", "wrong_type"),
        ("", "wrong_type"),
        ("f" * 32, "out_of_range"),
        ({"a": 1}, "wrong_type"),
    ],
)
def test_what_is_no_unscaled_decimal_is_refused(value: Any, reason: str) -> None:
    found = read(POSTGRESQL | {"decimals": "base64"}, [event("c", {"id": 1, "total": value})])

    assert [text.partition(":")[0] for text in faults_of(found).values()] == [reason]


def unwrapped(row: dict[str, Any], **marks: Any) -> dict[str, Any]:
    return row | {"__op": "u", "__source_sequence": '["5","10"]'} | marks


def test_unwrapped_events_are_rows_with_marks() -> None:
    messages = [
        unwrapped({"id": 1, "name": "a"}),
        unwrapped({"id": 2, "name": "b"}, __deleted="false"),
        unwrapped({"id": 3, "name": "c"}, __deleted="true"),
        unwrapped({"id": 4, "name": "d"}, __deleted=True),
        unwrapped({"id": 5, "name": PLACEHOLDER}, __op="d"),
        unwrapped({"id": 6, "name": PLACEHOLDER}),
        {
            "schema": {"fields": [connect("io.debezium.time.Date", "x")]},
            "payload": unwrapped({"id": 7}),
        },
        unwrapped({"id": 8}, __op="t"),
    ]

    found = read(UNWRAPPED, messages)

    assert rows_of(found, "id", "name") == [
        ("+", 1, "a"),
        ("+", 2, "b"),
        ("-", 3, None),
        ("-", 4, None),
        ("-", 5, None),
        ("+", 6, None),
        ("+", 7, None),
    ]
    assert found.missing["name"].to_pylist()[:7] == [False] * 5 + [True] * 2
    assert faults_of(found)[7].startswith("truncate")


def test_an_unwrapped_event_without_its_op_has_no_position() -> None:
    message = unwrapped({"id": 1})
    del message["__op"]

    found = read(UNWRAPPED, [message, None, b"null"])

    assert faults_of(found)[0] == "null_ordering: all ordering columns are null: pos"
    assert faults_of(found)[1].startswith("tombstone")
    assert faults_of(found)[2].startswith("tombstone")


def test_marks_of_unwrapped_events_are_no_new_fields() -> None:
    messages = [
        unwrapped({"id": 1, "name": "a", "total": 1}, __source_ts_ms=5, __table="t"),
        unwrapped({"id": 2, "extra": 1}),
    ]

    found = read(UNWRAPPED, messages, on_new_field="reject")

    assert faults_of(found) == {
        1: "new_field: the record has fields that the stream does not declare: extra"
    }


def test_fields_that_only_the_row_has_are_new_fields() -> None:
    messages = [
        event("c", {"id": 1, "name": "a"}, before={"old": 1}, extra=1),
        event("c", {"id": 2, "extra": 1}),
    ]

    found = read(POSTGRESQL, messages, on_new_field="reject")

    assert faults_of(found) == {
        1: "new_field: the record has fields that the stream does not declare: extra"
    }


def document(op: str, after: Any, *, ordinal: int) -> dict[str, Any]:
    text = None if after is None else json.dumps(after)
    return {"before": None, "after": text, "source": {"ts_ms": 1_000, "ord": ordinal}, "op": op}


def mongodb(messages: list[Any], **options: Any) -> ReadRecords:
    columns = {"id": "STRING", "pos": "BYTES", "name": "STRING"}
    return read(MONGODB, messages, columns=columns, sources={"id": {"path": "_id.$oid"}}, **options)


def test_documents_are_texts_inside_of_events_and_deletes_have_their_key() -> None:
    identity = {"_id": {"$oid": "596e"}}
    messages = [
        document("r", identity | {"name": "ä"}, ordinal=1),
        document("d", None, ordinal=2),
        document("u", None, ordinal=3),
    ]
    keys = [None, json.dumps({"id": json.dumps(identity["_id"])}).encode(), None]

    found = mongodb(messages, keys=keys)

    assert rows_of(found, "id", "name") == [("+", "596e", "ä"), ("-", "596e", None)]
    assert "change_streams_update_full" in faults_of(found)[2]


@pytest.mark.parametrize("key", [b"{}", b'{"id": 7}', b"7", b'{"id": "}'])
def test_a_delete_of_a_document_without_its_key_is_refused(key: bytes) -> None:
    found = mongodb([document("d", None, ordinal=2)], keys=[key])

    assert [text.partition(":")[0] for text in faults_of(found).values()] == ["missing_key"]


@pytest.mark.parametrize(
    "text", ["\0", "\0\0\0\0\0", "\0\0\0\0\0{}", '\0\xff\xff\xff\xff{"_id": 1}']
)
@pytest.mark.parametrize("is_enveloped", [False, True])
def test_a_document_that_begins_with_a_byte_of_zero_is_a_dead_letter(
    text: str, is_enveloped: bool
) -> None:
    """Its row looked like one with the number of a schema in front, and was an error of the reader."""
    poison = document("u", {}, ordinal=1) | {"after": text}
    good = document("u", {"_id": {"$oid": "596e"}, "name": "ä"}, ordinal=2)
    field = {"type": "string", "optional": True, "field": "after"}
    messages = [enveloped(poison, field) if is_enveloped else poison, good]

    found = mongodb(messages)

    assert list(faults_of(found)) == [0]
    assert rows_of(found, "id", "name") == [("+", "596e", "ä")]
