"""Retracts that say which part of a row goes, and carry no values of it (`braid.null-deletes`).

A retract of the format is an event: what it leaves behind depends on what was there when it was
merged, and the first record of a key leaves its own values. In a table with `braid.null-deletes` the
retracts of the sequence groups that it names become what does not depend on that, when they are
written:

| a retract of a group | is written as |
|---|---|
| that removes rows (`partial-update.remove-record-on-sequence-group`) | itself, without values |
| any other | a +I of nulls under the record's order: the newest of the group says it is empty |

Kept besides the key and the groups' order are the columns of `braid.null-deletes.kept-fields`, such as the time of the record; the columns of
`braid.null-deletes.mark-fields` say `clear`. Default values are not filled in.

Source: ours; merge-semantics 2.3 has what a retract does otherwise.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lake.format.arrays import combined_array, validity
from lake.format.schema import TableSchema
from lake.format.system_columns import RowKind
from lake.merge.declared_options import SequenceGroup, declared_groups, removing_columns

CLEAR_MARK: Final = "clear"
"""What the columns of `braid.null-deletes.mark-fields` say of a group that was cleared."""

_Bools = npt.NDArray[np.bool_]


def without_deleted_values(
    rows: pa.Table, kinds: pa.Array, schema: TableSchema
) -> tuple[pa.Table, pa.Array]:
    """Return rows and their kinds as a table with `braid.null-deletes` stores them.

    Args:
        rows: All columns of the table, in its order.
        kinds: int8, one per row.
        schema: Of the table.

    Returns:
        As many rows, in the same order; the same ones where no retract is among them or the table
        has no such groups.
    """
    named = set(schema.table_options.null_deletes)
    if not named:
        return rows, kinds
    values = kinds.to_numpy()
    retracts = np.flatnonzero(values & 1)
    if not len(retracts):
        return rows, kinds
    groups = tuple(declared_groups(schema.options).values())
    chosen = rows.take(pa.array(retracts))
    takes_part = {group: _takes_part(chosen, group) for group in groups}
    clears = _clears(len(retracts), takes_part, named, set(removing_columns(schema.options)))
    bare = _bare(chosen, schema, takes_part, named, clears)
    adds = np.zeros(len(values), dtype=np.bool_)
    adds[retracts[clears]] = True
    new_kinds = pa.array(np.where(adds, np.int8(RowKind.INSERT), values), pa.int8())
    # Each row from where it is now: the others where they were, the retracts behind them.
    places = np.arange(len(values))
    places[retracts] = len(values) + np.arange(len(retracts))
    return pa.concat_tables([rows, bare]).take(pa.array(places)), new_kinds


def _takes_part(rows: pa.Table, group: SequenceGroup) -> _Bools:
    found = np.zeros(rows.num_rows, dtype=np.bool_)
    for name in group.ordering:
        found |= validity(combined_array(rows.column(name)))
    return found


def _clears(
    count: int, takes_part: Mapping[SequenceGroup, _Bools], named: set[str], removing: set[str]
) -> _Bools:
    """Return which retracts only clear columns, of groups that are named."""
    clears = np.zeros(count, dtype=np.bool_)
    other = np.zeros(count, dtype=np.bool_)
    for group, chosen in takes_part.items():
        if not named.intersection(group.ordering) or removing.intersection(group.ordering):
            other |= chosen
        else:
            clears |= chosen
    return clears & ~other


def _bare(
    rows: pa.Table,
    schema: TableSchema,
    takes_part: Mapping[SequenceGroup, _Bools],
    named: set[str],
    clears: _Bools,
) -> pa.Table:
    """Return retracts without the values that go."""
    options = schema.table_options
    kept = {*schema.primary_keys, *schema.partition_keys, *options.null_deletes_kept_fields}
    group_of = {name: group for group in takes_part for name in group.protected}
    kept.update(name for group in takes_part for name in group.ordering)
    marks = set(options.null_deletes_mark_fields)
    columns: list[pa.ChunkedArray] = []
    for field in schema.fields:
        column, group = rows.column(field.name), group_of.get(field.name)
        if field.name in kept or not field.type.nullable:
            columns.append(column)
        elif group is not None and not named.intersection(group.ordering):
            columns.append(_null_where(column, ~takes_part[group]))
        elif group is not None and field.name in marks:
            texts = pa.chunked_array([pa.repeat(pa.scalar(CLEAR_MARK, column.type), len(clears))])
            columns.append(_null_where(texts, ~(clears & takes_part[group])))
        else:
            columns.append(pa.chunked_array([pa.nulls(rows.num_rows, column.type)]))
    return pa.Table.from_arrays(columns, schema=rows.schema)


def _null_where(column: pa.ChunkedArray, chosen: _Bools) -> pa.ChunkedArray:
    # By its places: not every type of a column can be chosen from by condition.
    return column.take(pa.array(np.arange(len(column)), mask=chosen))
