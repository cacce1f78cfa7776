"""The merges of compactions that do more than merge: they find the old row, and tell what changed.

| merge | of tables with | the old row is |
|---|---|---|
| `LookupCompactionMerge` | changelog of lookups, deletion vectors, `force-lookup`, first-row | among the records, else in the levels above |
| `ToldMerge` | changelog of full compactions | on the highest level |

Records carry `_LEVEL` int32, not null; what comes out does not.

Source: merge-semantics 6.2, 6.4, 6.6.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lake.format.arrays import combined_array
from lake.format.system_columns import LEVEL
from lake.lsm.round_merge import LookupMerge, RoundMerge
from lake.merge.fold import FoldCounters, Machine
from lake.merge.order.key_codes import Uints
from lake.merge.order.key_order import key_codes
from lake.merge.spec import MergeSpec

Tell: TypeAlias = Callable[[pa.Table, Uints | None, pa.Table], None]
"""Takes all records of some keys, with `_LEVEL`, their codes if known, and what they became."""

FindOld: TypeAlias = Callable[[pa.Table], pa.Table | None]
"""From keys, once each, to their newest records above the output level, with `_LEVEL`.

In any order; None when none is there, or none takes part in merging.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupCompactionMerge:
    """New records, with the one row that was there before them.

    Attributes:
        spec: How the table's records merge.
        find_old: Asked about keys that have a record of level 0 and no compacted one at hand.
        tell: Told what became of the records; None where nobody asks.
        drops_known: Records of keys that have an old row are dropped instead of merged with it: a
            first row stays where it is.
        machine: Which execution folds.
        counters: Added to.
    """

    spec: MergeSpec
    find_old: FindOld
    tell: Tell | None
    drops_known: bool = False
    machine: Machine = Machine.COLUMN
    counters: FoldCounters = field(default_factory=FoldCounters)

    @property
    def keeps_lone(self) -> bool:
        """Return False: a lone record may have an old row elsewhere."""
        return False

    def keep(self, records: pa.Table) -> pa.Table:
        """Merge them all the same."""
        return self.merge(records, None)

    def merge(self, records: pa.Table, codes: Uints | None) -> pa.Table:
        """Return one row per key; see `RoundMerge`."""
        if codes is None:
            codes = key_codes([records.column(name) for name in self.spec.key_columns])
        lacking = _first_of_new_keys(_levels(records), codes)
        if len(lacking):
            asked = records.select(self.spec.key_columns).take(pa.array(lacking))
            old = self.find_old(asked)
            if old is not None:
                records, codes = self._with_old(records, old)
        if not records.num_rows:
            return records.drop_columns([LEVEL])
        inner = LookupMerge(spec=self.spec, machine=self.machine, counters=self.counters)
        merged = inner.merge(records, codes)
        if self.tell is not None:
            self.tell(records, codes, merged)
        return merged

    def _with_old(self, records: pa.Table, old: pa.Table) -> tuple[pa.Table, Uints]:
        """Return the records together with old ones, or without those of the same keys."""
        # Behind all others: of records that compare equal the old row is the newer.
        together = pa.concat_tables([records, old.select(records.column_names)])
        codes = key_codes([together.column(name) for name in self.spec.key_columns])
        if not self.drops_known:
            return together, codes
        codes, known = codes[: records.num_rows], codes[records.num_rows :]
        is_new = ~np.isin(codes, known)
        return records.filter(pa.array(is_new)), codes[is_new]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldMerge:
    """Any merge, of which somebody is told.

    Attributes:
        inner: The table's merge.
        tell: Told what became of the records.
        takes_levels: Whether `inner` wants `_LEVEL`.
    """

    inner: RoundMerge
    tell: Tell
    takes_levels: bool

    @property
    def spec(self) -> MergeSpec:
        """Return how the table's records merge."""
        return self.inner.spec

    @property
    def keeps_lone(self) -> bool:
        """Return whether a record that is alone stays as it is."""
        return self.inner.keeps_lone

    def keep(self, records: pa.Table) -> pa.Table:
        """Return records that are alone as they are, after telling of them."""
        kept = self.inner.keep(self._for_inner(records))
        self.tell(records, None, kept)
        return kept

    def merge(self, records: pa.Table, codes: Uints | None) -> pa.Table:
        """Return one row per key; see `RoundMerge`."""
        merged = self.inner.merge(self._for_inner(records), codes)
        self.tell(records, codes, merged)
        return merged

    def _for_inner(self, records: pa.Table) -> pa.Table:
        return records if self.takes_levels else records.drop_columns([LEVEL])


def _levels(records: pa.Table) -> npt.NDArray[np.int32]:
    levels: npt.NDArray[np.int32] = combined_array(records.column(LEVEL)).to_numpy()
    return levels


def _first_of_new_keys(levels: npt.NDArray[np.int32], codes: Uints) -> npt.NDArray[np.int64]:
    """Return one record of each key that has records of level 0 only, by ascending key."""
    keys, first = np.unique(codes, return_index=True)
    compacted = np.unique(codes[levels > 0])
    if not len(compacted):
        return first
    return first[~np.isin(keys, compacted, assume_unique=True)]
