"""Benchmark of parsing: messages per second of processor time in one task, by format and kind of message."""

import io
import json
import time
from base64 import b64encode
from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
from google.protobuf import descriptor_pb2

from benchmarks.figure import best_s, figure
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import MessageReader
from braid.formats.protobuf.schema import parse_descriptor_set
from braid.formats.readers import message_reader
from braid.lake import parse_type
from braid.schemas import AvroFormat, ColumnSource, CsvFormat, JsonFormat, ProtobufFormat

MESSAGES = 100_000
BATCH = 16_384
REPEATS = 3
TYPES = {
    "id": "BIGINT",
    "name": "STRING",
    "price": "DECIMAL(10, 2)",
    "quantity": "INT",
    "paid": "BOOLEAN",
    "at": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "latitude": "DOUBLE",
    "longitude": "DOUBLE",
    "note": "STRING",
    "version": "BIGINT",
}
AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"]},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
        },
        {"name": "quantity", "type": ["null", "int"]},
        {"name": "paid", "type": "boolean"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "latitude", "type": "double"},
        {"name": "longitude", "type": ["null", "double"]},
        {"name": "note", "type": ["null", "string"]},
        {"name": "version", "type": "long"},
    ],
}
F = descriptor_pb2.FieldDescriptorProto
PROTOBUF = {
    "id": F.TYPE_INT64,
    "name": F.TYPE_STRING,
    "price": F.TYPE_STRING,
    "quantity": F.TYPE_INT32,
    "paid": F.TYPE_BOOL,
    "at": F.TYPE_MESSAGE,
    "latitude": F.TYPE_DOUBLE,
    "longitude": F.TYPE_DOUBLE,
    "note": F.TYPE_STRING,
    "version": F.TYPE_INT64,
}
ITEMS = {"items": "ARRAY<ROW<article BIGINT, price DECIMAL(10, 2)>>"}
_PARSED = fastavro.parse_schema(AVRO)


def run() -> list[dict[str, Any]]:
    """Return the figures of messages with 10 fields, 220 bytes as JSON.

    Returns:
        Dicts of name, value, unit and aim (None: measured, not aimed at).
    """
    usual = _messages()
    bad = [
        {**fields, "quantity": "many"} if n % 1_000 == 0 else fields
        for n, fields in enumerate(usual)
    ]
    new = [{**fields, "new": 1} if n % 100 == 0 else fields for n, fields in enumerate(usual)]
    numbers = [{**fields, "note": 1.5} for fields in usual]
    nested = [{**fields, "items": [{"article": 1, "price": "1.50"}] * 2} for fields in usual]
    csv_format = CsvFormat(fields=tuple(TYPES))
    lines = [",".join(_text(value) for value in fields.values()).encode() for fields in usual]
    plain, finding = _json_reader(TYPES), _json_reader(TYPES, finds_undeclared=True)
    csv_reader = message_reader(csv_format, _columns(TYPES))
    avro = message_reader(AvroFormat(schema=json.dumps(AVRO)), _columns(TYPES))
    records = [_avro(fields) for fields in usual]
    cut = [record[:-1] if n % 1_000 == 0 else record for n, record in enumerate(records)]
    descriptors = _descriptor_set()
    protobuf_format = ProtobufFormat(descriptor_set=descriptors, message="Order")
    protobuf = message_reader(protobuf_format, _columns(TYPES))
    protobufs = _protobufs(descriptors, usual)
    halved = {name: sql for name, sql in TYPES.items() if name != "price"}
    computing = [(*_columns(halved), _computed("price * 100"))]
    computing.append((*computing[0], _computed("upper(name) || note"), _computed("quantity // 7")))
    cases: list[tuple[str, MessageReader, Sequence[bytes]]] = [
        ("JSON", plain, _dumped(usual)),
        ("JSON, one in a thousand has a bad value", plain, _dumped(bad)),
        ("JSON, undeclared fields are looked for", finding, _dumped(usual)),
        ("JSON, one in a hundred has an undeclared field", finding, _dumped(new)),
        ("JSON, every message has a number in a text column", plain, _dumped(numbers)),
        ("JSON, with an ARRAY of two ROWs", _json_reader(TYPES | ITEMS), _dumped(nested)),
        *(
            (f"JSON, {count} computed", _computing_reader(columns), _dumped(usual))
            for count, columns in zip(("one column", "three columns"), computing, strict=True)
        ),
        ("CSV", csv_reader, lines),
        ("Avro", avro, records),
        ("Avro, one in a thousand is cut", avro, cut),
        ("Protobuf", protobuf, protobufs),
    ]
    return [
        figure(
            f"{name}: messages",
            MESSAGES / best_s(_reading(reader, messages), repeats=REPEATS, clock=time.process_time),
            "1/s",
        )
        for name, reader, messages in cases
    ]


