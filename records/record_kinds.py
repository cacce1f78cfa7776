"""Classification of a stream's records before any column is read: left out, refused, deletes, rows.

The first line that applies decides:

| record | kind |
|---|---|
| a condition uses its headers, Kafka key or timestamp, which cannot be read | refused, for the same reason as a column that cannot be read |
| the part of `where` that does not use the value is not true | left out: the record belongs to another stream |
| it has no value, or an envelope without a payload | as `on_tombstone` says; dead letters have the reason `tombstone` |
| its value is longer than the stream's bound | refused (`too_large`) |
| a comparison of `where` is not true, with a field of the value that can be read | left out: the record belongs to another stream |
| a condition uses a field of the value that cannot be read | refused, for the same reason as a column that cannot be read |
| `delete_when` is true, or the event is a delete | as `on_delete` says; dead letters have the reason `delete` |
| its event cannot be read | refused |
| its event changes no row | left out |

Every record has headers, a timestamp and an offset, also a tombstone or a record whose value is too long. So a `where` over
them leaves out such records of other streams as well, and does not read their values. Conditions are evaluated before the
columns are read for two reasons: the fields of another stream's record may have values that fit none of this stream's
columns, and a delete needs only few columns (`StreamPlan.delete_columns`).

The events of captured changes are opened here. One event may yield several rows. `SortedRecords` has these rows together
with the columns that are read from the event's envelope and from its position in the database's log.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.arrays import rows_where
from braid.formats.change_capture.changes import ChangeReader, ReadChanges
from braid.formats.change_capture.envelopes import open_envelopes
from braid.formats.dead_letter import DeadLetterReason
from braid.formats.declared_digits import with_declared_digits
from braid.formats.fault import Fault, Faults
from braid.formats.message_reader import ReaderOf
from braid.formats.readers import message_reader
from braid.formats.schema_registry.schema_source import SchemaSource
from braid.lake import matching_rows
from braid.records.condition_parts import ConditionPartReader
from braid.records.record_columns import KEY, VALUE
from braid.records.stream_plan import StreamPlan
from braid.schemas import OnDelete

_Bools = npt.NDArray[np.bool_]
_TOMBSTONE: Final = Fault(
    DeadLetterReason.TOMBSTONE,
    "the record has no value, and `on_tombstone` of the stream refuses such records",
)
_DELETE: Final = Fault(
    DeadLetterReason.DELETE,
    "the record is a delete by `delete_when`, and `on_delete` refuses deletes",
)
_DELETE_EVENT: Final = Fault(
    DeadLetterReason.DELETE, "the event is a delete, and `on_delete` refuses deletes"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedRecords:
    """A batch of records by their kinds, without those that are left out.

    Attributes:
        records: The records that are not left out; one that yields several rows is there for each of them.
        left_out: The number of those that are.
        values: The values of the records, or the rows of their changes, to be read; null where a record is
            refused or has no value.
        is_delete: Whether each row is a delete.
        faults: The faults of records that are refused already.
        seen_fields: Addresses of the conditions' fields and parts that some record had a value for, those that
            are left out included.
        record_of: For each row the number of its record, ascending; None: each record has one row.
        columns: By name, the columns that are read from the events of changes, and from their positions.
    """

    records: pa.RecordBatch
    left_out: int
    values: pa.BinaryArray
    is_delete: _Bools
    faults: Faults
    seen_fields: frozenset[str]
    record_of: npt.NDArray[np.int64] | None = None
    columns: Mapping[str, pa.Array] = field(default_factory=dict)


class RecordKinds:
    """Tells the kinds of the records of one stream."""

    def __init__(
        self,
        plan: StreamPlan,
        schemas: SchemaSource | None = None,
        *,
        reader_of: ReaderOf | None = None,
        changes: ChangeReader | None = None,
    ) -> None:
        """Prepare to read the fields and parts of conditions.

        Args:
            plan: The stream.
            schemas: The schemas that messages name; None where the stream's format names no registry.
            reader_of: Returns the reader of values where they are not in the stream's format.
            changes: Reads the events of captured changes; None where records are rows.
        """
        self._spec = plan.spec
        self._conditions = plan.conditions
        self._changes = changes
        self._positions = tuple(column.name for column in plan.position_columns)
        if changes is not None:
            reader_of = changes.parts
        reader_of = reader_of or partial(message_reader, plan.spec.format, schemas=schemas)
        self._reader_of = reader_of
        self._reader = reader_of(plan.conditions.fields) if plan.conditions.fields else None
        parts = plan.conditions.parts
        self._parts = ConditionPartReader(parts, plan.spec, schemas) if parts else None

    def sort(self, records: pa.RecordBatch) -> SortedRecords:
        """Return a batch by the kinds of its records.

        Args:
            records: Kafka records (`record_columns`).
        """
        marks = _Marks(records.num_rows)
        values = records.column(VALUE)
        parts = self._read_parts(records, marks)
        if values.null_count:
            is_open = ~(marks.is_left_out | marks.faults.is_faulty)
            marks.treat(self._spec.on_tombstone, _bools(values.is_null()) & is_open, _TOMBSTONE)
        if marks.is_left_out.any():
            values = _null_where(pa.array(marks.is_left_out), values)
        values = self._bounded(values, marks.faults)
        opened = None
        if self._changes is not None:
            has_value = _bools(values.is_valid())
            opened = self._changes.open(values)
            values = opened.payloads
            is_empty = has_value & _bools(values.is_null())
            marks.treat(self._spec.on_tombstone, is_empty, _TOMBSTONE)
        if self._reader is not None or parts:
            values = self._evaluated(values, parts, marks)
        if self._changes is not None and opened is not None:
            opened = replace(opened, payloads=_null_where(pa.array(marks.is_left_out), values))
            found = self._changes.read(opened, records.column(KEY))
            return self._rows(records, found, marks)
        kept = np.flatnonzero(~marks.is_left_out)
        left_out = records.num_rows - len(kept)
        if not left_out:
            return SortedRecords(
                records=records,
                left_out=0,
                values=values,
                is_delete=marks.is_delete,
                faults=marks.faults,
                seen_fields=frozenset(marks.seen_fields),
            )
        rows = pa.array(kept)
        return SortedRecords(
            records=records.take(rows),
            left_out=left_out,
            values=values.take(rows),
            is_delete=marks.is_delete[kept],
            faults=_of_rows(marks.faults, kept),
            seen_fields=frozenset(marks.seen_fields),
        )

    def _rows(self, records: pa.RecordBatch, found: ReadChanges, marks: "_Marks") -> SortedRecords:
        """Return the rows of captured changes."""
        on_delete = self._spec.on_delete
        assert on_delete is not None, "an admitted stream says what its deletes do"
        marks.faults.add_found(found.faults)
        events = np.arange(records.num_rows) if found.events is None else found.events
        is_delete = found.is_delete
        if on_delete is OnDelete.DEAD_LETTER:
            marks.faults.add_all(np.unique(events[is_delete]).tolist(), _DELETE_EVENT)
        is_kept = ~(marks.is_left_out | found.is_ignored)[events]
        if on_delete is OnDelete.IGNORE:
            is_kept &= ~is_delete | marks.faults.is_faulty[events]
        rows = np.flatnonzero(is_kept)
        events = events[rows]
        # A delete by tombstone is a row, too; only unwrapped events may be one.
        is_delete = (is_delete[rows] & on_delete.deletes) | marks.is_delete[events]
        faults = _of_rows(marks.faults, events)
        taken = pa.array(events)
        columns = {name: array.take(taken) for name, array in found.columns.items()}
        if found.positions is not None:
            columns |= dict.fromkeys(self._positions, found.positions.take(pa.array(rows)))
        values = found.rows.take(pa.array(rows))
        return SortedRecords(
            records=records.take(taken),
            left_out=records.num_rows - len(np.unique(events)),
            values=_null_where(pa.array(faults.is_faulty), values) if len(faults) else values,
            is_delete=is_delete,
            faults=faults,
            seen_fields=frozenset(marks.seen_fields),
            record_of=None if found.events is None else events,
            columns=columns,
        )

    def _bounded(self, values: pa.BinaryArray, faults: Faults) -> pa.BinaryArray:
        """Return the values without those that are too long, whose records are refused."""
        limit = self._spec.max_message_bytes
        lengths = pc.binary_length(values)
        is_long = pc.greater(lengths, limit).fill_null(False)
        if not pc.any(is_long).as_py():
            return values
        for row in rows_where(is_long):
            message = f"the value has {lengths[row]} bytes, `max_message_bytes` allows {limit}"
            faults.add(row, Fault(DeadLetterReason.TOO_LARGE, message))
        return _null_where(is_long, values)

    def _read_parts(self, records: pa.RecordBatch, marks: "_Marks") -> Mapping[str, pa.Array]:
        """Mark records by what the conditions say of their parts; return the values of the parts, by name."""
        if self._parts is None:
            return {}
        if self._changes is not None:
            place = records.schema.get_field_index(KEY)
            keys = open_envelopes(records.column(KEY)).payloads
            records = records.set_column(place, records.schema.field(KEY), keys)
        parts, faults = self._parts.read(records)
        marks.note_seen(parts)
        marks.faults.add_found(faults)
        belongs = self._conditions.belonging_by_parts(parts)
        if belongs is not None:
            marks.is_left_out |= ~_bools(belongs) & ~faults.is_faulty
        return parts

    def _evaluated(
        self, values: pa.BinaryArray, parts: Mapping[str, pa.Array], marks: "_Marks"
    ) -> pa.BinaryArray:
        """Mark records by the conditions; return the values without those of refused records."""
        is_undecided = marks.faults.is_faulty | ~_bools(values.is_valid())
        fields: dict[str, pa.Array] = {}
        if self._reader is not None:
            found = self._reader.read(values)
            fields = {
                field.name: with_declared_digits(array, field.type)
                for field, array in zip(self._conditions.fields, found.arrays, strict=True)
            }
            marks.note_seen(fields)
            for row in self._left_out_although_faulty(values, found.faults):
                found.faults.remove(row)
                marks.is_left_out[row] = True
            marks.faults.add_found(found.faults)
            is_undecided |= found.faults.is_faulty
        belongs = self._conditions.belonging(fields)
        if belongs is not None:
            marks.is_left_out |= ~_bools(belongs) & ~is_undecided
        deletes = self._conditions.deleting({**parts, **fields})
        if deletes is not None:
            assert self._spec.on_delete is not None, "an admitted stream says what its deletes do"
            is_delete = _bools(deletes) & ~is_undecided & ~marks.is_left_out
            marks.treat(self._spec.on_delete, is_delete, _DELETE)
        is_faulty = marks.faults.is_faulty
        return _null_where(pa.array(is_faulty), values) if is_faulty.any() else values

    def _left_out_although_faulty(self, values: pa.BinaryArray, faults: Faults) -> list[int]:
        """Return the rows of records that `where` leaves out by one field, although another field of a condition cannot be read.

        A reader of several fields does not tell the others of a faulty record, so each field of `where` is read on its own.
        """
        rows = np.array(faults.rows, dtype=np.int64)
        chosen = values.take(pa.array(rows))
        is_left_out = np.zeros(len(rows), dtype=np.bool_)
        if len(rows):
            for field_, conditions in self._conditions.where_by_field():
                found = self._reader_of((field_,)).read(chosen)
                (array,) = found.arrays
                compared = {field_.name: with_declared_digits(array, field_.type)}
                holds = matching_rows(compared, conditions)
                assert holds is not None, "there is a condition of each field"
                is_left_out |= ~_bools(holds) & ~found.faults.is_faulty
        left_out: list[int] = rows[is_left_out].tolist()
        return left_out


class _Marks:
    """The kinds of a batch's records, as far as they have been told."""

    def __init__(self, count: int) -> None:
        self.faults = Faults(count)
        self.is_left_out: _Bools = np.zeros(count, dtype=np.bool_)
        self.is_delete: _Bools = np.zeros(count, dtype=np.bool_)
        self.seen_fields: set[str] = set()

    def note_seen(self, fields: Mapping[str, pa.Array]) -> None:
        """Note the fields and parts of conditions that some record has a value for."""
        self.seen_fields |= {
            name for name, array in fields.items() if array.null_count < len(array)
        }

    def treat(self, effect: OnDelete, chosen: _Bools, fault: Fault) -> None:
        """Mark deletes by their declared effect; where that is `dead_letter`, with a fault."""
        match effect:
            case OnDelete.IGNORE:
                self.is_left_out |= chosen
            case OnDelete.CLEAR_COLUMNS | OnDelete.REMOVE_ROW:
                self.is_delete |= chosen
            case OnDelete.DEAD_LETTER:
                self.faults.add_all(np.flatnonzero(chosen).tolist(), fault)


def _bools(array: pa.Array) -> _Bools:
    found: _Bools = array.to_numpy(zero_copy_only=False)
    return found


def _null_where(mask: pa.BooleanArray, values: pa.BinaryArray) -> pa.BinaryArray:
    return pc.if_else(mask, pa.scalar(None, values.type), values)


def _of_rows(faults: Faults, rows: npt.NDArray[np.int64]) -> Faults:
    """Return the faults of some rows, counted from 0 among these."""
    found = Faults(len(rows))
    for row in np.flatnonzero(faults.is_faulty[rows]).tolist():
        found.add(row, faults[int(rows[row])])
    return found
