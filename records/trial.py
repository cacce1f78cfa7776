"""Trial of a stream: reads sample records with the code of the running stream, and returns what becomes of each.

Nothing is written. So a trial cannot report refusals of the later steps: rows that the table's writer would refuse, and
schema changes that the registry would refuse.
"""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from braid.formats.fault import Fault, Faults
from braid.formats.json_values import json_row
from braid.formats.schema_registry.schema_source import SchemaSource
from braid.formats.unpaired_surrogates import with_escaped_surrogates
from braid.lake import DataField, TableSchema
from braid.records.accepted_rows import accepted_rows
from braid.records.new_fields.schema_delta import SchemaDelta
from braid.records.new_fields.undeclared_field_reader import UndeclaredFieldReader
from braid.records.record_reader import ReadRecords, RecordReader
from braid.records.sample_batch import PLACE, sample_batch
from braid.records.stream_plan import StreamPlan
from braid.schemas import (
    SAMPLE_ROWS_MAX,
    OnNewField,
    SampleOutcome,
    SampleRecord,
    SampleResult,
    SampleRow,
)


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
    found = reader.read(sample_batch(samples))
    changing = _changes(plan, schema, reader, found)
    rows_of: list[list[int]] = [[] for _ in samples]
    for row, place in enumerate(found.records.column(PLACE).to_pylist()):
        rows_of[place].append(row)
    fields = {column.name: schema.field(column.name) for column in plan.columns}
    return [_result(plan, fields, found, rows, changing) for rows in rows_of]


def try_record(
    plan: StreamPlan, schema: TableSchema, record: SampleRecord, *, generation: int
) -> tuple[SampleResult, pa.RecordBatch | None]:
    """Return what becomes of one record, and the rows (`accepted_rows`) that are written for it; None: none are.

    Args:
        plan: The stream, whose format names no schema registry.
        schema: The table's schema.
        record: The record.
        generation: Generation of the order of the stream's group.
    """
    reader = RecordReader(plan, schema)
    found = reader.read(sample_batch([record]))
    changing = _changes(plan, schema, reader, found)
    fields = {column.name: schema.field(column.name) for column in plan.columns}
    result = _result(plan, fields, found, range(found.records.num_rows), changing)
    if result.outcome not in (SampleOutcome.ROW, SampleOutcome.DELETE):
        return result, None
    return result, accepted_rows(found, ~found.faults.is_faulty, plan, generation=generation)


def _result(
    plan: StreamPlan,
    fields: Mapping[str, DataField],
    found: ReadRecords,
    rows: Sequence[int],
    changing: Mapping[int, SchemaDelta],
) -> SampleResult:
    """Return what becomes of one record.

    Args:
        plan: The stream.
        fields: The columns of the plan, by name.
        found: The records that were read.
        rows: The rows that this one yields; none if it is left out.
        changing: The change of the table by row, for the rows that need one.
    """
    if not rows:
        return SampleResult(outcome=SampleOutcome.IGNORED)
    fault = _lasting_fault(found.faults, rows, changing)
    if fault is not None:
        return _dead_letter(fault)
    changes = [name for row in rows if row in changing for name in _names(changing[row])]
    if changes:
        return SampleResult(
            outcome=SampleOutcome.SCHEMA_CHANGE, changes=tuple(dict.fromkeys(changes))
        )

    def shown(row: int) -> SampleRow:
        is_delete = bool(found.is_delete[row])
        names = plan.delete_columns if is_delete else tuple(fields)
        values = {name: found.columns[name][row].as_py() for name in names}
        return SampleRow(
            outcome=SampleOutcome.DELETE if is_delete else SampleOutcome.ROW,
            row=json_row(values, [fields[name] for name in names]),
        )

    written = [row for row in rows if found.is_replaced is None or not found.is_replaced[row]]
    last = shown(written[-1])
    return SampleResult(
        outcome=last.outcome,
        row=last.row,
        rows=tuple(map(shown, written[:SAMPLE_ROWS_MAX])) if len(written) > 1 else (),
    )


def _lasting_fault(
    faults: Faults, rows: Sequence[int], changing: Mapping[int, SchemaDelta]
) -> Fault | None:
    """Return the first fault of a record that no change of the table removes; None: it has none.

    All rows of a record share the fault of one of them, so a change that removes it there removes it from all.
    """
    removed = [faults[row] for row in rows if row in changing and row in faults]
    lasting = (faults[row] for row in rows if row in faults and row not in changing)
    return next((fault for fault in lasting if fault not in removed), None)


def _names(delta: SchemaDelta) -> tuple[str, ...]:
    """Return the new fields and the columns with wider types of a change."""
    return tuple(map(with_escaped_surrogates, (*map(".".join, delta.new), *delta.wider)))


def _changes(
    plan: StreamPlan, schema: TableSchema, reader: RecordReader, found: ReadRecords
) -> dict[int, SchemaDelta]:
    """Return the change of the table by row, for rows with values or fields that it cannot hold as it is."""
    if plan.spec.on_new_field is not OnNewField.EVOLVE:
        return {}
    fields = UndeclaredFieldReader(plan=plan, taken=tuple(schema.field_names))
    return reader.wanted_changes(found, fields)


def _dead_letter(fault: Fault) -> SampleResult:
    return SampleResult(
        outcome=SampleOutcome.DEAD_LETTER,
        reason=fault.reason.value,
        message=with_escaped_surrogates(fault.message),
    )
