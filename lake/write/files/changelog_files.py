"""Changelog files: rows with their kinds, for readers of a table's changes.

They have the columns of data files and lie beside them, but are not part of the table's state: a key may occur more
than once, and the kind of each row names what happened to the key. This module has the writer of such files for every
producer, and the rows for the producer `input`: the unmerged rows of one flush of a bucket, sorted by key, with the
rows of one key in merge order. For `full-compaction` and `lookup`, `braid.lake.lsm.changelog` computes the changes.

Source: table-format 17; merge-semantics 6.1.
"""

from collections.abc import Callable, Collection
from dataclasses import replace

import pyarrow as pa

from braid.lake.format.data_file import FileSource
from braid.lake.merge.order.key_codes import Uints
from braid.lake.merge.order.merge_order import find_segments
from braid.lake.merge.spec import MergeSpec
from braid.lake.write.files.level_file import DataFileSink
from braid.lake.write.files.rolling_files import RollingFiles


def changelog_files(
    sink: DataFileSink,
    *,
    level: int,
    new_file_name: Callable[[], str],
    empty_columns: Collection[str],
) -> RollingFiles:
    """Return a writer of changelog rows, in order, into files that roll at the target size.

    Args:
        sink: The sink of the bucket's data files.
        level: 0 for a flush, the output level for a compaction.
        new_file_name: Returns a unique name with the prefix of changelog files, without suffix.
        empty_columns: Columns in which probably no row has a value (see `RollingFiles`).
    """
    own = replace(sink, new_file_name=new_file_name, is_changelog=True)
    # In the format all changelog files have the source APPEND, even those that compactions write.
    return RollingFiles(
        own, level=level, file_source=FileSource.APPEND, empty_columns=empty_columns
    )


def input_changelog(rows: pa.Table, spec: MergeSpec, codes: Uints) -> pa.Table:
    """Return the changelog of a flush by the producer `input`: all rows, sorted by key.

    Args:
        rows: Key-value table of at least one row, in any order.
        spec: How the rows merge; the result has the rows of one key in merge order.
        codes: The rows' `key_codes`.

    Source:
        merge-semantics 1.4, 6.1.
    """
    return rows.take(pa.array(find_segments(rows, spec, codes).order))
