"""Benchmark of parsing: messages per second of processor time in one task, by format and kind of message."""

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.figure import best_s, figure
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import MessageReader
from braid.formats.readers import message_reader
from braid.lake import parse_type
from braid.schemas import CsvFormat, JsonFormat

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
ITEMS = {"items": "ARRAY<ROW<article BIGINT, price DECIMAL(10, 2)>>"}


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
    cases: list[tuple[str, MessageReader, Sequence[bytes]]] = [
        ("JSON", plain, _dumped(usual)),
        ("JSON, one in a thousand has a bad value", plain, _dumped(bad)),
        ("JSON, undeclared fields are looked for", finding, _dumped(usual)),
        ("JSON, one in a hundred has an undeclared field", finding, _dumped(new)),
        ("JSON, every message has a number in a text column", plain, _dumped(numbers)),
        ("JSON, with an ARRAY of two ROWs", _json_reader(TYPES | ITEMS), _dumped(nested)),
        ("CSV", csv_reader, lines),
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


def _columns(types: dict[str, str]) -> list[MappedColumn]:
    return [
        MappedColumn(name=name, path=(name,), type=parse_type(sql)) for name, sql in types.items()
    ]


def _json_reader(types: dict[str, str], *, finds_undeclared: bool = False) -> MessageReader:
    return message_reader(JsonFormat(), _columns(types), finds_undeclared=finds_undeclared)


def _reading(reader: MessageReader, messages: Sequence[bytes]) -> Callable[[], None]:
    payloads = pa.array(messages, pa.binary())

    def read() -> None:
        for first in range(0, MESSAGES, BATCH):
            reader.read(payloads.slice(first, BATCH))

    return read
