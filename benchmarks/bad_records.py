"""Benchmark of bad records: the slow-down of a task if one record in a thousand is bad, by format and kind.

The benchmark does the steps of a stream's write task: it reads the records, makes dead letters of the bad ones, and
writes the rows of the others to a level-0 file. It measures the processor time of reading alone, and of reading and
writing. Each round measures batches without bad records and with each kind of them. The fastest round of each counts.

| kind | a bad record |
|---|---|
| value | has a value that does not fit its column |
| text | has a text that is not UTF-8 |
| cut | ends too early |
| other | is no message of the format |
"""

import gc
import io
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import fastavro
import numpy as np
import pyarrow as pa

from benchmarks.change_capture import EVENT
from benchmarks.figure import figure
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
from braid.lake import Catalog, LetterAttempt, MemoryFileIO, Table
from braid.pipelines.sink.dead_letters import LetterOrigin, dead_letters
from braid.records.accepted_rows import accepted_rows
from braid.records.poison_records import read_sifted
from braid.records.record_columns import HEADERS, KEY, OFFSET, PARTITION, TIMESTAMP, VALUE
from braid.records.record_reader import RecordReader
from braid.records.stream_plan import StreamPlan, plan_stream
from braid.registry.layout.physical_table import physical_table
from braid.registry.rules.stream_completion import complete_stream
from braid.schemas import StreamDefinition, TableSpec

