"""Changelog files: rows with their kinds, for whoever follows a table.

They have the columns of data files and lie beside them, but are no part of the table's state: a key
may occur more than once, and the kinds are what happened to it. A producer that sees the rows come
(`input`) writes them as they came; producers that compare (`full-compaction`, `lookup`) write what
`lake.lsm.changelog` finds.

Source: table-format 17; merge-semantics 6.1.
"""

from collections.abc import Callable, Collection
from dataclasses import replace

import pyarrow as pa

from lake.format.data_file import FileSource
from lake.merge.order.key_codes import Uints
from lake.merge.order.merge_order import find_segments
from lake.merge.spec import MergeSpec
from lake.write.level_file import DataFileSink
from lake.write.rolling_files import RollingFiles


def changelog_files(
    sink: DataFileSink,
    *,
    level: int,
    new_file_name: Callable[[], str],
    empty_columns: Collection[str],
) -> RollingFiles:
    """Return files that take changelog rows, in order, and roll at the target size.

    Args:
        sink: Of the bucket's data files; says where, and which schema.
        level: 0 for what a flush writes, the output level for what a compaction does.
        new_file_name: Gives a name with the prefix of changelog files, as that of the sink.
        empty_columns: Columns in which most likely no row has a value (see `RollingFiles`).
    """
    own = replace(sink, new_file_name=new_file_name, is_changelog=True)
    # The format calls all of them appended, those of compactions too.
    return RollingFiles(
        own, level=level, file_source=FileSource.APPEND, empty_columns=empty_columns
    )


def input_changelog(rows: pa.Table, spec: MergeSpec, codes: Uints) -> pa.Table:
    """Return the rows of a flush as the producer `input` tells of them: all, by key, as they came.

    Args:
        rows: Key-value table of at least one row, in any order.
        spec: How they would merge; rows of a key are in that order.
        codes: The rows' `key_codes`.

    Source:
        merge-semantics 1.4, 6.1.
    """
    return rows.take(pa.array(find_segments(rows, spec, codes).order))
