"""Keys with retracts, made ready for whole batches: what seeds them, what acts, what removes.

A record that removes the row makes everything before it irrelevant, but for whether an add was seen
and whether a function fails: a history begins there, with a copy of it. So a key with retracts is
vectorised like any other, unless it cannot be told beforehand which records remove it, or what they
leave behind.

Source: merge-semantics 2.3, 2.4, 3.5.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lake.format.arrays import combined_array, validity
from lake.format.system_columns import RowKind, is_retract
from lake.merge.declared_options import LAST_NON_NULL_VALUE, LAST_VALUE, SequenceGroup
from lake.merge.engines.partial_update import null_in_not_null_column, retract_not_allowed
from lake.merge.functions.registry import FUNCTIONS
from lake.merge.group_reduction import GroupOrder, late_positions, takes_part
from lake.merge.history import History
from lake.merge.reductions import last_positions
from lake.merge.segments import Bools, Ints, Segments
from lake.merge.selection import NO_ROW
from lake.merge.spec import MergeSpec
from lake.options import MergeEngine

Kinds = npt.NDArray[np.int8]

# What they remember of a key beside the accumulated value does not end where a removal begins.
_STATEFUL = frozenset({"first_value", "first_non_null_value", "first_not_null_value"})
# They take every value, and take it back: whatever came before a removal, it went well.
_NEVER_FAILING = frozenset({LAST_VALUE, LAST_NON_NULL_VALUE})


@dataclass(frozen=True, slots=True, kw_only=True)
class RetractedKeys:
    """Keys with retracts.

    Attributes:
        history: Of the keys that are vectorised. A key of several removals has several histories,
            one after another, each from a removal to the next; the last one tells.
        keys: Their segments, ascending.
        last_history: Of each key, the number of its last history; None when each has one.
        sequence_numbers: One per vectorised key.
        kinds: One per vectorised key.
        row_machine: The segments of the other keys, ascending.
    """

    history: History
    keys: Ints
    last_history: Ints | None = None
    sequence_numbers: Ints
    kinds: Kinds
    row_machine: Ints


def retracted_keys(
    table: pa.Table,
    spec: MergeSpec,
    segments: Segments,
    keys: Ints,
    *,
    kinds: Kinds,
    sequence_numbers: Ints,
    orders: Mapping[SequenceGroup, GroupOrder],
) -> RetractedKeys:
    """Return how the records of keys with retracts act, under partial-update or aggregation.

    Args:
        table: Key-value table.
        spec: How its records merge.
        segments: All its rows.
        keys: The segments that hold a retract, ascending; at least one.
        kinds: Of each row.
        sequence_numbers: Of each row.
        orders: Of each group whose ordering columns the table has.

    Raises:
        SchemaMismatch: Null for a NOT NULL column where a record is copied, or a retract that the
            table does not allow.
    """
    part = segments.subset(keys)
    unclear = _needs_row_machine(spec, part, kinds[part.order], orders)
    apart = keys[unclear]
    if len(apart):
        keys = keys[~unclear]
        part = segments.subset(keys)
    if not len(keys):
        return RetractedKeys(
            history=History(segments=part),
            keys=keys,
            sequence_numbers=np.empty(0, dtype=np.int64),
            kinds=np.empty(0, dtype=np.int8),
            row_machine=apart,
        )
    part_kinds = kinds[part.order]
    removing = _removing_positions(spec, part, part_kinds, orders)
    _check_not_null(table, spec, part, part_kinds, removing)
    retracts = is_retract(part_kinds)
    is_removed = removing == part.lasts
    last_history = None
    if spec.engine is MergeEngine.PARTIAL_UPDATE:
        is_removed |= ~part.any_of(~retracts)
        history = _partial_update_history(spec, part, retracts, removing)
    else:
        history = _aggregation_history(spec, part, part_kinds)
        last_history = np.searchsorted(history.segments.starts, part.lasts, side="right") - 1
    return RetractedKeys(
        history=history,
        keys=keys,
        last_history=last_history,
        sequence_numbers=_sequence_numbers(spec, part, retracts, sequence_numbers),
        kinds=np.where(is_removed, np.int8(RowKind.DELETE), np.int8(RowKind.INSERT)),
        row_machine=apart,
    )


def _needs_row_machine(
    spec: MergeSpec,
    part: Segments,
    kinds: Kinds,
    orders: Mapping[SequenceGroup, GroupOrder],
) -> Bools:
    """Return which segments have to be merged one record at a time."""
    candidates = kinds == RowKind.DELETE
    if spec.removing_columns:
        candidates &= _takes_part_in_any(spec, part, orders)
    elif not spec.remove_record_on_delete:
        return np.zeros(part.count, dtype=np.bool_)
    names = {function.name for function in spec.functions}
    if names & _STATEFUL or not names <= FUNCTIONS.keys():
        return part.any_of(candidates)
    if not spec.removing_columns:
        return np.zeros(part.count, dtype=np.bool_)
    if not names <= _NEVER_FAILING:
        # A removing record is taken back from the columns before its group's ordering columns.
        return part.any_of(candidates)
    # Whether a second one removes depends on what the first one left.
    several: Bools = np.bincount(part.segment_of[candidates], minlength=part.count) > 1
    return several


def _removing_positions(
    spec: MergeSpec,
    part: Segments,
    kinds: Kinds,
    orders: Mapping[SequenceGroup, GroupOrder],
) -> Ints:
    """Return the position of the last record that removes the row, per segment; `NO_ROW` for none."""
    removes = np.zeros(len(part.order), dtype=np.bool_)
    if spec.remove_record_on_delete:
        removes = kinds == RowKind.DELETE
    for group, order in _removing_groups(spec, orders):
        in_time = takes_part(part, order)
        late = late_positions(part, order, in_time)
        if late is not None:
            in_time = in_time & ~late
        removes |= in_time & (kinds == RowKind.DELETE)
        assert group.ordering, "a group has ordering columns"
    return last_positions(
        part, np.flatnonzero(removes), default=np.full(part.count, NO_ROW, dtype=np.int64)
    )


def _removing_groups(
    spec: MergeSpec, orders: Mapping[SequenceGroup, GroupOrder]
) -> list[tuple[SequenceGroup, GroupOrder]]:
    return [
        (group, order)
        for group, order in orders.items()
        if spec.removing_columns.intersection(group.ordering)
    ]


def _takes_part_in_any(
    spec: MergeSpec, part: Segments, orders: Mapping[SequenceGroup, GroupOrder]
) -> Bools:
    found = np.zeros(len(part.order), dtype=np.bool_)
    for _, order in _removing_groups(spec, orders):
        found |= takes_part(part, order)
    return found


def _partial_update_history(
    spec: MergeSpec, part: Segments, retracts: Bools, removing: Ints
) -> History:
    removed = removing != NO_ROW
    firsts = np.where(removed, removing, part.starts)
    tails = part.tails(firsts)
    retracts = retracts[np.arange(len(part.order)) >= firsts[part.segment_of]]
    seeded = removed | retracts[tails.starts]
    if not spec.groups or spec.ignore_delete:
        acts = ~retracts
    else:
        acts = np.ones(len(tails.order), dtype=np.bool_)
        acts[tails.starts[removed]] = False
    return History(segments=tails, acts=acts, is_retract=_any(retracts), seeded=_any(seeded))


def _aggregation_history(spec: MergeSpec, part: Segments, kinds: Kinds) -> History:
    retracts = is_retract(kinds)
    if not spec.remove_record_on_delete:
        return History(segments=part, is_retract=_any(retracts))
    removes = kinds == RowKind.DELETE
    is_start = removes.copy()
    is_start[part.starts] = True
    pieces = Segments(order=part.order, starts=np.flatnonzero(is_start))
    seeded = removes[pieces.starts]
    return History(segments=pieces, acts=~removes, is_retract=_any(retracts), seeded=_any(seeded))


def _any(chosen: Bools) -> Bools | None:
    return chosen if chosen.any() else None


def _sequence_numbers(
    spec: MergeSpec, part: Segments, retracts: Bools, sequence_numbers: Ints
) -> Ints:
    if not spec.ignore_delete:
        numbers: Ints = sequence_numbers[part.last_rows]
        return numbers
    # An ignored record leaves the number alone; it is 0 before any other.
    none = np.full(part.count, NO_ROW, dtype=np.int64)
    positions = last_positions(part, np.flatnonzero(~retracts), default=none)
    return np.where(positions == NO_ROW, 0, sequence_numbers[part.order[positions]])


def _check_not_null(
    table: pa.Table, spec: MergeSpec, part: Segments, kinds: Kinds, removing: Ints
) -> None:
    """Raise for a retract that is not allowed, or a null that copying a record would meet."""
    partial = spec.engine is MergeEngine.PARTIAL_UPDATE
    if partial and not (spec.groups or spec.ignore_delete or spec.remove_record_on_delete):
        raise retract_not_allowed()
    copied = np.zeros(len(part.order), dtype=np.bool_)
    if spec.remove_record_on_delete:
        copied = kinds == RowKind.DELETE
    copied[removing[removing != NO_ROW]] = True
    if partial:
        leads = part.starts[is_retract(kinds[part.starts])]
        copied[leads] = True
        if not spec.groups:
            copied |= ~is_retract(kinds)
    rows = part.order[copied]
    for name in table.column_names:
        column = table.column(name)
        checked = name in spec.not_null_columns and column.null_count
        if checked and not validity(combined_array(column))[rows].all():
            raise null_in_not_null_column(name)