def _messages() -> list[dict[str, Any]]:
    source = np.random.default_rng(1)
    ids, versions = source.integers(0, 10**9, MESSAGES), source.integers(0, 10**6, MESSAGES)
    numbers, places = source.uniform(0, 999, MESSAGES), source.uniform(-90, 90, (MESSAGES, 2))
    return [
        {
            "id": int(ids[n]),
            "name": f"name {versions[n]}",
            "price": f"{numbers[n]:.2f}",
            "quantity": n % 100,
            "paid": n % 2 == 0,
            "at": f"2026-11-{n % 28 + 1:02d}T12:34:56.{n % 1_000:03d}Z",
            "latitude": float(places[n, 0]),
            "longitude": float(places[n, 1]),
            "note": "x" * (n % 30),
            "version": int(versions[n]),
        }
        for n in range(MESSAGES)
    ]


def _text(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _dumped(messages: Sequence[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(message).encode() for message in messages]


def _avro(fields: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    typed = {"price": Decimal(fields["price"]), "at": datetime.fromisoformat(fields["at"])}
    fastavro.schemaless_writer(out, _PARSED, fields | typed)
    return out.getvalue()


def _descriptor_set() -> str:
    timestamp = "google/protobuf/timestamp.proto"
    file = descriptor_pb2.FileDescriptorProto(
        name="order.proto", syntax="proto3", dependency=[timestamp]
    )
    order = file.message_type.add(name="Order")
    for number, (name, kind) in enumerate(PROTOBUF.items(), 1):
        order.field.add(name=name, number=number, type=kind, label=F.LABEL_OPTIONAL)
    order.field[5].type_name = ".google.protobuf.Timestamp"
    data = descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()
    return b64encode(data).decode()


def _protobufs(descriptors: str, messages: Sequence[dict[str, Any]]) -> list[bytes]:
    order_class = parse_descriptor_set(descriptors, "Order").message_class
    found = []
    for fields in messages:
        order = order_class(**{name: value for name, value in fields.items() if name != "at"})
        order.at.FromJsonString(fields["at"])
        found.append(order.SerializeToString())
    return found


def _columns(types: dict[str, str]) -> list[MappedColumn]:
    return [
        MappedColumn(name=name, path=(name,), type=parse_type(sql)) for name, sql in types.items()
    ]


def _computed(expression: str) -> MappedColumn:
    data_type = {"p": "DECIMAL(18, 2)", "u": "STRING", "q": "INT"}[expression[0]]
    return MappedColumn(
        name=f"computed_{expression[0]}",
        path=(),
        type=parse_type(data_type),
        source=ColumnSource.EXPRESSION,
        expression=expression,
    )


def _computing_reader(columns: Sequence[MappedColumn]) -> MessageReader:
    return message_reader(JsonFormat(), columns, fields=_columns(TYPES))


def _json_reader(types: dict[str, str], *, finds_undeclared: bool = False) -> MessageReader:
    return message_reader(JsonFormat(), _columns(types), finds_undeclared=finds_undeclared)


def _reading(reader: MessageReader, messages: Sequence[bytes]) -> Callable[[], None]:
    payloads = pa.array(messages, pa.binary())

    def read() -> None:
        for first in range(0, MESSAGES, BATCH):
            reader.read(payloads.slice(first, BATCH))

    return read
