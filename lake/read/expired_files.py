"""Estimates of the expired records in files and row groups, from the statistics of the time field.

Statistics describe records, and a record of a file may not be the row of its key. Both users of this module allow for
that: a scan leaves a file out only where its rows are its records (`braid.lake.read.scan_plan`), and a compaction
merges the files that it rewrites.

Source: merge-semantics 7.4; the reference rewrites a file because of its smallest value.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.files.column_mapping import OlderSchemas
from braid.lake.files.parquet.bounds import ColumnBounds
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.schema import TableSchema
from braid.lake.merge.row_expiry import LiveRows
from braid.lake.read.pruning import Bounds
from braid.lake.read.value_pruning import bounds_by_layout

_UNKNOWN = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiredRecords:
    """Expired records of files, as far as statistics tell; one entry for each file or row group.

    Attributes:
        is_all: Bounds and count of nulls prove that every record is expired.
        may_be_some: The bounds are known and do not prove that no record is expired.
        share: The estimated share of expired records, 0 to 1, as if values were spread evenly; 0 where
            nothing is known.
    """

    is_all: npt.NDArray[np.bool_]
    may_be_some: npt.NDArray[np.bool_]
    share: npt.NDArray[np.float64]


def expired_records(bounds: Bounds | ColumnBounds, live: LiveRows) -> ExpiredRecords:
    """Return what the bounds of the time field tell.

    Args:
        bounds: Bounds of `live.column`.
        live: The live rows.
    """
    minima, maxima = _numbers(bounds.minima), _numbers(bounds.maxima)
    is_known = np.asarray(pc.and_(minima.is_valid(), maxima.is_valid()), dtype=bool)
    low, high = _filled(minima), _filled(maxima)
    is_dead, is_whole = is_known.copy(), np.zeros(len(is_known), dtype=bool)
    inside = np.zeros(len(is_known), dtype=np.float64)
    for first, last in live.ranges:
        is_dead &= ~((low <= last) & (high >= first))
        is_whole |= (low >= first) & (high <= last)
        # In floating point: the difference of two 64-bit numbers may not fit into one.
        ends = np.minimum(high, last).astype(np.float64), np.maximum(low, first).astype(np.float64)
        inside += np.maximum(0.0, ends[0] - ends[1] + 1)
    width = high.astype(np.float64) - low.astype(np.float64) + 1
    nulls, rows = np.asarray(bounds.null_counts), np.asarray(bounds.row_counts)
    dated = np.where(nulls == _UNKNOWN, 1.0, 1 - nulls / np.maximum(rows, 1))
    share = np.where(is_known, np.clip(1 - inside / width, 0, 1) * dated, 0.0)
    return ExpiredRecords(
        is_all=is_dead & (nulls == 0), may_be_some=is_known & ~is_whole, share=share
    )


def wholly_expired_files(
    files: Sequence[DataFileMeta],
    live: LiveRows,
    schema: TableSchema,
    older_schemas: OlderSchemas,
) -> frozenset[str]:
    """Return the names of the files whose records are all expired.

    Args:
        files: Live files, of any buckets; names are unique.
        live: The live rows.
        schema: The schema under which rows are read.
        older_schemas: By id, the schemas of files that were written with other columns.
    """
    return frozenset(
        file.file_name
        for members, expired in _by_layout(files, live, schema, older_schemas)
        for file, is_all in zip(members, expired.is_all, strict=True)
        if is_all
    )


def expired_shares(
    files: Sequence[DataFileMeta],
    live: LiveRows,
    schema: TableSchema,
    older_schemas: OlderSchemas,
) -> dict[str, float]:
    """Return the files in whose known bounds some values are expired, by name, with the records' estimated share.

    Args:
        files: Live files, of any buckets; names are unique.
        live: The live rows.
        schema: The schema under which rows are read.
        older_schemas: By id, the schemas of files that were written with other columns.
    """
    return {
        file.file_name: float(share)
        for members, expired in _by_layout(files, live, schema, older_schemas)
        for file, is_some, share in zip(members, expired.may_be_some, expired.share, strict=True)
        if is_some
    }


def _by_layout(
    files: Sequence[DataFileMeta],
    live: LiveRows,
    schema: TableSchema,
    older_schemas: OlderSchemas,
) -> list[tuple[list[DataFileMeta], ExpiredRecords]]:
    column = live.column
    return [
        (members, expired_records(bounds[column], live))
        for members, bounds in bounds_by_layout(files, [column], schema, older_schemas)
        # Files from before the column have nulls, which never expire.
        if column in bounds
    ]


def _numbers(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    return values.cast(pa.int64())


def _filled(values: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int64]:
    return np.asarray(pc.fill_null(values, 0), dtype=np.int64)
