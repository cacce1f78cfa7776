"""Tombstones: retracts that compactions keep although no older record is left; removal of old ones.

The first compaction to the highest level drops a deleted row and its retract. A record that arrives
late is then the only one of its key and brings the row back. A table with `braid.delete-retention`
keeps retracts on the highest level until they are older than that duration. A late record then
still merges with the retract, which is newer, and does not bring the row back. Readers drop these
retracts as they drop every retract. The age of a retract counts from the latest time in its columns
of `braid.delete-retention.time-fields`; a retract without a time is dropped.

Source: an extension of this engine; merge-semantics 7.4 for the retracts that are dropped without it.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from braid.lake.format.arrays import combined_array
from braid.lake.format.system_columns import VALUE_KIND, is_retract

_MILLISECONDS = pa.timestamp("ms")


def drop_old_retracts(table: pa.Table, time_fields: Sequence[str], *, oldest_ms: int) -> pa.Table:
    """Return the key-value table without retracts older than a time, in the same order.

    Args:
        table: Key-value table with the columns of `time_fields`.
        time_fields: Columns of type TIMESTAMP, with or without zone; the latest of their values is
            the time of the delete. A retract without a value has no age and is dropped.
        oldest_ms: Milliseconds since 1970; retracts of this time or later are kept.
    """
    kinds = combined_array(table.column(VALUE_KIND)).to_numpy()
    retracts = np.flatnonzero(is_retract(kinds))
    if not len(retracts):
        return table
    chosen = pa.array(retracts)
    is_young = np.zeros(len(retracts), dtype=np.bool_)
    for name in time_fields:
        times = combined_array(table.column(name).take(chosen))
        naive = times.view(pa.timestamp(times.type.unit)).cast(_MILLISECONDS, safe=False)
        moments = naive.view(pa.int64()).fill_null(np.iinfo(np.int64).min)
        is_young |= moments.to_numpy() >= oldest_ms
    if is_young.all():
        return table
    kept = np.ones(len(kinds), dtype=np.bool_)
    kept[retracts[~is_young]] = False
    return table.filter(pa.array(kept))
