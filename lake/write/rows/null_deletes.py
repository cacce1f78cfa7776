"""Retracts as a table with `braid.null-deletes` stores them: without the values that they delete.

In the format, the effect of a retract depends on the row that it meets when it is merged; a retract that is the first
record of its key even leaves its own values in the row. In a table with `braid.null-deletes` the writer replaces the
retracts of the sequence groups that the option names by records whose effect does not depend on that row:

| a retract in a group | is written as |
|---|---|
| that removes rows (`partial-update.remove-record-on-sequence-group`) | the same retract, without values |
| of any other kind | a +I of nulls with the record's ordering values, which empties the group if it is the newest record |

The key, the partition columns, the ordering columns of all groups and NOT NULL columns are kept, and so are the
columns of `braid.null-deletes.kept-fields`, such as the time of the record. In a +I the columns of
`braid.null-deletes.mark-fields` in the groups of the retract get the text `clear`. A column that becomes null gets no
default value.

A record that also takes part in a group that the option does not name, or in a group that removes rows, stays a
retract. If the option does not name a group of the record, the columns of that group keep their values in the
retract. All columns of a retract that are not named here become null.

Source: this engine; merge-semantics 2.3 has what a retract does otherwise.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.lake.format.schema import TableSchema
from braid.lake.format.system_columns import RowKind, is_retract
from braid.lake.merge.declared_options import SequenceGroup, declared_groups, removing_columns
from braid.lake.write.rows.group_participation import takes_part

CLEAR_MARK: Final = "clear"
"""Value of the columns of `braid.null-deletes.mark-fields` in a group that was cleared."""

_Bools = npt.NDArray[np.bool_]


def apply_null_deletes(
    rows: pa.Table, kinds: pa.Array, schema: TableSchema
) -> tuple[pa.Table, pa.Array]:
    """Return rows and their kinds as a table with `braid.null-deletes` stores them.

    Args:
        rows: All columns of the table, in its order.
        kinds: int8, one per row.
        schema: The table's schema.

    Returns:
        The same number of rows, in the same order; the arguments themselves where there is no
        retract or the table has no such groups.
    """
    named = set(schema.table_options.null_deletes)
    if not named:
        return rows, kinds
    values = kinds.to_numpy()
    retracts = np.flatnonzero(is_retract(values))
    if not len(retracts):
        return rows, kinds
    groups = tuple(declared_groups(schema.options).values())
    chosen = rows.take(pa.array(retracts))
    members = {group: takes_part(chosen, group) for group in groups}
    clears = _clears(len(retracts), members, named, set(removing_columns(schema.options)))
    emptied = _without_values(chosen, schema, members, named, clears)
    assert emptied.num_rows == len(retracts), "each retract is rewritten as one row"
    adds = np.zeros(len(values), dtype=np.bool_)
    adds[retracts[clears]] = True
    new_kinds = pa.array(np.where(adds, np.int8(RowKind.INSERT), values), pa.int8())
    # The emptied rows are appended to the given ones; retracts are taken from there, other rows
    # stay.
    indexes = np.arange(len(values))
    indexes[retracts] = len(values) + np.arange(len(retracts))
    return pa.concat_tables([rows, emptied]).take(pa.array(indexes)), new_kinds


def _clears(
    count: int, members: Mapping[SequenceGroup, _Bools], named: set[str], removing: set[str]
) -> _Bools:
    """Return which retracts only clear columns of named groups, and so become +I.

    A retract that also takes part in another group, or in a group that removes rows, stays a
    retract.
    """
    clears = np.zeros(count, dtype=np.bool_)
    other = np.zeros(count, dtype=np.bool_)
    for group, chosen in members.items():
        if not named.intersection(group.ordering) or removing.intersection(group.ordering):
            other |= chosen
        else:
            clears |= chosen
    return clears & ~other


def _without_values(
    rows: pa.Table,
    schema: TableSchema,
    members: Mapping[SequenceGroup, _Bools],
    named: set[str],
    clears: _Bools,
) -> pa.Table:
    """Return retracts with only the values that are kept; NOT NULL columns keep all their values."""
    options = schema.table_options
    kept = {*schema.primary_keys, *schema.partition_keys, *options.null_deletes_kept_fields}
    group_of = {name: group for group in members for name in group.protected}
    kept.update(name for group in members for name in group.ordering)
    marks = set(options.null_deletes_mark_fields)
    columns: list[pa.ChunkedArray] = []
    for field in schema.fields:
        column, group = rows.column(field.name), group_of.get(field.name)
        if field.name in kept or not field.type.nullable:
            columns.append(column)
        elif group is not None and not named.intersection(group.ordering):
            # A group that the option does not name keeps the retracts of the format, with values.
            columns.append(_null_where(column, ~members[group]))
        elif group is not None and field.name in marks:
            texts = pa.chunked_array([pa.repeat(pa.scalar(CLEAR_MARK, column.type), len(clears))])
            columns.append(_null_where(texts, ~(clears & members[group])))
        else:
            columns.append(pa.chunked_array([pa.nulls(rows.num_rows, column.type)]))
    return pa.Table.from_arrays(columns, schema=rows.schema)


def _null_where(column: pa.ChunkedArray, chosen: _Bools) -> pa.ChunkedArray:
    # A masked index becomes null. Unlike `if_else`, `take` supports every type of column.
    return column.take(pa.array(np.arange(len(column)), mask=chosen))
