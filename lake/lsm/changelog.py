"""Changelog of a merge: the changes between the rows before and the rows after.

| before | after | changelog |
|---|---|---|
| no row | row | `+I` after |
| no row | no row | - |
| row | no row | `-D` before |
| row | row | `-U` before, `+U` after; with `changelog-producer.row-deduplicate` nothing if all compared columns are equal (`compared_columns`) |

A retract counts as no row. `-U` and `-D` carry the sequence number of the old row, `+I` and `+U` that of
the new one. The changelog of a first-row table has only the rows of new keys, each with its own kind.

Both changelog producers that compare rows follow this table. They differ in the record that is the
old row, and in the keys that can have a change:

| producer | before | keys with a change |
|---|---|---|
| `full-compaction` | the record on the highest level | keys with a record on a lower level |
| `lookup` | the record on the lowest level from 1 on, which may have been found by lookup | keys with a record on level 0 |

So one number distinguishes them: the *base level*, which is the highest for `full-compaction` and 1 for `lookup`.
A record on that level or a higher one is the old row.

The changelog of the producer `input` is not computed here: it has the records as they were before
merging (`braid.lake.write.files.changelog_files`).

Source: merge-semantics 6.2, 6.4, 6.5; first-row: 2.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.lake.format.arrays import combined_array
from braid.lake.format.schema import TableSchema
from braid.lake.format.system_columns import LEVEL, VALUE_KIND, RowKind, is_retract
from braid.lake.lsm.column_equality import equal_values
from braid.lake.lsm.round_merge import lowest_levels
from braid.lake.merge.order.key_codes import Uints
from braid.lake.merge.order.key_order import key_codes
from braid.lake.merge.segments import run_starts

Bools = npt.NDArray[np.bool_]


def compared_columns(schema: TableSchema) -> tuple[str, ...] | None:
    """Return the columns in which an update has to differ to be reported; None: all updates are reported.

    With `changelog-producer.row-deduplicate` these are all columns except the key columns, which are equal
    anyway, and the columns of `changelog-producer.row-deduplicate-ignore-fields`.
    """
    options = schema.table_options
    if not options.changelog_producer_row_deduplicate:
        return None
    left_out = {
        *schema.trimmed_primary_keys,
        *options.changelog_producer_row_deduplicate_ignore_fields,
    }
    return tuple(name for name in schema.field_names if name not in left_out)


def merge_changes(
    records: pa.Table,
    codes: Uints | None,
    merged: pa.Table,
    *,
    base_level: int,
    key_columns: Sequence[str],
    compared: Sequence[str] | None = None,
) -> pa.Table:
    """Return the changelog of merging the records of some keys.

    Args:
        records: Key-value table with `_LEVEL`: all records that were merged, those found by lookup
            included, each with the level of its file.
        codes: The records' `key_codes`, if known.
        merged: The merged rows, sorted by key; retracts count as no row.
        base_level: Records from this level on are old rows: 1 for the producer `lookup`, the highest
            level for `full-compaction`.
        key_columns: The trimmed primary key, in order.
        compared: Columns; an update that changes none of them is left out. None keeps every update.

    Returns:
        Key-value table with the columns of `merged`, sorted by key, the `-U` of a key before its `+U`.
        Keys without a record below the base level have no change.

    Source:
        merge-semantics 6.2, 6.4.
    """
    levels = combined_array(records.column(LEVEL)).to_numpy()
    is_new = levels < base_level
    if not is_new.any():
        return merged.slice(0, 0)
    keys, after = _align(records, codes, merged, key_columns)
    # Only a new record can change a row; rows of keys without one were merged with nothing.
    is_changed = keys.any_of(is_new)
    before = _Coded(merged.slice(0, 0), keys.codes[:0])
    if not is_new.all():
        is_before = ~is_new & keys.spread(is_changed)
        old = records.select(merged.column_names)
        before = _Coded(old, keys.record_codes).filter(is_before)
        # On several levels a key has several old rows, and the lowest level has the newest.
        lowest = lowest_levels(levels[is_before], before.codes)
        if lowest is not None:
            before = before.filter(lowest)
    if not is_changed.all():
        after = after.filter(_is_in(after.codes, keys.codes[is_changed]))
    return _diff(before, after, compared)


def first_row_changes(
    records: pa.Table, codes: Uints | None, merged: pa.Table, *, key_columns: Sequence[str]
) -> pa.Table:
    """Return the changelog of a first-row table: the rows of new keys.

    Rows keep their kind, so an update that comes first stays `+U`.

    Args:
        records: Key-value table with `_LEVEL`: all records that were merged. A key with a record from
            level 1 on, which may have been found by lookup, is not new.
        codes: The records' `key_codes`, if known.
        merged: The merged rows, sorted by key.
        key_columns: The trimmed primary key, in order.

    Source:
        merge-semantics 2.2.
    """
    levels = combined_array(records.column(LEVEL)).to_numpy()
    is_known = levels > 0
    if not is_known.any():
        return merged
    keys, after = _align(records, codes, merged, key_columns)
    known = keys.codes[keys.any_of(is_known)]
    return after.filter(~_is_in(after.codes, known)).rows


@dataclass(frozen=True, slots=True)
class _Coded:
    """Key-value rows, and for each a code that orders it by key."""

    rows: pa.Table
    codes: Uints

    def filter(self, kept: Bools) -> "_Coded":
        return _Coded(self.rows.filter(pa.array(kept)), self.codes[kept])

    def without_retracts(self) -> "_Coded":
        is_add = ~is_retract(combined_array(self.rows.column(VALUE_KIND)).to_numpy())
        return self if is_add.all() else self.filter(is_add)


class _Keys:
    """Records grouped by key; sorting is fast where the records are a few sorted runs.

    Attributes:
        record_codes: The code of each record's key.
        codes: The codes of the keys, ascending.
    """

    def __init__(self, record_codes: Uints) -> None:
        assert len(record_codes), "keys are those of some records"
        self.record_codes = record_codes
        self._order = np.argsort(record_codes, kind="stable")
        ascending = record_codes[self._order]
        self._starts = np.flatnonzero(run_starts(ascending))
        self.codes = ascending[self._starts]

    def any_of(self, chosen: Bools) -> Bools:
        """Return which keys have a chosen record."""
        found: Bools = np.logical_or.reduceat(chosen[self._order], self._starts)
        return found

    def spread(self, chosen: Bools) -> Bools:
        """Return which records are of a chosen key."""
        lengths = np.diff(self._starts, append=len(self._order))
        found = np.empty(len(self._order), dtype=np.bool_)
        found[self._order] = np.repeat(chosen, lengths)
        return found


def _diff(before: _Coded, after: _Coded, compared: Sequence[str] | None) -> pa.Table:
    before, after = before.without_retracts(), after.without_retracts()
    count = before.rows.num_rows
    rows = pa.concat_tables([before.rows, after.rows]).combine_chunks()
    codes = np.concatenate([before.codes, after.codes])
    if not count and bool((codes[1:] > codes[:-1]).all()):
        return _with_kinds(rows, np.full(len(codes), RowKind.INSERT, dtype=np.int8))
    # Old rows are concatenated first and the sort is stable, so of one key the old row comes first.
    order = np.argsort(codes, kind="stable")
    is_after = order >= count
    is_first = np.zeros(len(order), dtype=np.bool_)
    is_first[:-1] = codes[order[1:]] == codes[order[:-1]]
    # `is_first` is false at the end, so rolling it marks the second row of each pair.
    is_second = np.roll(is_first, 1)
    assert not (is_first & is_after).any(), "a key is at most once before and once after"
    assert not (is_second & ~is_after).any(), "a key is at most once before and once after"
    kinds = np.where(is_after, RowKind.INSERT, RowKind.DELETE).astype(np.int8)
    kinds[is_first] = RowKind.UPDATE_BEFORE
    kinds[is_second] = RowKind.UPDATE_AFTER
    if compared is not None:
        positions = np.flatnonzero(is_first)
        same = _equal_rows(rows, order[positions], order[positions + 1], compared)
        repeated = positions[same]
        order = np.delete(order, [repeated, repeated + 1])
        kinds = np.delete(kinds, [repeated, repeated + 1])
    return _with_kinds(rows.take(pa.array(order)), kinds)


def _with_kinds(rows: pa.Table, kinds: npt.NDArray[np.int8]) -> pa.Table:
    position = rows.column_names.index(VALUE_KIND)
    return rows.set_column(position, rows.schema.field(position), pa.array(kinds))


def _align(
    records: pa.Table, codes: Uints | None, merged: pa.Table, key_columns: Sequence[str]
) -> tuple[_Keys, _Coded]:
    """Return the records' keys, and the merged rows with codes that are comparable with those of the keys."""
    if codes is not None:
        keys = _Keys(codes)
        # As many rows as keys, both in key order: the codes of the keys are those of the rows.
        if len(keys.codes) == merged.num_rows:
            return keys, _Coded(merged, keys.codes)
    # The codes are unknown, or some key has no merged row. Codes are comparable only within one call, so
    # records and rows are coded together.
    both = _codes_of(records, merged, key_columns)
    return _Keys(both[: records.num_rows]), _Coded(merged, both[records.num_rows :])


