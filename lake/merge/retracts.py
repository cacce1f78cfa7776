"""Histories of keys with retracts, for whole batches: which records seed a row, act on it, and remove it.

A record that removes the row replaces it by a copy of the record's own values (a *removal*). So a history can begin
at a removal, with the copy as its seed, and is vectorised like any other:

1. A key goes to the row machine if its removals, or the state after a removal, depend on the merge itself
   (`_needs_row_machine`).
2. For the other keys the last removal is found (`_last_removals`). Retracts that the table does not allow, and nulls
   in NOT NULL columns, are refused (`_check_copied_records`).
3. Under partial-update a key has one history, from its last removal on. Under aggregation it has a history from each
   removal to the next, because functions may fail in any of them; the last history gives the result. The sequence
   number and the kind of the row come from all records of the key.

Source: merge-semantics 2.3, 2.4, 3.5.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.lake.format.arrays import validity
from braid.lake.format.system_columns import RowKind, is_retract
from braid.lake.merge.declared_options import LAST_NON_NULL_VALUE, LAST_VALUE, SequenceGroup
from braid.lake.merge.engines.partial_update import null_in_not_null_column, retract_not_allowed
from braid.lake.merge.functions.registry import FUNCTIONS
from braid.lake.merge.group_reduction import OrderingCodes, late_positions, takes_part
from braid.lake.merge.key_histories import History
from braid.lake.merge.row_reductions import last_positions
from braid.lake.merge.segments import Bools, Ints, Segments
from braid.lake.merge.selection import NO_ROW
from braid.lake.merge.spec import MergeSpec
from braid.lake.options.table_options import MergeEngine

Kinds = npt.NDArray[np.int8]
Orders = Mapping[SequenceGroup, OrderingCodes]

# These functions keep state of a key beside the accumulated value, and a removal does not reset it.
_STATEFUL = frozenset({"first_value", "first_non_null_value", "first_not_null_value"})
# These functions accept every value and every retract, so records before a removal need not be
# merged.
_NEVER_FAILING = frozenset({LAST_VALUE, LAST_NON_NULL_VALUE})


@dataclass(frozen=True, slots=True, kw_only=True)
class RetractedKeys:
    """Keys with retracts.

    Attributes:
        history: The histories of the vectorised keys. A key with several removals has several
            histories, one after another; the last one gives its row.
        keys: The segments of the vectorised keys, ascending.
        last_history: For each key, the number of its last history; None when each key has one.
        sequence_numbers: One sequence number per vectorised key.
        kinds: One row kind per vectorised key.
        row_machine: The segments of the other keys, ascending.
    """

    history: History
    keys: Ints
    last_history: Ints | None = None
    sequence_numbers: Ints
    kinds: Kinds
    row_machine: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class _Records:
    """The records of some keys that each have a retract.

    Attributes:
        spec: How the records merge.
        orders: The order of each group whose ordering columns the table has.
        segments: One segment per key.
        kinds: The row kind at each position.
    """

    spec: MergeSpec
    orders: Orders
    segments: Segments
    kinds: Kinds

    @classmethod
    def of(
        cls, spec: MergeSpec, orders: Orders, segments: Segments, keys: Ints, kinds: Kinds
    ) -> "_Records":
        """Return the records of some segments of a table, given the kind of each of its rows."""
        part = segments.subset(keys)
        return cls(spec=spec, orders=orders, segments=part, kinds=kinds[part.order])

    @property
    def is_partial_update(self) -> bool:
        return self.spec.engine is MergeEngine.PARTIAL_UPDATE

    @property
    def retracts(self) -> Bools:
        """Return which positions hold a -U or -D."""
        return is_retract(self.kinds)

    @property
    def deletes(self) -> Bools:
        """Return which positions hold a -D."""
        deletes: Bools = self.kinds == RowKind.DELETE
        return deletes

    @property
    def removing_orders(self) -> list[OrderingCodes]:
        """Return the orders of the groups whose -D removes the row."""
        return [
            order
            for group, order in self.orders.items()
            if self.spec.removing_columns.intersection(group.ordering)
        ]


def retracted_keys(
    table: pa.Table,
    spec: MergeSpec,
    segments: Segments,
    keys: Ints,
    *,
    kinds: Kinds,
    sequence_numbers: Ints,
    orders: Orders,
) -> RetractedKeys:
    """Return how the records of keys with retracts act, under partial-update or aggregation.

    Args:
        table: Key-value table.
        spec: How its records merge.
        segments: All rows of the table, by key.
        keys: The segments that hold a retract, ascending; at least one.
        kinds: The row kind of each row.
        sequence_numbers: The sequence number of each row.
        orders: The order of each group whose ordering columns the table has.

    Raises:
        SchemaMismatch: Null for a NOT NULL column where a record is copied, or a retract that the
            table does not allow.
    """
    assert len(keys), "called only where a key has a retract"
    records = _Records.of(spec, orders, segments, keys, kinds)
    by_row = _needs_row_machine(records)
    row_machine = keys[by_row]
    if len(row_machine):
        keys = keys[~by_row]
        records = _Records.of(spec, orders, segments, keys, kinds)
    if not len(keys):
        return RetractedKeys(
            history=History(segments=records.segments),
            keys=keys,
            sequence_numbers=np.empty(0, dtype=np.int64),
            kinds=np.empty(0, dtype=np.int8),
            row_machine=row_machine,
        )
    removals = _last_removals(records)
    _check_copied_records(table, records, removals)
    last_history = None
    if records.is_partial_update:
        history = _partial_update_history(records, removals)
    else:
        history = _aggregation_history(records)
        # The history in which the last record of each key lies.
        last_history = (
            np.searchsorted(history.segments.starts, records.segments.lasts, side="right") - 1
        )
    return RetractedKeys(
        history=history,
        keys=keys,
        last_history=last_history,
        sequence_numbers=_merged_sequence_numbers(records, sequence_numbers),
        kinds=_merged_kinds(records, removals),
        row_machine=row_machine,
    )


def _needs_row_machine(records: _Records) -> Bools:
    """Return which keys have to be merged one record at a time."""
    spec, segments = records.spec, records.segments
    nowhere = np.zeros(segments.count, dtype=np.bool_)
    candidates = records.deletes
    if spec.removing_columns:
        # A -D whose ordering columns are null in every removing group cannot remove the row.
        candidates &= _takes_part_in_any(records)
    elif not spec.remove_record_on_delete:
        return nowhere
    functions = {function.name for function in spec.functions}
    # The state of a user's function is unknown, so it is assumed to outlive a removal.
    if functions & _STATEFUL or not functions <= FUNCTIONS.keys():
        return segments.any_of(candidates)
    if not spec.removing_columns:
        # Every -D removes, whatever the row holds: all removals are known.
        return nowhere
    if not functions <= _NEVER_FAILING:
        # Columns are retracted in table order, so those before the ordering column that removes the
        # row have called their functions on the -D already, and one of these may fail.
        return segments.any_of(candidates)
    # One -D removes unless it is late, which its ordering columns decide. Whether a second one is late
    # depends on whether the first one replaced the row's ordering columns by its own.
    several: Bools = np.bincount(segments.segment_of[candidates], minlength=segments.count) > 1
    return several


def _takes_part_in_any(records: _Records) -> Bools:
    """Return which positions take part in a group whose -D removes the row."""
    found = np.zeros(len(records.segments.order), dtype=np.bool_)
    for order in records.removing_orders:
        found |= takes_part(records.segments, order)
    return found


def _last_removals(records: _Records) -> Ints:
    """Return the position of the last record of each key that removes the row; `NO_ROW` for none."""
    segments, deletes = records.segments, records.deletes
    removes = np.zeros(len(segments.order), dtype=np.bool_)
    if records.spec.remove_record_on_delete:
        removes = deletes
    for order in records.removing_orders:
        accepted = takes_part(segments, order)
        late = late_positions(segments, order, accepted)
        if late is not None:
            accepted = accepted & ~late
        removes = removes | (accepted & deletes)
    none = np.full(segments.count, NO_ROW, dtype=np.int64)
    return last_positions(segments, np.flatnonzero(removes), default=none)


def _partial_update_history(records: _Records, removals: Ints) -> History:
    """Return one history per key, from its last removal on, else from its first record."""
    spec, segments = records.spec, records.segments
    is_removed = removals != NO_ROW
    firsts = np.where(is_removed, removals, segments.starts)
    tails = segments.tails(firsts)
    in_tail = np.arange(len(segments.order)) >= firsts[segments.segment_of]
    retracts = records.retracts[in_tail]
    assert len(retracts) == len(tails.order), "tails hold every position from their first on"
    # A retract that comes first is copied as well (R1 of `engines.partial_update`).
    seeded = is_removed | retracts[tails.starts]
    if not spec.groups or spec.ignore_delete:
        # After the seed a retract does nothing: it is ignored (R2), or a -U without groups (R5).
        acts = ~retracts
    else:
        acts = np.ones(len(tails.order), dtype=np.bool_)
        # A removal copies and stops (R4). A first retract that does not remove acts after its copy.
        acts[tails.starts[is_removed]] = False
    return History(
        segments=tails,
        acts=acts,
        is_retract=_none_if_empty(retracts),
        seeded=_none_if_empty(seeded),
    )


def _aggregation_history(records: _Records) -> History:
    """Return the histories of all keys, a new one from each removal on."""
    segments, retracts = records.segments, records.retracts
    if not records.spec.remove_record_on_delete:
        return History(segments=segments, is_retract=_none_if_empty(retracts))
    removes = records.deletes
    is_start = removes.copy()
    is_start[segments.starts] = True
    pieces = Segments(order=segments.order, starts=np.flatnonzero(is_start))
    seeded = removes[pieces.starts]
    # A removal is only copied: no function sees it.
    return History(
        segments=pieces,
        acts=~removes,
        is_retract=_none_if_empty(retracts),
        seeded=_none_if_empty(seeded),
    )


def _none_if_empty(chosen: Bools) -> Bools | None:
    return chosen if chosen.any() else None


def _merged_kinds(records: _Records, removals: Ints) -> Kinds:
    """Return -D for keys whose last record removed the row, else +I.

    Under partial-update a key without an add is a -D too. An add before the removal counts, so the
    whole key is examined, not only its history.
    """
    segments = records.segments
    is_deleted = removals == segments.lasts
    if records.is_partial_update:
        is_deleted |= ~segments.any_of(~records.retracts)
    return np.where(is_deleted, np.int8(RowKind.DELETE), np.int8(RowKind.INSERT))


def _merged_sequence_numbers(records: _Records, sequence_numbers: Ints) -> Ints:
    """Return the sequence number of each key's row: that of its last record that is not ignored."""
    segments = records.segments
    if not records.spec.ignore_delete:
        numbers: Ints = sequence_numbers[segments.last_rows]
        return numbers
    none = np.full(segments.count, NO_ROW, dtype=np.int64)
    positions = last_positions(segments, np.flatnonzero(~records.retracts), default=none)
    # A key whose records are all ignored keeps the 0 that the engine begins with.
    return np.where(positions == NO_ROW, 0, sequence_numbers[segments.order[positions]])


def _check_copied_records(table: pa.Table, records: _Records, removals: Ints) -> None:
    """Raise for a retract that is not allowed, or a null in a NOT NULL column of a copied record."""
    spec, segments, deletes = records.spec, records.segments, records.deletes
    partial = records.is_partial_update
    if partial and not (spec.groups or spec.ignore_delete or spec.remove_record_on_delete):
        raise retract_not_allowed()
    # Every removal is copied, not only the last one: the row machine would fail at any of them.
    copied = deletes if spec.remove_record_on_delete else np.zeros_like(deletes)
    copied[removals[removals != NO_ROW]] = True
    if partial:
        retracts = records.retracts
        # A retract that comes first is copied (R1).
        copied[segments.starts[retracts[segments.starts]]] = True
        if not spec.groups:
            # Without groups an add may not hold null there either (A2).
            copied |= ~retracts
    rows = segments.order[copied]
    for name in table.column_names:
        column = table.column(name)
        checked = name in spec.not_null_columns and column.null_count
        if checked and not validity(column)[rows].all():
            raise null_in_not_null_column(name)
