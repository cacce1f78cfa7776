"""Rows of one split, merged, filtered and projected."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from lake.files.file_io import FileIO
from lake.files.paths import TablePaths
from lake.format.schema import TableSchema
from lake.merge.fold import Machine
from lake.read.predicate import Condition
from lake.read.scan import Split

BATCH_ROWS = 65_536


def read_split(
    file_io: FileIO,
    paths: TablePaths,
    schema: TableSchema,
    split: Split,
    *,
    columns: Sequence[str],
    where: Sequence[Condition] = (),
    batch_rows: int = BATCH_ROWS,
    machine: Machine = Machine.COLUMN,
) -> Iterator[pa.RecordBatch]:
    """Yield the live rows of a split: filter(project(full merge)), ascending by key."""
    raise NotImplementedError