def _codes_of(first: pa.Table, second: pa.Table, key_columns: Sequence[str]) -> Uints:
    """Return the key codes of the rows of two tables, one after the other."""
    columns = []
    for name in key_columns:
        one, other = first.column(name), second.column(name)
        columns.append(pa.chunked_array([*one.chunks, *other.chunks], type=one.type))
    return key_codes(columns)


def _is_in(codes: Uints, wanted: Uints) -> Bools:
    """Return which codes are among the wanted codes; `wanted` is ascending."""
    if not len(wanted):
        return np.zeros(len(codes), dtype=np.bool_)
    positions = np.minimum(np.searchsorted(wanted, codes), len(wanted) - 1)
    found: Bools = wanted[positions] == codes
    return found


def _equal_rows(
    rows: pa.Table,
    first: npt.NDArray[np.int64],
    second: npt.NDArray[np.int64],
    columns: Sequence[str],
) -> Bools:
    """Return which pairs of rows are equal; a pair is not compared after its first difference."""
    same = np.ones(len(first), dtype=np.bool_)
    for name in columns:
        positions = np.flatnonzero(same)
        if not len(positions):
            break
        values = rows.column(name)
        same[positions] = equal_values(
            values.take(pa.array(first[positions])), values.take(pa.array(second[positions]))
        )
    return same
