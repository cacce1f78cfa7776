"""States of the sequence groups of many rows: the rules of `row_status`, for Arrow columns instead of one row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake import TableSchema
from braid.registry.layout.physical_table import OP_CLEAR, PhysicalGroup, physical_groups
from braid.schemas import GroupState, TableDocument
from braid.service.control.row_status import complete_when, is_cleared, stale_after_seconds

Mask = npt.NDArray[np.bool_]

_UNDATED: Final = -(1 << 63)
_DELIVERED = (GroupState.PRESENT, GroupState.STALE)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStates:
    """The state of each group in each of some rows.

    Attributes:
        masks: By group and state, one boolean per row: exactly one state of each group is true.
        complete: Whether each row is complete by the table's rule.
        turns_stale_ms: When the first of the rows that are `present` becomes `stale`, milliseconds since 1970; None: none does.
    """

    masks: Mapping[str, Mapping[GroupState, Mask]]
    complete: Mask
    turns_stale_ms: int | None


def group_states(
    document: TableDocument, schema: TableSchema, rows: pa.Table | pa.RecordBatch, *, now_ms: int
) -> GroupStates:
    """Return the states of rows that exist.

    Args:
        document: The table's declaration.
        schema: The schema that the rows were read under.
        rows: At least the columns of `status_columns`.
        now_ms: The time at which ages are measured, milliseconds since 1970.
    """
    masks: dict[str, Mapping[GroupState, Mask]] = {}
    turns_stale: list[int] = []
    for group in physical_groups(document.table):
        after_s = stale_after_seconds(document, group.name)
        at_ms = _at_ms(group, schema, rows)
        is_dated = at_ms != _UNDATED
        absent = _all_null(group.ordering, schema, rows) & ~is_dated
        deleted = _deleted(document, group, schema, rows) & ~absent
        stale = np.zeros(len(absent), dtype=bool)
        if after_s is not None:
            stale = is_dated & (at_ms < now_ms - after_s * 1_000) & ~absent & ~deleted
        present = ~(absent | deleted | stale)
        masks[group.name] = {
            GroupState.ABSENT: absent,
            GroupState.PRESENT: present,
            GroupState.STALE: stale,
            GroupState.DELETED: deleted,
        }
        dated = at_ms[present & is_dated]
        if after_s is not None and len(dated):
            turns_stale.append(int(dated.min()) + after_s * 1_000 + 1)
    delivered = [
        reduce(np.logical_or, (masks[name][state] for state in _DELIVERED))
        for name in complete_when(document)
    ]
    return GroupStates(
        masks=masks,
        complete=reduce(np.logical_and, delivered, np.ones(rows.num_rows, dtype=bool)),
        turns_stale_ms=min(turns_stale, default=None),
    )


def _at_ms(
    group: PhysicalGroup, schema: TableSchema, rows: pa.Table | pa.RecordBatch
) -> npt.NDArray[np.int64]:
    """Return the time of each row's newest record of a group, milliseconds since 1970; `_UNDATED` where it is null."""
    if group.at_column is None or group.at_column not in schema.fields_by_name:
        return np.full(rows.num_rows, _UNDATED, dtype=np.int64)
    times = rows.column(group.at_column).cast(pa.timestamp("ms", tz="UTC")).cast(pa.int64())
    return _numpy(pc.fill_null(times, _UNDATED))


def _deleted(
    document: TableDocument,
    group: PhysicalGroup,
    schema: TableSchema,
    rows: pa.Table | pa.RecordBatch,
) -> Mask:
    found = np.zeros(rows.num_rows, dtype=bool)
    if group.op_column is not None and group.op_column in schema.fields_by_name:
        found |= _numpy(pc.fill_null(pc.equal(rows.column(group.op_column), OP_CLEAR), False))
    if is_cleared(document, group):
        found |= _all_null(group.protected_columns, schema, rows)
    return found


def _all_null(names: Sequence[str], schema: TableSchema, rows: pa.Table | pa.RecordBatch) -> Mask:
    nulls = [_numpy(rows.column(name).is_null()) for name in names if name in schema.fields_by_name]
    return reduce(np.logical_and, nulls, np.ones(rows.num_rows, dtype=bool))


def _numpy(values: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    found: npt.NDArray[Any] = (
        values.to_numpy()
        if isinstance(values, pa.ChunkedArray)
        else values.to_numpy(zero_copy_only=False)
    )
    return found
