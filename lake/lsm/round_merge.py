"""Merges of the records of a range of keys: the step in which streaming merges (`merge_runs`) differ.

| merge | of each key | for |
|---|---|---|
| `LookupMerge` | the records of level 0 and, of the other records, the one on the lowest level | compactions and scans of tables that need lookup; not scans of first-row tables |
| `PlainMerge` | all records; a single record stays as it is, unless the caller has it merged too | all others, and merges before rows are written |

A table needs lookup when its compactions merge each new record with the row that is already compacted.
In such a table a record of level 1 or above is a whole merged row, and records of its key on higher levels are
earlier versions of the row.

`RoundMerge` is the protocol of these merges. Compactions that look old rows up or write a changelog have merges of
their own (`braid.lake.maintenance.compaction.compaction_merges`).

Source: merge-semantics 1.6, 1.7, 6.3.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa

from braid.lake.format.arrays import combined_array
from braid.lake.format.system_columns import LEVEL
from braid.lake.merge.fold import FoldCounters, Machine, fold
from braid.lake.merge.order.key_codes import Uints
from braid.lake.merge.order.key_order import key_codes
from braid.lake.merge.spec import MergeSpec


class RoundMerge(Protocol):
    """Merges the records of a range of keys.

    Attributes:
        spec: How the table's records merge.
        passes_singletons: Records whose keys occur once stay as they are, so they need no merge.
    """

    @property
    def spec(self) -> MergeSpec:
        """Return how the table's records merge."""
        ...

    @property
    def passes_singletons(self) -> bool:
        """Return whether the single record of a key stays as it is."""
        ...

    def pass_singletons(self, records: pa.Table) -> pa.Table:
        """Return single records as they are; called only where `passes_singletons`."""
        ...

    def merge(self, records: pa.Table, codes: Uints | None) -> pa.Table:
        """Return one row per key, sorted by key, retracts kept.

        Args:
            records: Key-value table of at least one row: all records of its keys.
            codes: The rows' `key_codes`, if known.

        Raises:
            SchemaMismatch: The table's merge refuses some records.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainMerge:
    """Merges all records of a key.

    Attributes:
        spec: How the table's records merge.
        machine: The execution that folds.
        counters: Incremented by each merge.
        single_untouched: The single record of a key stays as it is (see `fold`).
    """

    spec: MergeSpec
    machine: Machine = Machine.COLUMN
    counters: FoldCounters = field(default_factory=FoldCounters)
    single_untouched: bool = True

    @property
    def passes_singletons(self) -> bool:
        """Return whether the single record of a key stays as it is."""
        return self.single_untouched

    def pass_singletons(self, records: pa.Table) -> pa.Table:
        """Return single records as they are."""
        self.counters.rows_in += records.num_rows
        self.counters.rows_out += records.num_rows
        return records

    def merge(self, records: pa.Table, codes: Uints | None) -> pa.Table:
        """Return one row per key; see `RoundMerge`."""
        return fold(
            records,
            self.spec,
            machine=self.machine,
            counters=self.counters,
            codes=codes,
            single_untouched=self.single_untouched,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupMerge:
    """Merges the records of level 0 with the record on the lowest other level.

    Input records have the column `_LEVEL` (int32, not null), merged rows do not.

    Attributes:
        spec: How the table's records merge.
        machine: The execution that folds.
        counters: Incremented by each merge.
        single_untouched: The single record that counts for a key stays as it is: true for scans, and
            for compactions without new records. A compaction that looks up old rows merges a single
            record, too.
    """

    spec: MergeSpec
    machine: Machine = Machine.COLUMN
    counters: FoldCounters = field(default_factory=FoldCounters)
    single_untouched: bool = False

    @property
    def passes_singletons(self) -> bool:
        """Return whether the single record of a key stays as it is."""
        return self.single_untouched

    def pass_singletons(self, records: pa.Table) -> pa.Table:
        """Return single records without their levels, merged unless `single_untouched`."""
        if not self.single_untouched:
            return self.merge(records, None)
        self.counters.rows_in += records.num_rows
        self.counters.rows_out += records.num_rows
        return records.drop_columns([LEVEL])

    def merge(self, records: pa.Table, codes: Uints | None) -> pa.Table:
        """Return one row per key; see `RoundMerge`."""
        if codes is None:
            codes = key_codes([records.column(name) for name in self.spec.key_columns])
        kept = lowest_levels(combined_array(records.column(LEVEL)).to_numpy(), codes)
        if kept is not None:
            records, codes = records.filter(pa.array(kept)), codes[kept]
        return fold(
            records.drop_columns([LEVEL]),
            self.spec,
            machine=self.machine,
            counters=self.counters,
            codes=codes,
            # A compacted row is a merged row, and merging it alone gives the same row. So the result
            # does not depend on whether records of higher levels were left out before.
            single_untouched=self.single_untouched,
        )


def lowest_levels(
    levels: np.ndarray[tuple[int], np.dtype[np.int32]], codes: Uints
) -> np.ndarray[tuple[int], np.dtype[np.bool_]] | None:
    """Return which records count: those of level 0, and per key the one on the lowest other level.

    Args:
        levels: Level of each record's file; a level from 1 on has a key at most once.
        codes: The records' `key_codes`.

    Returns:
        One boolean per record; None when all records count.
    """
    compacted = np.flatnonzero(levels > 0)
    if not len(compacted):
        return None
    order = np.lexsort((levels[compacted], codes[compacted]))
    sorted_codes = codes[compacted][order]
    is_deeper = np.zeros(len(order), dtype=bool)
    is_deeper[1:] = sorted_codes[1:] == sorted_codes[:-1]
    if not is_deeper.any():
        return None
    kept = np.ones(len(levels), dtype=bool)
    kept[compacted[order[is_deeper]]] = False
    return kept
