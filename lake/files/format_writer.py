"""The protocol of writers of one data file format: rows to bytes."""

from collections.abc import Mapping
from typing import Protocol

import pyarrow as pa

from braid.lake.files.parquet.bounds import ColumnBounds


class FormatWriter(Protocol):
    """An open data file being written; the owner of the sink closes it."""

    @property
    def size(self) -> int:
        """Bytes written so far; an estimate where the format buffers rows."""

    def write(self, columns: pa.Table) -> None:
        """Write rows, at least one.

        Args:
            columns: All columns of the file, in the schema of `data_file_schema`.
        """

    def finish(self) -> Mapping[str, ColumnBounds]:
        """Write buffered rows and the footer; return the bounds that the format has, by column."""

    def abandon(self) -> None:
        """Write nothing more; the file will be discarded."""
