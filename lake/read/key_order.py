"""Order of keys across the buckets of a scan: sequences of splits, each of which yields its rows ascending by key.

A bucket's rows ascend by key, because its sections do. Only a bucket that is read raw has sections that overlap: there the files of
one level ascend, because a level is a sorted run. Rows of all buckets are put in order by `merge_sorted`, which is the merge of
sorted runs (`braid.lake.lsm.merge_runs`) without a merge of records: no two rows of a table have one key.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

import numpy as np
import pyarrow as pa

from braid.lake.format.binary_row import decode_rows
from braid.lake.format.schema import TableSchema
from braid.lake.lsm.merge_runs import merge_runs
from braid.lake.merge.order.key_codes import Uints
from braid.lake.merge.order.key_order import key_codes
from braid.lake.merge.spec import MergeSpec, merge_spec
from braid.lake.read.scan_plan import Split

_BUFFERED_BYTES: Final = 32 << 20
"""Approximate bytes of the rows of all buckets that are buffered."""

_RUN_BYTES_MIN: Final = 256 << 10


def ordered_splits(splits: Sequence[Split], schema: TableSchema) -> list[list[Split]]:
    """Return splits whose rows ascend by key, in groups: all keys of a group are smaller than those of the next.

    Pure: no I/O. There is one group for each partition if the key begins with the partition's columns, else a single group.

    Args:
        splits: The splits of a plan.
        schema: The schema under which rows are read.
    """
    ascending = [part for split in splits for part in _ascending(split)]
    leading = schema.primary_keys[: len(schema.partition_keys)]
    if not leading or not ascending or set(leading) != set(schema.partition_keys):
        return [ascending] if ascending else []
    partitions = decode_rows([split.partition for split in ascending], schema.partition_fields)
    codes = key_codes([partitions.column(name) for name in leading]).tolist()
    order = sorted(range(len(ascending)), key=codes.__getitem__)
    return [[ascending[index] for index in group] for _, group in groupby(order, codes.__getitem__)]


def merge_sorted(
    runs: Sequence[Iterator[pa.RecordBatch]], schema: TableSchema, *, batch_rows: int
) -> Iterator[pa.Table]:
    """Yield the rows of several sequences in the order of the primary key.

    Args:
        runs: Each yields batches ascending by key, with the columns of the key; no key is in two of them.
        schema: The schema of the rows.
        batch_rows: Approximate number of rows of each sequence that are buffered.

    Raises:
        CorruptData: A sequence is out of order or repeats a key.
    """
    batch_bytes = max(_RUN_BYTES_MIN, _BUFFERED_BYTES // max(1, len(runs)))
    merge = _NoMerge(spec=replace(merge_spec(schema), key_columns=schema.primary_keys))
    return merge_runs(runs, merge, batch_rows=batch_rows, batch_bytes=batch_bytes)


def _ascending(split: Split) -> list[Split]:
    """Return the sections of a split in as few splits as ascend by key."""
    levels = {file.level for file in split.files}
    is_raw = 0 not in levels and all(
        sum(len(run.files) for run in section.runs) == 1 for section in split.sections
    )
    if not is_raw:
        return [split]
    return [
        replace(
            split,
            sections=tuple(
                section for section in split.sections if section.runs[0].files[0].level == level
            ),
        )
        for level in sorted(levels)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _NoMerge:
    """Sorts the rows of a range of keys, which are all different."""

    spec: MergeSpec
    passes_singletons: bool = True

    def pass_singletons(self, records: pa.Table) -> pa.Table:
        """Return the rows as they are."""
        return records

    def merge(self, records: pa.Table, codes: Uints | None) -> pa.Table:
        """Return the rows in the order of their codes."""
        assert codes is not None, "rows that are passed on are not merged"
        return records.take(pa.array(np.argsort(codes, kind="stable")))
