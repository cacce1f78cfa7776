"""Writer of the records of dead letters: reads them by the present declaration and writes level-0 files; commits nothing.

The records go through the same code as those of a micro-batch, with the generation, partition, offset and timestamp
that they had. So the merge gives them the place among the records of their keys that they would have had. But a replay
never changes the table's schema: a record that needs a change is refused again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import pyarrow as pa

from braid.formats.dead_letter import DeadLetter, DeadLetterReason
from braid.formats.fault import Fault
from braid.formats.schema_registry.schema_source import SchemaSource
from braid.lake import CommitMessage, Table
from braid.records.accepted_rows import (
    accepted_records,
    accepted_rows,
    faults_of_refused_rows,
    one_batch,
    write_rows,
)
from braid.records.new_fields.undeclared_field_reader import UndeclaredFieldReader
from braid.records.poison_records import read_sifted
from braid.records.record_columns import HEADERS, KEY, OFFSET, PARTITION, TIMESTAMP, VALUE
from braid.records.record_reader import ReadRecords, RecordReader
from braid.records.rows_of_records import counted_once, rows_per_record, spread_faults
from braid.records.stream_plan import StreamPlan
from braid.schemas import OnNewField

_HEADERS_TYPE: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_MS_MAX: Final = 2**62 // 1_000
"""The largest timestamp as Spark's source gives it to a micro-batch: a larger one is clamped to it."""

Place = tuple[int, int]
"""Partition and offset of a record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenLetters:
    """What was written of some letters.

    Attributes:
        messages: Messages of the writer.
        max_sequence_number: The highest sequence number handed out; None without rows.
        accepted: Records that became a row of a file.
        folded: Records merged with a later one of the same key.
        ignored: Records left out, as the stream's declaration demands.
        failed: The other records, and why they are refused again.
    """

    messages: tuple[CommitMessage, ...]
    max_sequence_number: int | None
    accepted: int
    folded: int
    ignored: int
    failed: Mapping[Place, Fault]


def write_letters(
    letters: Sequence[DeadLetter],
    *,
    plan: StreamPlan,
    table: Table,
    schemas: SchemaSource | None,
    first_sequence_number: int,
) -> WrittenLetters:
    """Write the records of letters, each of which has another place.

    Args:
        letters: Whole letters with generation and timestamp.
        plan: The stream.
        table: Its table, of the plan's schema.
        schemas: The schemas that messages name; None where the stream's format names no registry.
        first_sequence_number: Greater than all sequence numbers in the table.

    Raises:
        StorageUnavailable: The storage, or the schema registry of the stream, does not answer.
        LakeError: The rows cannot be written; no file is left.
    """
    assert table.schema.id == plan.schema_id, "rows are written under the schema they are read for"
    reading = _Reading(plan=plan, reader=RecordReader(plan, table.schema, schemas=schemas))
    order = sorted(letters, key=lambda one: (one.generation, one.offset, one.partition))
    for generation, some in groupby(order, key=lambda one: one.generation):
        assert generation is not None, "a letter without a generation has no place"
        reading.read(letters_as_records(list(some)), generation=generation)
    accepted = reading.accepted_by(table)
    writer = table.writer(first_sequence_number=first_sequence_number)
    try:
        if accepted is not None and accepted.num_rows:
            write_rows(writer, one_batch(accepted))
        writer.flush()
        result = writer.prepare_commit()
    except BaseException:
        writer.abort()
        raise
    accepted_records, folded, ignored = counted_once(
        accepted=result.rows_accepted,
        folded=result.rows_folded,
        ignored=result.rows_ignored,
        further=reading.further_rows,
    )
    return WrittenLetters(
        messages=result.messages,
        max_sequence_number=result.max_sequence_number,
        accepted=accepted_records,
        folded=folded,
        ignored=reading.left_out + ignored,
        failed=reading.failed,
    )


def letters_as_records(letters: Sequence[DeadLetter]) -> pa.RecordBatch:
    """Return the records of letters as a stream's tasks receive them (`record_columns`)."""
    times = [
        None
        if letter.timestamp_ms is None
        else max(-_MS_MAX, min(_MS_MAX, letter.timestamp_ms)) * 1_000
        for letter in letters
    ]
    columns = {
        KEY: pa.array([letter.key for letter in letters], pa.binary()),
        VALUE: pa.array([letter.value for letter in letters], pa.binary()),
        HEADERS: pa.array(
            [
                [{"key": name, "value": value} for name, value in letter.headers]
                for letter in letters
            ],
            _HEADERS_TYPE,
        ),
        PARTITION: pa.array([letter.partition for letter in letters], pa.int32()),
        OFFSET: pa.array([letter.offset for letter in letters], pa.int64()),
        TIMESTAMP: pa.array(times, pa.int64()).cast(pa.timestamp("us", tz="UTC")),
    }
    return pa.RecordBatch.from_pydict(columns)


