"""Merges of compactions that also look up the old row of a key, or write the change of a key to a changelog.

| merge | for tables with | the old row is |
|---|---|---|
| `LookupCompactionMerge` | `changelog-producer` = `lookup`, deletion vectors, `force-lookup`, first-row | among the records, else on a level above the output level |
| `ChangelogMerge` | `changelog-producer` = `full-compaction`, in compactions to the highest level | on the highest level |

`LookupCompactionMerge` is used only where files of level 0 are compacted to a higher level. In all other cases
compactions use the merges of `braid.lake.lsm.round_merge`.

Input records have the column `_LEVEL` (int32, not null), merged rows do not.

Source: merge-semantics 6.2, 6.4, 6.6.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.lake.format.arrays import combined_array
from braid.lake.format.system_columns import LEVEL
from braid.lake.lsm.round_merge import LookupMerge, RoundMerge
from braid.lake.merge.fold import FoldCounters, Machine
from braid.lake.merge.order.key_codes import Uints
from braid.lake.merge.order.key_order import key_codes
from braid.lake.merge.spec import MergeSpec

ChangelogSink: TypeAlias = Callable[[pa.Table, Uints | None, pa.Table], None]
"""Called with all records of some keys, with `_LEVEL`; the codes of their keys, None if unknown; and the merged
rows."""

FindOld: TypeAlias = Callable[[pa.Table], pa.Table | None]
"""From distinct keys to their newest records above the output level, with `_LEVEL`, in any order.

None if there are no such records, or if the merge does not need them.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupCompactionMerge:
    """Merges new records with the one old row of their key, wherever it is.

    Attributes:
        spec: How the table's records merge.
        find_old: Called with the keys whose records to merge are all of level 0.
        changelog_sink: Called with the records, the codes of their keys and the merged rows; None without
            a changelog.
        drops_known: Drop records of keys with an old row instead of merging them: under first-row the
            old row stays where it is.
        machine: The execution that folds.
        counters: Incremented by each merge.
    """

    spec: MergeSpec
    find_old: FindOld
    changelog_sink: ChangelogSink | None
    drops_known: bool = False
    machine: Machine = Machine.COLUMN
    counters: FoldCounters = field(default_factory=FoldCounters)

    @property
    def passes_singletons(self) -> bool:
        """Return False: a single record may have an old row in another file."""
        return False

    def pass_singletons(self, records: pa.Table) -> pa.Table:
        """Merge the records (see `passes_singletons`)."""
        return self.merge(records, None)

    def merge(self, records: pa.Table, codes: Uints | None) -> pa.Table:
        """Return one row per key; see `RoundMerge`."""
        if codes is None:
            codes = key_codes([records.column(name) for name in self.spec.key_columns])
        # A record of a higher level is the old row itself, so only keys without one are looked up.
        lacking = _first_of_new_keys(_levels(records), codes)
        if len(lacking):
            keys = records.select(self.spec.key_columns).take(pa.array(lacking))
            old = self.find_old(keys)
            if old is not None:
                records, codes = self._with_old(records, old)
        if not records.num_rows:
            return records.drop_columns([LEVEL])
        inner = LookupMerge(spec=self.spec, machine=self.machine, counters=self.counters)
        merged = inner.merge(records, codes)
        if self.changelog_sink is not None:
            self.changelog_sink(records, codes, merged)
        return merged

    def _with_old(self, records: pa.Table, old: pa.Table) -> tuple[pa.Table, Uints]:
        """Return the records and the old rows together; with `drops_known` only the records of new keys."""
        # The old rows come last: among records that compare equal the last one counts as the newest,
        # and that has to be the old row.
        together = pa.concat_tables([records, old.select(records.column_names)])
        codes = key_codes([together.column(name) for name in self.spec.key_columns])
        if not self.drops_known:
            return together, codes
        # Codes are comparable only within one call, so both parts are coded together.
        codes, known = codes[: records.num_rows], codes[records.num_rows :]
        is_new = ~np.isin(codes, known)
        return records.filter(pa.array(is_new)), codes[is_new]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogMerge:
    """Merges as another merge does, and writes the changes.

    Attributes:
        inner: The table's merge.
        changelog_sink: Called with the records, the codes of their keys and the merged rows.
        takes_levels: `inner` expects records with `_LEVEL`.
    """

    inner: RoundMerge
    changelog_sink: ChangelogSink
    takes_levels: bool

    @property
    def spec(self) -> MergeSpec:
        """Return how the table's records merge."""
        return self.inner.spec

    @property
    def passes_singletons(self) -> bool:
        """Return whether a single record of a key stays as it is."""
        return self.inner.passes_singletons

    def pass_singletons(self, records: pa.Table) -> pa.Table:
        """Return single records as they are, after writing their changes."""
        kept = self.inner.pass_singletons(self._for_inner(records))
        self.changelog_sink(records, None, kept)
        return kept

    def merge(self, records: pa.Table, codes: Uints | None) -> pa.Table:
        """Return one row per key; see `RoundMerge`."""
        merged = self.inner.merge(self._for_inner(records), codes)
        self.changelog_sink(records, codes, merged)
        return merged

    def _for_inner(self, records: pa.Table) -> pa.Table:
        return records if self.takes_levels else records.drop_columns([LEVEL])


def _levels(records: pa.Table) -> npt.NDArray[np.int32]:
    levels: npt.NDArray[np.int32] = combined_array(records.column(LEVEL)).to_numpy()
    return levels


def _first_of_new_keys(levels: npt.NDArray[np.int32], codes: Uints) -> npt.NDArray[np.int64]:
    """Return the index of one record of each key that has records of level 0 only, by ascending key."""
    keys, first = np.unique(codes, return_index=True)
    compacted = np.unique(codes[levels > 0])
    if not len(compacted):
        return first
    return first[~np.isin(keys, compacted, assume_unique=True)]
