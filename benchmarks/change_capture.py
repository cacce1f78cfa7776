"""Benchmark of change capture: records per second of processor time on one thread, compared with plain JSON and Avro."""

import io
import json
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import fastavro
import pyarrow as pa

from benchmarks.figure import best_s, figure
from benchmarks.order_messages import orders
from braid.formats.change_capture.readers import change_reader
from braid.formats.mapped_column import MappedColumn
from braid.formats.readers import message_reader
from braid.lake import parse_type
from braid.schemas import (
    AvroFormat,
    CanalFormat,
    ChangeFormat,
    DebeziumFormat,
    JsonFormat,
    MaxwellFormat,
    RowFormat,
    SourceDatabase,
)

RECORDS: Final = 50_000
BATCH: Final = 10_000
REPEATS: Final = 3
TYPES: Final = {
    "id": "BIGINT",
    "name": "STRING",
    "price": "DECIMAL(10, 2)",
    "quantity": "INT",
    "paid": "BOOLEAN",
    "at": "TIMESTAMP(3)",
    "latitude": "DOUBLE",
    "longitude": "DOUBLE",
    "note": "STRING",
    "version": "BIGINT",
}
KINDS: Final = {"DECIMAL(10, 2)": "string", "TIMESTAMP(3)": "string", "STRING": "string"}
AVRO_KINDS: Final = {
    "BIGINT": "long",
    "INT": "int",
    "BOOLEAN": "boolean",
    "DOUBLE": "double",
} | KINDS
COLUMNS: Final = [
    MappedColumn(name=name, path=(name,), type=parse_type(sql)) for name, sql in TYPES.items()
]
ROW: Final = {
    "type": "record",
    "name": "Value",
    "fields": [
        {"name": name, "type": ["null", AVRO_KINDS[sql]], "default": None}
        for name, sql in TYPES.items()
    ],
}
EVENT: Final = {
    "type": "record",
    "name": "Envelope",
    "fields": [
        {"name": "before", "type": ["null", ROW]},
        {"name": "after", "type": ["null", "Value"]},
        {
            "name": "source",
            "type": {
                "type": "record",
                "name": "Source",
                "fields": [{"name": "sequence", "type": "string"}, {"name": "lsn", "type": "long"}],
            },
        },
        {"name": "op", "type": "string"},
        {"name": "ts_ms", "type": "long"},
    ],
}


def run() -> list[dict[str, Any]]:
    """Return the figures of rows of 10 columns, 220 bytes as JSON; of events, but those of Canal, the position is read.

    Returns:
        Dicts of name, value, unit and aim (None: measured, not aimed at).
    """
    rows = _rows()
    events = [_event(row, number) for number, row in enumerate(rows)]
    schema = {
        "type": "struct",
        "fields": [{"field": "after", "type": "struct", "fields": _fields()}],
    }
    placeholder = {"note": "__debezium_unavailable_value"}
    toasted = [
        _event(row | placeholder if number % 10 == 0 else row, number)
        for number, row in enumerate(rows)
    ]
    debezium = DebeziumFormat(database=SourceDatabase.POSTGRESQL)
    avro = DebeziumFormat(
        database=SourceDatabase.POSTGRESQL, messages=AvroFormat(schema=json.dumps(EVENT))
    )
    unwrapped = DebeziumFormat(database=SourceDatabase.POSTGRESQL, unwrapped=True)
    maxwell = [
        {"type": "insert", "table": "t", "position": f"bin.000001:{n}", "commit": True, "data": row}
        for n, row in enumerate(rows)
    ]
    canal = [{"type": "INSERT", "isDdl": False, "data": [_texts(row)], "old": None} for row in rows]
    cases: list[tuple[str, Callable[[pa.BinaryArray], None], list[bytes]]] = [
        ("JSON", _plain(JsonFormat()), _dumped(rows)),
        ("Avro", _plain(AvroFormat(schema=json.dumps(ROW))), _encoded(ROW, rows)),
        ("Debezium", _changes(debezium), _dumped(events)),
        (
            "Debezium with schemas",
            _changes(debezium),
            _dumped([{"schema": schema, "payload": event} for event in events]),
        ),
        ("Debezium, one in ten with a placeholder", _changes(debezium), _dumped(toasted)),
        (
            "Debezium, unwrapped",
            _changes(unwrapped),
            _dumped(
                [
                    row | {"__op": "u", "__source_sequence": event["source"]["sequence"]}
                    for row, event in zip(rows, events, strict=True)
                ]
            ),
        ),
        ("Debezium in Avro", _changes(avro), _encoded(EVENT, events)),
        ("Maxwell", _changes(MaxwellFormat()), _dumped(maxwell)),
        ("Canal", _changes(CanalFormat()), _dumped(canal)),
    ]
    return [
        figure(
            f"{name}: records",
            RECORDS / best_s(_reading(read, messages), repeats=REPEATS, clock=time.process_time),
            "1/s",
        )
        for name, read, messages in cases
    ]


def _plain(declared: RowFormat) -> Callable[[pa.BinaryArray], None]:
    reader = message_reader(declared, COLUMNS)

    def read(messages: pa.BinaryArray) -> None:
        assert not reader.read(messages).faults.rows

    return read


def _changes(declared: ChangeFormat) -> Callable[[pa.BinaryArray], None]:
    changes = change_reader(
        declared,
        [],
        has_position=not isinstance(declared, CanalFormat),
        key_fields=frozenset({"id"}),
    )
    rows = changes.rows(COLUMNS)

    def read(messages: pa.BinaryArray) -> None:
        found = changes.read(changes.open(messages), pa.nulls(len(messages), pa.binary()))
        assert not found.faults.rows
        assert not rows.read(found.rows).faults.rows

    return read


def _reading(read: Callable[[pa.BinaryArray], None], messages: list[bytes]) -> Callable[[], None]:
    batches = [
        pa.array(messages[first : first + BATCH], pa.binary())
        for first in range(0, len(messages), BATCH)
    ]

    def run_all() -> None:
        for batch in batches:
            read(batch)

    return run_all


def _rows() -> list[dict[str, Any]]:
    # Captured TIMESTAMP columns have no zone.
    return [row | {"at": row["at"].removesuffix("Z")} for row in orders(RECORDS)]


def _event(row: dict[str, Any], number: int) -> dict[str, Any]:
    source = {"sequence": json.dumps([str(number), str(number + 1)]), "lsn": number + 1}
    return {"before": None, "after": row, "source": source, "op": "u", "ts_ms": number}


def _fields() -> list[dict[str, Any]]:
    return [{"field": name, "type": "string", "optional": True} for name in TYPES]


def _texts(row: dict[str, Any]) -> dict[str, str]:
    return {name: json.dumps(v) if isinstance(v, bool) else str(v) for name, v in row.items()}


def _dumped(messages: Sequence[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(message, separators=(",", ":")).encode() for message in messages]


def _encoded(schema: dict[str, Any], messages: Sequence[dict[str, Any]]) -> list[bytes]:
    parsed, found = fastavro.parse_schema(schema), []
    for message in messages:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, message)
        found.append(out.getvalue())
    return found
