"""ORC data files, open for reading.

Arrow decodes them. It does not say how many rows a stripe has before it is read, so a file is one part.

Source: table-format 12.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

import pyarrow as pa
from pyarrow import orc

from lake.files.parquet_bounds import ColumnBounds


class OrcStored:
    """An ORC file (see `StoredFile`)."""

    def __init__(self, source: pa.NativeFile) -> None:
        """Read the footer."""
        self._file = orc.ORCFile(source)

    @property
    def row_counts(self) -> Sequence[int]:
        """Rows of the file."""
        return [self._file.nrows]

    @property
    def column_names(self) -> Collection[str]:
        """Names of the columns."""
        return frozenset(self._file.schema.names)

    def bounds(self, columns: Sequence[pa.Field]) -> Mapping[str, ColumnBounds]:
        """Return nothing: Arrow does not tell ORC's statistics."""
        del columns
        return {}

    def batches(
        self,
        parts: Sequence[int],
        columns: Sequence[pa.Field],
        *,
        batch_rows: int,
        batch_bytes: int,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows, a stripe at a time in memory."""
        del parts
        names = [column.name for column in columns]
        for number in range(self._file.nstripes):
            stripe = self._file.read_stripe(number, columns=names)
            rows = min(batch_rows, max(1, batch_bytes * len(stripe) // max(1, stripe.nbytes)))
            for start in range(0, len(stripe), rows):
                yield stripe.slice(start, rows)
