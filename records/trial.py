"""Trial of a stream: sample records, read by the code that reads the records of the running stream.

Nothing is written. What is found later is not told: rows that the table's writer refuses, and changes of the table that
the registry refuses.
"""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from braid.formats.fault import Fault
from braid.formats.json_values import json_row
from braid.formats.schema_registry.schema_source import SchemaSource
from braid.formats.unpaired_surrogates import with_escaped_surrogates
from braid.lake import TableSchema
from braid.records.new_fields.undeclared_field_reader import (
    UndeclaredFieldReader,
)
from braid.records.record_columns import HEADERS, KEY, OFFSET, PARTITION, TIMESTAMP, VALUE
from braid.records.record_reader import ReadRecords, RecordReader
from braid.records.stream_plan import StreamPlan
from braid.schemas import OnNewField, SampleOutcome, SampleRecord, SampleResult

_PLACE: Final = "place among the samples"
_HEADERS: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def try_records(
    plan: StreamPlan,
    schema: TableSchema,
    samples: Sequence[SampleRecord],
    *,
    schemas: SchemaSource | None = None,
) -> list[SampleResult]:
    """Return what becomes of records.

    Args:
        plan: The stream.
        schema: The table's schema.
        samples: The records.
        schemas: The schemas that messages name; None where the stream's format names no registry.

    Raises:
        StorageUnavailable: The schema registry of the stream does not answer.
    """
    reader = RecordReader(plan, schema, schemas=schemas)
    found = reader.read(_records(samples))
    results = [SampleResult(outcome=SampleOutcome.IGNORED)] * len(samples)
    changing = _changes(plan, schema, reader, found)
    fields = {column.name: schema.field(column.name) for column in plan.columns}
    for row, place in enumerate(found.records.column(_PLACE).to_pylist()):
        if row in changing:
            results[place] = changing[row]
        elif row in found.faults:
            results[place] = _dead_letter(found.faults[row])
        else:
            is_delete = bool(found.is_delete[row])
            names = plan.delete_columns if is_delete else tuple(fields)
            values = {name: found.columns[name][row].as_py() for name in names}
            results[place] = SampleResult(
                outcome=SampleOutcome.DELETE if is_delete else SampleOutcome.ROW,
                row=json_row(values, [fields[name] for name in names]),
            )
    return results


def _changes(
    plan: StreamPlan, schema: TableSchema, reader: RecordReader, found: ReadRecords
) -> dict[int, SampleResult]:
    """Return what becomes of the records with values or fields that the table cannot hold as it is."""
    if plan.spec.on_new_field is not OnNewField.EVOLVE:
        return {}
    fields = UndeclaredFieldReader(plan=plan, taken=tuple(schema.field_names))
    return {
        row: SampleResult(
            outcome=SampleOutcome.SCHEMA_CHANGE,
            changes=tuple(map(with_escaped_surrogates, (*map(".".join, delta.new), *delta.wider))),
        )
        for row, delta in reader.wanted_changes(found, fields).items()
    }


def _dead_letter(fault: Fault) -> SampleResult:
    return SampleResult(
        outcome=SampleOutcome.DEAD_LETTER,
        reason=fault.reason.value,
        message=with_escaped_surrogates(fault.message),
    )


def _records(samples: Sequence[SampleRecord]) -> pa.RecordBatch:
    """Return samples as Kafka records, beside their places."""
    headers = [
        [{"key": name, "value": text.encode()} for name, text in one.headers.items()] or None
        for one in samples
    ]
    offsets = [place if one.offset is None else one.offset for place, one in enumerate(samples)]
    timestamps = pa.array([one.timestamp_ms for one in samples], pa.int64())
    in_utc = timestamps.cast(pa.timestamp("ms", tz="UTC")).cast(pa.timestamp("us", tz="UTC"))
    return pa.RecordBatch.from_pydict(
        {
            KEY: pa.array([one.key_bytes for one in samples], pa.binary()),
            VALUE: pa.array([one.value_bytes for one in samples], pa.binary()),
            HEADERS: pa.array(headers, _HEADERS),
            PARTITION: pa.array([one.partition for one in samples], pa.int32()),
            OFFSET: pa.array(offsets, pa.int64()),
            TIMESTAMP: in_utc,
            _PLACE: pa.array(range(len(samples)), pa.int32()),
        }
    )
