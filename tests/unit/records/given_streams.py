"""Plans of streams, and batches of Kafka records as Spark passes them to a task."""

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from braid.lake import Catalog, LetterAttempt, MemoryFileIO, Table
from braid.pipelines.sink.dead_letters import LetterOrigin
from braid.records.record_columns import HEADERS, KEY, OFFSET, PARTITION, TIMESTAMP, VALUE
from braid.records.stream_plan import StreamPlan, plan_stream
from braid.registry.layout.physical_table import physical_table
from braid.registry.rules.stream_completion import complete_stream
from braid.schemas import StreamDefinition, TableSpec

WAREHOUSE = "/warehouse"
IDENTIFIER = "db.t"
AT = dt.datetime(2026, 1, 2, 3, 4, 5, 678_900, tzinfo=dt.UTC)
HEADERS_TYPE = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def given_spec(
    columns: Mapping[str, str],
    *,
    ordering: Sequence[str] | None = ("version",),
    keep: Sequence[str] = (),
    **table: Any,
) -> TableSpec:
    """Return a table whose key is its first column and whose other columns are group `s`."""
    key, *others = columns
    protected = [name for name in others if name not in (ordering or ())]
    declared = {
        "columns": [{"name": name, "type": sql} for name, sql in columns.items()],
        "primary_key": [key],
        "sequence_groups": [
            {"name": "s", "ordering": ordering, "columns": protected, "keep": keep}
        ],
    }
    return TableSpec.model_validate(declared | table)


def given_table(spec: TableSpec, *, file_io: MemoryFileIO | None = None) -> Table:
    """Return the table of a declaration, in memory."""
    definition = physical_table(spec)
    return Catalog(WAREHOUSE, file_io=file_io or MemoryFileIO()).create_table(
        IDENTIFIER,
        columns=definition.columns,
        primary_key=definition.primary_key,
        partition_keys=definition.partition_keys,
        options=definition.options,
    )


def given_plan(spec: TableSpec, **stream: Any) -> StreamPlan:
    """Return the plan of stream `s` of topic `topic`."""
    definition = StreamDefinition.model_validate({"topic": "topic", **stream})
    return plan_stream(
        table=IDENTIFIER,
        spec=spec,
        stream=complete_stream(spec, definition, name="s"),
        schema=given_table(spec).schema,
    )


def given_records(
    messages: Sequence[Mapping[str, Any] | bytes | None],
    *,
    keys: Sequence[bytes | None] | None = None,
    headers: Sequence[tuple[str, bytes | None]] | None = None,
    partition: int = 0,
) -> pa.RecordBatch:
    """Return Kafka records with offsets from 0.

    Args:
        messages: One per record: an object, bytes as they are, or None for a record without a value.
        keys: One per record.
        headers: Of each record.
        partition: Of Kafka.
    """
    count = len(messages)
    values = [
        json.dumps(message).encode() if isinstance(message, Mapping) else message
        for message in messages
    ]
    header = [{"key": name, "value": value} for name, value in headers or ()]
    columns = {
        KEY: pa.array([None] * count if keys is None else keys, pa.binary()),
        VALUE: pa.array(values, pa.binary()),
        HEADERS: pa.array([None if headers is None else header] * count, HEADERS_TYPE),
        PARTITION: pa.array([partition] * count, pa.int32()),
        OFFSET: pa.array(range(count), pa.int64()),
        TIMESTAMP: pa.array([AT] * count, pa.timestamp("us", tz="UTC")),
    }
    return pa.RecordBatch.from_pydict(columns)


def given_origin(*, generation: int = 0) -> LetterOrigin:
    """Return the origin of the dead letters of the first attempt at a stream's first micro-batch."""
    attempt = LetterAttempt(epoch=1, batch_id=0, attempt=0)
    return LetterOrigin(topic="topic", topic_id="id", generation=generation, attempt=attempt)
