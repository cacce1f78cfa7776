"""Benchmark of parsing: messages per second of processor time on one thread, by format and kind of message."""

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from benchmarks.figure import best_s, figure
from benchmarks.order_messages import (
    AVRO,
    TYPES,
    avro_messages,
    csv_messages,
    descriptor_set,
    json_messages,
    orders,
    protobuf_messages,
)
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import MessageReader
from braid.formats.readers import message_reader
from braid.lake import parse_type
from braid.schemas import AvroFormat, ColumnSource, CsvFormat, JsonFormat, ProtobufFormat

MESSAGES = 100_000
BATCH = 16_384
REPEATS = 3
ITEMS = {"items": "ARRAY<ROW<article BIGINT, price DECIMAL(10, 2)>>"}


def run() -> list[dict[str, Any]]:
    """Return the figures of messages with 10 fields, 220 bytes as JSON.

    Returns:
        Dicts of name, value, unit and aim (None: measured, not aimed at).
    """
    usual = orders(MESSAGES)
    new = [{**fields, "new": 1} if n % 100 == 0 else fields for n, fields in enumerate(usual)]
    numbers = [{**fields, "note": 1.5} for fields in usual]
    nested = [{**fields, "items": [{"article": 1, "price": "1.50"}] * 2} for fields in usual]
    csv_format = CsvFormat(fields=tuple(TYPES))
    plain, finding = _json_reader(TYPES), _json_reader(TYPES, finds_undeclared=True)
    csv_reader = message_reader(csv_format, _columns(TYPES))
    avro = message_reader(AvroFormat(schema=json.dumps(AVRO)), _columns(TYPES))
    protobuf_format = ProtobufFormat(descriptor_set=descriptor_set(), message="Order")
    protobuf = message_reader(protobuf_format, _columns(TYPES))
    halved = {name: sql for name, sql in TYPES.items() if name != "price"}
    computing = [(*_columns(halved), _computed("price * 100"))]
    computing.append((*computing[0], _computed("upper(name) || note"), _computed("quantity // 7")))
    cases: list[tuple[str, MessageReader, Sequence[bytes]]] = [
        ("JSON", plain, json_messages(usual)),
        ("JSON, undeclared fields are looked for", finding, json_messages(usual)),
        ("JSON, one in a hundred has an undeclared field", finding, json_messages(new)),
        ("JSON, every message has a number in a text column", plain, json_messages(numbers)),
        ("JSON, with an ARRAY of two ROWs", _json_reader(TYPES | ITEMS), json_messages(nested)),
        *(
            (f"JSON, {count} computed", _computing_reader(columns), json_messages(usual))
            for count, columns in zip(("one column", "three columns"), computing, strict=True)
        ),
        ("CSV", csv_reader, csv_messages(usual)),
        ("Avro", avro, avro_messages(usual)),
        ("Protobuf", protobuf, protobuf_messages(usual)),
    ]
    return [
        figure(
            f"{name}: messages",
            MESSAGES / best_s(_reading(reader, messages), repeats=REPEATS, clock=time.process_time),
            "1/s",
        )
        for name, reader, messages in cases
    ]


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
