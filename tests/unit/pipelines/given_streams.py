"""Plans of streams, and batches of parsed records as Spark returns them."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from braid.lake import Catalog, MemoryFileIO, Table
from braid.pipelines.record_columns import (
    DETAIL,
    OFFSET,
    PARTITION,
    RAW_HEADERS,
    RAW_KEY,
    RAW_VALUE,
    REASON,
    TIMESTAMP,
    value_column,
)
from braid.pipelines.stream_plan import StreamPlan, plan_stream
from braid.registry.layout.physical_table import physical_table
from braid.registry.rules.stream_completion import complete_stream
from braid.schemas import StreamDefinition, TableSpec

WAREHOUSE = "/warehouse"
IDENTIFIER = "db.t"
AT = dt.datetime(2026, 1, 2, 3, 4, 5, 678_900, tzinfo=dt.UTC)


def given_spec(
    columns: Mapping[str, str], *, ordering: Sequence[str] | None = ("version",), **table: Any
) -> TableSpec:
    """Return a table whose key is its first column and whose other columns are group `s`."""
    key, *others = columns
    protected = [name for name in others if name not in (ordering or ())]
    declared = {
        "columns": [{"name": name, "type": sql} for name, sql in columns.items()],
        "primary_key": [key],
        "sequence_groups": [{"name": "s", "ordering": ordering, "columns": protected}],
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
    values: Sequence[Sequence[Any]],
    *,
    types: Sequence[pa.DataType],
    refused: Mapping[int, Mapping[str, Any]] | None = None,
    partition: int = 0,
) -> pa.RecordBatch:
    """Return parsed records with offsets from 0.

    Args:
        values: One row per record, a value per column of the stream.
        types: Of the columns as they come from Spark.
        refused: By row: reason, and what else is not null of the raw parts.
        partition: Of Kafka.
    """
    count = len(values)
    refusals = [(refused or {}).get(row, {}) for row in range(count)]
    columns = {
        PARTITION: pa.array([partition] * count, pa.int32()),
        OFFSET: pa.array(range(count), pa.int64()),
        TIMESTAMP: pa.array([AT] * count, pa.timestamp("us", tz="UTC")),
        REASON: pa.array([r.get("reason") for r in refusals], pa.string()),
        DETAIL: pa.array([r.get("detail") for r in refusals], pa.string()),
        RAW_KEY: pa.array([r.get("key") for r in refusals], pa.binary()),
        RAW_VALUE: pa.array([r.get("value") for r in refusals], pa.binary()),
        RAW_HEADERS: pa.array([r.get("headers") for r in refusals], pa.string()),
    }
    for index, data_type in enumerate(types):
        columns[value_column(index)] = pa.array([row[index] for row in values], data_type)
    return pa.RecordBatch.from_pydict(columns)