class _Reading:
    """Rows and refusals of the letters read so far."""

    def __init__(self, *, plan: StreamPlan, reader: RecordReader) -> None:
        self._plan = plan
        self._reader = reader
        self._rows: list[pa.RecordBatch] = []
        self._places: list[Place] = []
        self.failed: dict[Place, Fault] = {}
        self.left_out = 0
        # Rows of records beyond the first of each: a record counts once.
        self.further_rows = 0

    def read(self, records: pa.RecordBatch, *, generation: int) -> None:
        """Read records of one generation."""
        sifted = read_sifted(self._reader, records)
        found = sifted.found
        self.failed |= zip(_places(sifted.poison), sifted.faults, strict=True)
        self.left_out += found.left_out
        places = _places(found.records)
        faults = found.faults
        for row, fault in self._waiting(found).items():
            if row in faults:
                faults.remove(row)
            faults.add(row, fault)
        if found.record_of is not None:
            spread_faults(faults, found.record_of)
        self.failed |= {places[row]: faults[row] for row in faults.rows}
        is_accepted = ~faults.is_faulty
        if found.is_replaced is not None:
            is_accepted &= ~found.is_replaced
        self.further_rows += rows_per_record(found.record_of, is_accepted)
        if is_accepted.any():
            rows = accepted_rows(found, is_accepted, self._plan, generation=generation)
            self._rows.append(rows)
            self._places += _places(accepted_records(found, is_accepted))

    def accepted_by(self, table: Table) -> pa.Table | None:
        """Return the rows that a table accepts; None without any. The others have failed."""
        if not self._rows:
            return None
        rows = pa.Table.from_batches(self._rows)
        faults = faults_of_refused_rows(table, rows, None)
        failed = {self._places[row]: faults[row] for row in faults.rows}
        self.failed |= failed
        # A record is written as a whole or not at all.
        is_kept = [place not in failed for place in self._places]
        self.further_rows -= is_kept.count(False) - len(failed)
        return rows.filter(pa.array(is_kept, pa.bool_()))

    def _waiting(self, found: ReadRecords) -> dict[int, Fault]:
        """Return the records that need a change of the table, which only the running stream makes."""
        if self._plan.spec.on_new_field is not OnNewField.EVOLVE:
            return {}
        schema_names = tuple(column.name for column in self._plan.columns)
        fields = UndeclaredFieldReader(plan=self._plan, taken=schema_names)
        return {
            row: Fault(
                DeadLetterReason.NEW_FIELD,
                "the running stream has to change the table first, for "
                + ", ".join([*(".".join(path) for path in delta.new), *delta.wider])[:200],
            )
            for row, delta in self._reader.wanted_changes(found, fields).items()
        }


def _places(records: pa.RecordBatch) -> list[Place]:
    partitions = records.column(PARTITION).to_pylist()
    return list(zip(partitions, records.column(OFFSET).to_pylist(), strict=True))
