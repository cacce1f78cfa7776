"""The protocol of readers of one data file format: columns by name, rows in parts that can be skipped.

`SinglePartReader` has what readers of formats without skippable parts share.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol

import pyarrow as pa

from braid.lake.files.parquet.bounds import ColumnBounds


class FormatReader(Protocol):
    """An open data file of any format."""

    @property
    def is_columnar(self) -> bool:
        """Whether columns can be decoded independently of each other."""

    @property
    def row_counts(self) -> Sequence[int]:
        """Rows of each part, in file order; a part is a row group where the format has them."""

    @property
    def column_names(self) -> Collection[str]:
        """Names of the columns, system columns included."""

    def bounds(self, columns: Sequence[pa.Field]) -> Mapping[str, ColumnBounds]:
        """Return the bounds by column, one entry per part; columns without known bounds are absent.

        Args:
            columns: Columns of the file, with the Arrow types for the bounds.
        """

    def batches(
        self,
        parts: Sequence[int],
        columns: Sequence[pa.Field],
        *,
        batch_rows: int,
        batch_bytes: int,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some parts, in file order.

        Args:
            parts: Numbers of parts, ascending.
            columns: Columns of the file, in the Arrow form of their types. Batches may have them in another
                type that can be cast to that form (`to_declared_type`).
            batch_rows: Upper bound of the rows of a batch.
            batch_bytes: Approximate upper bound of the bytes of a batch; Avro's reader has a bound of its own.
        """


class SinglePartReader:
    """The common part of readers that read a file as one part, without bounds."""

    def bounds(self, columns: Sequence[pa.Field]) -> Mapping[str, ColumnBounds]:
        """Return no bounds: the format has no statistics, or its decoder does not expose them."""
        del columns
        return {}
