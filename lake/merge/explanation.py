"""Explanation of a merge: for each column the record that gives its value, and for every other record why it does not.

The row machine merges the records of a key one after the other, and the row after each record is compared with the row
before it. In most columns a merged row has the number of the record that holds the value (`records`), so the machine
itself names the record that gives a value. Only columns with an aggregate function have values; there a record is asked
whether it takes part. The rules of the engines are not repeated here.

| reason | of the record that gives the value | of another record |
|---|---|---|
| `only-version` | no other record has a part in the column | |
| `newer-sequence` | no record of the column is newer | a newer record has replaced its value |
| `first-row` | it came first, and the engine keeps the first | it came after the first |
| `late` | | it is older, by its ordering values, than a record that was merged before it |
| `null-skipped` | | it has no value for the column, or no place in the order of the column's group |
| `aggregated` | | its value went into the column's value, which no single record gives |
| `retracted` | it is a delete | a delete took its value away; or it is a delete that took values back |
| `ignored` | | it is a delete that the table or the column ignores |
| `unknown: compacted` | a compaction wrote it from records that are not known | the same |

Source: merge-semantics 2.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import pyarrow as pa

from braid.lake.format.system_columns import RowKind
from braid.lake.merge.declared_options import LAST_NON_NULL_VALUE, LAST_VALUE, SequenceGroup
from braid.lake.merge.engines.merge_function import MergedRow
from braid.lake.merge.functions.registry import function_named
from braid.lake.merge.records import Records, records_of
from braid.lake.merge.row_machine import (
    merge_engine,
    merge_segments,
    segments_of,
    selection_of,
)
from braid.lake.merge.selection import Selection
from braid.lake.merge.spec import ColumnFunction, MergeSpec
from braid.lake.options.table_options import MergeEngine


class Reason(StrEnum):
    """Why a record gives a column's value, or does not."""

    ONLY_VERSION = "only-version"
    NEWER_SEQUENCE = "newer-sequence"
    FIRST_ROW = "first-row"
    LATE = "late"
    NULL_SKIPPED = "null-skipped"
    AGGREGATED = "aggregated"
    RETRACTED = "retracted"
    IGNORED = "ignored"
    COMPACTED = "unknown: compacted"


