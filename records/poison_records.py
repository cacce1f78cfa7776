"""Poison records: records whose reading raises an unexpected error; they are found by bisection.

Readers name a fault of each record that they cannot read. If a reader raises an error instead, the reader or a
library has a defect that shows with this record. The record must not stop its stream. So the batch is read again in
halves, down to single records, and a record that raises an error alone becomes a dead letter. Errors of storage,
registries and memory do not come from a record, and are raised. An error that many records cause is raised, too,
because it comes from the declaration or the program.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from braid.formats.dead_letter import DeadLetterReason
from braid.formats.fault import Fault
from braid.records.accepted_rows import one_batch
from braid.records.record_reader import ReadRecords, RecordReader
from braid.records.trial_writes import find_refused_rows, is_refusal

POISON_MAX: Final = 100
"""Poison records of one batch of records, beyond which the error is raised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiftedRecords:
    """A batch of records without the poison ones.

    Attributes:
        found: What the reader has found in the others.
        poison: The poison records.
        faults: Why each of these is refused.
    """

    found: ReadRecords
    poison: pa.RecordBatch
    faults: tuple[Fault, ...]


def read_sifted(reader: RecordReader, records: pa.RecordBatch) -> SiftedRecords:
    """Read records, and find those whose reading raises.

    Args:
        reader: The stream's reader.
        records: Kafka records (`record_columns`).

    Raises:
        LakeError: The storage or a registry does not answer.
        Exception: Reading raises for more than `POISON_MAX` records.
    """
    try:
        found = reader.read(records)
    except Exception as error:
        if not is_refusal(error):
            raise
        refused = poison_rows(records, reader.read, error)
    else:
        return SiftedRecords(found=found, poison=records.slice(0, 0), faults=())
    positions = sorted(refused)
    kept = [row for row in range(records.num_rows) if row not in refused]
    return SiftedRecords(
        found=reader.read(records.take(pa.array(kept, pa.int64()))),
        poison=records.take(pa.array(positions, pa.int64())),
        faults=tuple(
            Fault(DeadLetterReason.POISON, f"reading the record fails: {refused[row]}")
            for row in positions
        ),
    )


def poison_rows(
    records: pa.RecordBatch, read: Callable[[pa.RecordBatch], object], error: Exception
) -> Mapping[int, str]:
    """Return the positions of the records whose reading raises, and why.

    Args:
        records: Kafka records.
        read: Reads records; has no other effect.
        error: What it has raised for all of them.

    Raises:
        Exception: The error of more than `POISON_MAX` records, or of none.
    """

    def attempt(some: pa.Table) -> None:
        read(one_batch(some))

    refused = find_refused_rows(pa.Table.from_batches([records]), attempt, refused_max=POISON_MAX)
    if not refused:
        # The second reading has succeeded: nothing about the records is wrong.
        raise error
    return refused