MESSAGES: Final = 65_536
BATCH: Final = 16_384
EVERY: Final = 1_000
ROUNDS: Final = 7
COST_MAX: Final = 5.0
_HEADERS_TYPE: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_ORIGIN: Final = LetterOrigin(
    topic="t", topic_id="", generation=0, attempt=LetterAttempt(epoch=1, batch_id=0, attempt=0)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A format.

    Attributes:
        format: As streams declare it.
        types: Types of the columns, the key first.
        encode: Returns messages.
        bad_value: A value that its column does not hold, by name of the field.
    """

    format: Mapping[str, Any]
    types: Mapping[str, str]
    encode: Callable[[Iterable[Mapping[str, Any]]], list[bytes]]
    bad_value: Mapping[str, Any]


def run() -> Iterator[dict[str, Any]]:
    """Yield the figures of messages with 10 fields, 220 bytes as JSON.

    Yields:
        Dicts of name, value, unit and aim (None: measured, not aimed at).
    """
    for name, case in cases().items():
        task, batches = _Task(case), _batches(case)
        found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in batches}
        gc.collect()
        gc.freeze()
        for number in range(ROUNDS):
            # No kind is always the one before which others have left garbage.
            kinds = [*batches][number % len(batches) :] + [*batches][: number % len(batches)]
            for kind in kinds:
                gc.collect()
                found[kind].append(task.seconds(batches[kind]))
                assert bool(task.letters) == (kind != "none"), (name, kind, task.letters)
        none = found.pop("none")
        for part, what in enumerate(("read", "read and written")):
            least = min(seconds[part] for seconds in none)
            yield figure(f"{name}: records {what}", MESSAGES / least, "1/s")
            for kind, rounds in found.items():
                cost = 100 * (1 - least / min(seconds[part] for seconds in rounds))
                aim = COST_MAX if part else None
                yield figure(f"{name} {what}: one in {EVERY:,} bad ({kind}) costs", cost, "%", aim)


def cases() -> dict[str, Case]:
    """Return the formats by name."""
    types = {name: sql.replace(" WITH LOCAL TIME ZONE", "") for name, sql in TYPES.items()}
    debezium: dict[str, Any] = {"type": "debezium", "database": "postgresql"}
    return {
        "JSON": Case(
            format={"type": "json"},
            types=TYPES,
            encode=json_messages,
            bad_value={"quantity": "many"},
        ),
        "CSV": Case(
            format={"type": "csv", "fields": list(TYPES)},
            types=TYPES,
            encode=csv_messages,
            bad_value={"quantity": "many"},
        ),
        "Avro": Case(
            format={"type": "avro", "schema": json.dumps(AVRO)},
            types=TYPES,
            encode=avro_messages,
            bad_value={"price": "12345678901.50"},
        ),
        "Protobuf": Case(
            format={
                "type": "protobuf",
                "descriptor_set": descriptor_set(),
                "message": "Order",
            },
            types=TYPES,
            encode=protobuf_messages,
            bad_value={"price": "dear"},
        ),
        "Debezium": Case(
            format=debezium,
            types=types,
            encode=lambda rows: json_messages(map(_event, rows)),
            bad_value={"quantity": "many"},
        ),
        "Debezium in Avro": Case(
            format=debezium | {"messages": {"type": "avro", "schema": json.dumps(EVENT)}},
            types=types,
            encode=_avro_events,
            bad_value={"price": "dear"},
        ),
    }


def messages_by_kind(case: Case, count: int) -> dict[str, list[bytes]]:
    """Return messages of a format by the kind of the bad ones among them, `none` without bad ones."""
    usual = [
        {**fields, "at": fields["at"].removesuffix("Z")} if case.types is not TYPES else fields
        for fields in orders(count)
    ]
    good = case.encode(usual)
    bad = {
        "value": case.encode({**fields, **case.bad_value} for fields in usual[::EVERY]),
        "text": [message.replace(b"name ", b"nam\xff ", 1) for message in good[::EVERY]],
        "cut": [_cut(message, case) for message in good[::EVERY]],
        "other": [b"\x9e~: no message"] * len(good[::EVERY]),
    }
    found = {"none": good}
    for kind, messages in bad.items():
        found[kind] = good.copy()
        found[kind][::EVERY] = messages
    return found


def _batches(case: Case) -> dict[str, list[pa.RecordBatch]]:
    """Return the records by kind of the bad ones."""
    return {kind: _records(found) for kind, found in messages_by_kind(case, MESSAGES).items()}


def _cut(message: bytes, case: Case) -> bytes:
    # A line without its last characters has another value, and is a line.
    return message.rpartition(b",")[0] if case.format["type"] == "csv" else message[:-1]


def _records(messages: Sequence[bytes]) -> list[pa.RecordBatch]:
    count = len(messages)
    at = pa.scalar(1_790_000_000_000_000, pa.timestamp("us", tz="UTC"))
    columns = {
        KEY: pa.nulls(count, pa.binary()),
        VALUE: pa.array(messages, pa.binary()),
        HEADERS: pa.nulls(count, _HEADERS_TYPE),
        PARTITION: pa.array(np.zeros(count, np.int32)),
        OFFSET: pa.array(range(count), pa.int64()),
        TIMESTAMP: pa.repeat(at, count),
    }
    batch = pa.RecordBatch.from_pydict(columns)
    return [batch.slice(first, BATCH) for first in range(0, count, BATCH)]


class _Task:
    """The steps of a task, without Spark and Kafka."""

    def __init__(self, case: Case) -> None:
        self._plan, self._table = _stream(case)
        self._reader = RecordReader(self._plan, self._table.schema)
        self.letters = 0

    def seconds(self, batches: Sequence[pa.RecordBatch]) -> tuple[float, float]:
        """Return the processor time of reading, and of reading and writing a file of level 0 to memory."""
        self.letters = 0
        start = time.process_time()
        rows = [self._read(records) for records in batches]
        read_s = time.process_time() - start
        writer = self._table.writer()
        for some in rows:
            writer.write(some)
        writer.flush()
        seconds = read_s, time.process_time() - start
        writer.abort()
        return seconds

    def _read(self, records: pa.RecordBatch) -> pa.RecordBatch:
        sifted = read_sifted(self._reader, records)
        found = sifted.found
        assert not sifted.faults, "no record is poison"
        refused = found.faults.rows
        taken = found.records.take(pa.array(refused, pa.int64()))
        faults = [found.faults[row] for row in refused]
        self.letters += len(dead_letters(taken, faults, origin=_ORIGIN))
        return accepted_rows(found, ~found.faults.is_faulty, self._plan, generation=0)


def _stream(case: Case) -> tuple[StreamPlan, Table]:
    key, *others = case.types
    declared = {
        "columns": [{"name": name, "type": sql} for name, sql in case.types.items()],
        "primary_key": [key],
        "sequence_groups": [{"name": "s", "columns": others}],
    }
    spec = TableSpec.model_validate(declared)
    physical = physical_table(spec)
    table = Catalog("/bench", file_io=MemoryFileIO()).create_table(
        "bench.t",
        columns=physical.columns,
        primary_key=physical.primary_key,
        options=physical.options,
    )
    definition = StreamDefinition.model_validate(
        {"topic": "t", "format": case.format, "on_delete": "ignore"}
        if case.format["type"] == "debezium"
        else {"topic": "t", "format": case.format}
    )
    stream = complete_stream(spec, definition, name="s")
    return plan_stream(table="bench.t", spec=spec, stream=stream, schema=table.schema), table


def _event(row: Mapping[str, Any]) -> dict[str, Any]:
    source = {"sequence": json.dumps(["1", str(row["version"])]), "lsn": row["version"]}
    return {"before": None, "after": row, "source": source, "op": "u", "ts_ms": 1}


def _avro_events(rows: Iterable[Mapping[str, Any]]) -> list[bytes]:
    parsed, found = fastavro.parse_schema(EVENT), []
    for row in rows:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, _event(row))
        found.append(out.getvalue())
    return found