_WITHOUT_PART: Final = (Reason.NULL_SKIPPED, Reason.IGNORED)
_REPLACING: Final = (LAST_VALUE, LAST_NON_NULL_VALUE)
"""Functions whose value is that of one record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnReasons:
    """Why a column has its value.

    Attributes:
        winner: Number of the record that gives the value; None if no single record gives it: the column is
            aggregated, or no record has a part in it.
        reasons: The reason of each record, the winner included, by number, in merge order.
    """

    winner: int | None
    reasons: Mapping[int, Reason]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeExplanation:
    """The merged row of one key, and why it has its values.

    Attributes:
        row: The merged row; None if every record was ignored, or the row is deleted.
        order: Numbers of the records in merge order, oldest first.
        columns: The reasons by column, without the primary key.
    """

    row: Selection | None
    order: tuple[int, ...]
    columns: Mapping[str, ColumnReasons]


def explain_merge(
    table: pa.Table, spec: MergeSpec, *, compacted: Collection[int] = ()
) -> MergeExplanation:
    """Return the merged row of one key with the reasons.

    Args:
        table: Key-value table of the records of one key, oldest first, with all columns; at least one.
        spec: How the records merge.
        compacted: Numbers of the records that compactions wrote: what they were merged from is not known.

    Raises:
        SchemaMismatch: The records cannot be merged; the message does not name the key.
    """
    records = records_of(table, spec)
    [segment] = segments_of(records, spec)
    history = _History(records, spec, segment, compacted)
    merged = history.merged
    columns = {
        name: history.reasons_of(name) for name in records.cells if name not in spec.key_columns
    }
    return MergeExplanation(
        row=None
        if merged is None or RowKind(merged.kind).is_retract
        else selection_of([merged], records, spec),
        order=tuple(segment),
        columns=columns,
    )


class _History:
    """The row of a key after each of its records."""

    def __init__(
        self,
        records: Records,
        spec: MergeSpec,
        segment: Sequence[int],
        compacted: Collection[int],
    ) -> None:
        self._compacted = compacted
        self._records = records
        self._spec = spec
        self._segment = segment
        self._names = tuple(records.cells)
        self._functions = {function.column: function for function in spec.functions}
        self._group_of = {
            name: group for group in spec.groups for name in (*group.ordering, *group.protected)
        }
        self._chooses_records = spec.engine in (MergeEngine.DEDUPLICATE, MergeEngine.FIRST_ROW)
        self._rows = list(_rows_after(records, spec, segment))
        self._removes = [self._has_removed(step) for step in range(len(segment))]
        self._owners: dict[str, tuple[int | None, ...]] = {}
        self._shared: dict[str, ColumnReasons] = {}

    @property
    def merged(self) -> MergedRow | None:
        """The row after all records; None if every record was ignored."""
        return self._rows[-1]

    def reasons_of(self, column: str) -> ColumnReasons:
        """Return the reasons of a column; columns that change together have one object."""
        if not self._is_combined(column):
            shared = self._shared_column(column)
            if shared not in self._shared:
                found = self._chosen(column, self._owners_of(column))
                self._shared[shared] = _with_compacted(found, self._compacted)
            return self._shared[shared]
        return _with_compacted(self._combined_or_last(column), self._compacted)

    def _is_combined(self, column: str) -> bool:
        """Return whether the function of a column is applied."""
        # Without a group, partial-update does not apply it.
        return column in self._functions and (
            self._spec.engine is MergeEngine.AGGREGATION or column in self._group_of
        )

    def _combined_or_last(self, column: str) -> ColumnReasons:
        function = self._functions[column]
        if function.name in _REPLACING:
            return self._chosen(column, tuple(self._owners_of_last(column, function)))
        return self._combined(column, function)

    def _chosen(self, column: str, owners: Sequence[int | None]) -> ColumnReasons:
        """Return the reasons of a column whose value one record gives, from this record after each step."""
        reasons: dict[int, Reason] = {}
        winner: int | None = None
        for record, owner in zip(self._segment, owners, strict=True):
            if owner == record:
                if winner is not None:
                    reasons[winner] = self._why_replaced(winner, record)
                winner = record
            reasons[record] = self._why_not(column, record)
        if winner is not None:
            del reasons[winner]
            is_alone = all(reason in _WITHOUT_PART for reason in reasons.values())
            reasons[winner] = self._why_given(winner, is_alone=is_alone)
        return self._in_order(winner, reasons)

    def _combined(self, column: str, function: ColumnFunction) -> ColumnReasons:
        """Return the reasons of a column whose function combines values."""
        reasons: dict[int, Reason] = {}
        for step, record in enumerate(self._segment):
            if self._removes[step]:
                # The row has the delete's values now, and nothing of what was combined before.
                reasons = {
                    number: reason if reason in _WITHOUT_PART else Reason.RETRACTED
                    for number, reason in reasons.items()
                }
                reasons[record] = Reason.RETRACTED
            else:
                reasons[record] = self._part_of(column, function, step)
        parts = [record for record, reason in reasons.items() if reason not in _WITHOUT_PART]
        if len(self._segment) == 1 and parts:
            # A single record is not merged: its value is the row's.
            return ColumnReasons(winner=parts[0], reasons={parts[0]: Reason.ONLY_VERSION})
        return ColumnReasons(winner=None, reasons=reasons)

    def _part_of(self, column: str, function: ColumnFunction, step: int) -> Reason:
        """Return the part of a record in a value that a function combines."""
        record = self._segment[step]
        before, after = self._value_after(step - 1, column), self._value_after(step, column)
        is_unchanged = after is before or after == before
        if self._is_absent(column, record):
            return Reason.NULL_SKIPPED
        if self._is_retract(record):
            return Reason.IGNORED if is_unchanged else Reason.RETRACTED
        if is_unchanged and self._records.cells[column][record] is None:
            return Reason.NULL_SKIPPED
        declaration = function_named(function.name)
        assert declaration is not None, "`merge_spec` refuses unknown functions"
        if is_unchanged and self._is_late(column, step) and not declaration.order_free:
            return Reason.LATE
        return Reason.AGGREGATED

    def _owners_of(self, column: str) -> tuple[int | None, ...]:
        """Return after each step the record that gives the value of a column without a function."""
        group, shared = self._group_of.get(column), self._shared_column(column)
        if shared not in self._owners:
            self._owners[shared] = tuple(
                self._owner_after(step, shared, group) for step in range(len(self._segment))
            )
        return self._owners[shared]

    def _shared_column(self, column: str) -> str:
        """Return one of the columns without a function that change together with a column.

        The columns of a group do, and so do all columns under an engine that chooses records.
        """
        if self._chooses_records:
            return self._spec.key_columns[0]
        group = self._group_of.get(column)
        return column if group is None else group.ordering[0]

    def _owner_after(self, step: int, column: str, group: SequenceGroup | None) -> int | None:
        record = self._segment[step]
        if self._removes[step]:
            return record
        if group is not None:
            # A record that takes part has a value in at least one ordering column.
            numbers = (self._number_after(step, name) for name in group.ordering)
            return next((number for number in numbers if number is not None), None)
        if column in self._functions:
            # The function is not applied, but the cells are values.
            is_value = self._records.cells[column][record] is not None
            return record if is_value and not self._is_retract(record) else None
        return self._number_after(step, column)

    def _owners_of_last(self, column: str, function: ColumnFunction) -> Iterator[int | None]:
        """Yield after each step the record that gives the value, or None where it stays the one before."""
        for step, record in enumerate(self._segment):
            before, value = self._value_after(step - 1, column), self._records.cells[column][record]
            if self._removes[step]:
                replaces = True
            elif self._is_absent(column, record):
                replaces = False
            elif self._is_retract(record):
                replaces = self._value_after(step, column) is not before
            elif function.name == LAST_VALUE:
                replaces = not self._is_late(column, step)
            else:
                replaces = value is not None and (before is None or not self._is_late(column, step))
            yield record if replaces else None

    def _why_not(self, column: str, record: int) -> Reason:
        """Return why a record did not give the value of a column when it was merged."""
        is_ordered = column in self._group_of
        if self._is_retract(record) and (self._spec.ignore_delete or not is_ordered):
            return Reason.IGNORED
        if self._spec.engine is MergeEngine.FIRST_ROW:
            return Reason.FIRST_ROW
        if not is_ordered or self._is_absent(column, record):
            return Reason.NULL_SKIPPED
        return Reason.LATE

    def _why_replaced(self, record: int, newer: int) -> Reason:
        """Return why a record does not give a value any more once a newer one was merged."""
        if self._is_retract(newer):
            return Reason.RETRACTED
        numbers = self._records.sequence_numbers
        # By `sequence.field` a record that arrived later can be merged earlier.
        is_late = bool(self._spec.sequence_fields) and numbers[record] > numbers[newer]
        return Reason.LATE if is_late else Reason.NEWER_SEQUENCE

    def _why_given(self, winner: int, *, is_alone: bool) -> Reason:
        if self._is_retract(winner):
            return Reason.RETRACTED
        if is_alone:
            return Reason.ONLY_VERSION
        is_first_row = self._spec.engine is MergeEngine.FIRST_ROW
        return Reason.FIRST_ROW if is_first_row else Reason.NEWER_SEQUENCE

    def _in_order(self, winner: int | None, reasons: Mapping[int, Reason]) -> ColumnReasons:
        in_order = {record: reasons[record] for record in self._segment}
        return ColumnReasons(winner=winner, reasons=in_order)

    def _has_removed(self, step: int) -> bool:
        """Return whether a delete has removed the row, which is then a copy of the delete."""
        record, row = self._segment[step], self._rows[step]
        can_remove = self._spec.remove_record_on_delete or bool(self._spec.removing_columns)
        if row is None or not can_remove or len(self._segment) == 1:
            return False
        if not row.kind == self._records.kinds[record] == RowKind.DELETE:
            return False
        copied = (cells[record] for cells in self._records.cells.values())
        return all(cell is own or cell == own for cell, own in zip(row.cells, copied, strict=True))

    def _is_retract(self, record: int) -> bool:
        return RowKind(self._records.kinds[record]).is_retract

    def _is_absent(self, column: str, record: int) -> bool:
        """Return whether a record does not take part in the group of a column."""
        group = self._group_of.get(column)
        return group is not None and all(
            self._records.cells[name][record] is None for name in group.ordering
        )

    def _is_late(self, column: str, step: int) -> bool:
        """Return whether a record that takes part in the group of a column is older than the row."""
        if column not in self._group_of:
            return False
        return self._owners_of(self._group_of[column].ordering[0])[step] != self._segment[step]

    def _value_after(self, step: int, column: str) -> object:
        row = self._rows[step] if step >= 0 else None
        return None if row is None else row.cells[self._names.index(column)]

    def _number_after(self, step: int, column: str) -> int | None:
        number = self._value_after(step, column)
        assert number is None or isinstance(number, int), "the number of a record"
        return number


def _rows_after(
    records: Records, spec: MergeSpec, segment: Sequence[int]
) -> Iterator[MergedRow | None]:
    """Yield the row after each record; None while all records were ignored."""
    if len(segment) == 1:
        yield from merge_segments(records, spec, [segment])
        return
    engine = merge_engine(records, spec)
    engine.reset()
    for record in segment:
        engine.add(record)
        yield engine.result()


def _with_compacted(found: ColumnReasons, compacted: Collection[int]) -> ColumnReasons:
    """Return the reasons with those of compacted records unknown, unless they have no part in the column."""
    reasons = {
        record: Reason.COMPACTED if record in compacted and reason not in _WITHOUT_PART else reason
        for record, reason in found.reasons.items()
    }
    return ColumnReasons(winner=found.winner, reasons=reasons)
