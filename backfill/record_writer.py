"""Writer of one commit of a backfill: passes rows to the table's writer and refused records to the reject file.

It commits nothing itself. It ends the backfill with an error when more records are refused than are
allowed.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.backfill.read_chunk import ReadChunk, Source
from braid.backfill.rejects import Rejects, TooManyRejects
from braid.formats.dead_letter import DeadLetterReason
from braid.formats.fault import Fault
from braid.lake import RowKind, Table
from braid.records.table_columns import table_columns
from braid.records.trial_writes import find_refused_rows

RowWrite: TypeAlias = Callable[[pa.RecordBatch, pa.Array | None], None]
_ROW: Final = "_ROW"  # tables can have no column of this name


@dataclass(kw_only=True)
class RecordWriter:
    """Writes the chunks of one commit, in their order.

    Attributes:
        table: The table.
        source: Where the records come from.
        generation: The generation in which they are written.
        rejects: Where refused ones go.
        rejects_max: The largest number of refused records of the whole backfill.
        rejected: The number that the table's account has already.
        tries_rows: Whether rows go through a trial write first, so that those that the table refuses become refused
            records.
        write_rows: Writes rows, with their kinds where not all are inserts.
        ignored: Number of records that the stream leaves out, so far.
        reasons: Number of refused records by reason, so far.
    """

    table: Table
    source: Source
    generation: int
    rejects: Rejects
    rejects_max: int
    rejected: int
    tries_rows: bool
    write_rows: RowWrite
    ignored: int = field(default=0, init=False)
    reasons: Counter[str] = field(default_factory=Counter, init=False)

    def write(self, chunk: ReadChunk) -> None:
        """Write the rows of a chunk.

        Raises:
            TooManyRejects: More records were refused than are allowed; nothing of this commit is kept.
            LakeError: What the table's writer raises.
        """
        found = chunk.found
        if found is None:
            return
        records = found.records
        self.ignored += chunk.records - records.num_rows
        for row in found.faults.rows:
            self._refuse(records, row, found.faults[row])
        is_accepted = ~found.faults.is_faulty
        if not is_accepted.any():
            return
        columns, missing, is_delete = found.columns, found.missing, found.is_delete
        if not is_accepted.all():
            mask = pa.array(is_accepted)
            records, is_delete = records.filter(mask), is_delete[is_accepted]
            columns = {name: array.filter(mask) for name, array in columns.items()}
            missing = {name: array.filter(mask) for name, array in missing.items()}
        rows = table_columns(
            records,
            columns,
            chunk.plan,
            generation=self.generation,
            is_delete=is_delete,
            missing=missing,
        )
        has_kinds = chunk.plan.spec.has_deletes and chunk.plan.kind_column is None
        self._write_accepted(rows, _kinds(is_delete) if has_kinds else None, records)

    def _write_accepted(
        self, rows: pa.RecordBatch, kinds: pa.Array | None, records: pa.RecordBatch
    ) -> None:
        refused = self._refused(rows, kinds) if self.tries_rows else {}
        for row, why in sorted(refused.items()):
            fault = Fault(DeadLetterReason.REFUSED_ROW, f"the table refuses the row: {why}")
            self._refuse(records, row, fault)
        if refused:
            is_kept = np.ones(rows.num_rows, bool)
            is_kept[list(refused)] = False
            mask = pa.array(is_kept)
            rows, kinds = rows.filter(mask), None if kinds is None else kinds.filter(mask)
        if rows.num_rows:
            self.write_rows(rows, kinds)

    def _refused(self, rows: pa.RecordBatch, kinds: pa.Array | None) -> Mapping[int, str]:
        """Return the rows that the table refuses although reading has found no fault, and why."""
        numbered = pa.Table.from_batches([rows]).append_column(_ROW, pa.array(range(rows.num_rows)))

        def attempt(some: pa.Table) -> None:
            places = some.column(_ROW).combine_chunks()
            of_rows = None if kinds is None else kinds.take(places)
            self.table.try_rows(some.drop_columns([_ROW]), kinds=of_rows)

        return find_refused_rows(numbered, attempt)

    def _refuse(self, records: pa.RecordBatch, row: int, fault: Fault) -> None:
        self.reasons[fault.reason.value] += 1
        self.rejects.add(self.source.described(records, row), fault)
        total = self.rejected + self.reasons.total()
        if total > self.rejects_max:
            self.rejects.flush()
            raise TooManyRejects(total, self.rejects_max, fault, self.rejects.path)


def _kinds(is_delete: npt.NDArray[np.bool_]) -> pa.Array:
    return pa.array(
        np.where(is_delete, np.int8(RowKind.DELETE), np.int8(RowKind.INSERT)), pa.int8()
    )
