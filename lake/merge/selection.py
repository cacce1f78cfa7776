"""The answer of a merge before it is copied: which record gives each value of each row."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND

Rows = npt.NDArray[np.int64]

NO_ROW = -1


@dataclass(frozen=True, kw_only=True)
class Pick:
    """One source row per output row; columns that take the same rows share one.

    Attributes:
        rows: Row numbers of the source, `NO_ROW` for null.
    """

    rows: Rows

    @cached_property
    def indices(self) -> pa.Array:
        """Return the rows as Arrow indices, null for `NO_ROW`."""
        missing = self.rows < 0
        return pa.array(self.rows, mask=missing) if missing.any() else pa.array(self.rows)

    def take(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the picked values of a column."""
        if column.null_count == len(column):
            return pa.chunked_array([pa.nulls(len(self.rows), column.type)])
        return column.take(self.indices)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The merged rows of one key-value table.

    Attributes:
        picks: One per table column, system columns left out; equally long.
        sequence_numbers: int64, one per merged row.
        kinds: int8, one per merged row.
    """

    picks: Mapping[str, Pick]
    sequence_numbers: Rows
    kinds: npt.NDArray[np.int8]

    def copy_from(self, table: pa.Table) -> pa.Table:
        """Return the merged rows as a table of the source's schema."""
        columns = []
        for name in table.column_names:
            if name == SEQUENCE_NUMBER:
                columns.append(pa.array(self.sequence_numbers))
            elif name == VALUE_KIND:
                columns.append(pa.array(self.kinds))
            else:
                columns.append(self.picks[name].take(table.column(name)))
        return pa.Table.from_arrays(columns, schema=table.schema)
