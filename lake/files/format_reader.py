"""A data file as its format stores it: columns by name, rows in parts that can be passed over."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol

import pyarrow as pa

from lake.files.parquet.bounds import ColumnBounds


class FormatReader(Protocol):
    """An open data file of any format."""

    @property
    def is_columnar(self) -> bool:
        """Whether columns can be decoded apart from each other."""

    @property
    def row_counts(self) -> Sequence[int]:
        """Rows of each part, in file order; row groups, where the format has any."""

    @property
    def column_names(self) -> Collection[str]:
        """Names of the columns, those of the system included."""

    def bounds(self, columns: Sequence[pa.Field]) -> Mapping[str, ColumnBounds]:
        """Return what is known of values, one entry per part, by column; those unknown left out.

        Args:
            columns: In the Arrow form that the bounds shall have.
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
            columns: Columns of the file, in the Arrow form of their types; what comes may be in one
                that can be cast to it.
            batch_rows: Upper bound of the rows of a batch.
            batch_bytes: Upper bound of its bytes, about.
        """


class SinglePartReader:
    """What files have in common of which no part is known before it is read."""

    def bounds(self, columns: Sequence[pa.Field]) -> Mapping[str, ColumnBounds]:
        """Return nothing: either the format has no statistics, or what decodes it does not tell."""
        del columns
        return {}
