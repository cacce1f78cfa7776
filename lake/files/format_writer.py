"""What makes the bytes of a data file, one class for each format."""

from collections.abc import Mapping
from typing import Protocol

import pyarrow as pa

from lake.files.parquet.bounds import ColumnBounds


class FormatWriter(Protocol):
    """An open data file of any format, being written; who opened its sink closes it."""

    @property
    def size(self) -> int:
        """The bytes of what was written so far; about, where the format holds some back."""

    def write(self, columns: pa.Table) -> None:
        """Write some rows, at least one.

        Args:
            columns: All columns of the file, as `data_file_schema` has them.
        """

    def finish(self) -> Mapping[str, ColumnBounds]:
        """Write what is held back and the footer; return the bounds of columns that are known."""

    def abandon(self) -> None:
        """Write nothing more; the file is broken or not wanted."""
