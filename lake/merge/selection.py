"""Selections: merged rows as references to the records that hold their values; and the copying of these values.

A value that an aggregate function computed, such as a sum, is in no record; a column with such values is held as an
array. For a function that chooses a record, such as `max`, the record's number can be held instead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.format.arrays import combined_array, validity
from braid.lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND

Rows = npt.NDArray[np.int64]

NO_ROW = -1


@dataclass(frozen=True, kw_only=True)
class Pick:
    """One source row per output row; columns that take the same rows share one pick.

    Attributes:
        rows: Row numbers of the source, `NO_ROW` for null; read only.
    """

    rows: Rows

    def take(self, column: pa.Array | pa.ChunkedArray) -> pa.Array:
        """Return the picked values of a column."""
        if column.null_count == len(column):
            # All values are null, or there are no rows: nothing to copy.
            return pa.nulls(len(self.rows), column.type)
        array = combined_array(column)
        if _is_number(array.type):
            return self._take_numbers(array)
        return pc.take(array, self._indices, boundscheck=False)

    @cached_property
    def _missing(self) -> npt.NDArray[np.bool_] | None:
        missing = self.rows == NO_ROW
        return missing if missing.any() else None

    @cached_property
    def _indices(self) -> pa.Array:
        return pa.array(self.rows, mask=self._missing)

    def _take_numbers(self, array: pa.Array) -> pa.Array:
        # Twice as fast as Arrow's take when there are nulls. With `wrap`, NO_ROW (-1) takes the last
        # row instead of failing; the validity bitmap makes it null.
        dtype = np.dtype(f"i{array.type.bit_width // 8}")
        source = np.frombuffer(array.buffers()[1], dtype=dtype)
        source = source[array.offset : array.offset + len(array)]
        values = pa.py_buffer(source.take(self.rows, mode="wrap"))
        missing = self._missing
        if array.null_count == 0 and missing is None:
            return pa.Array.from_buffers(array.type, len(self.rows), [None, values])
        valid = validity(array).take(self.rows, mode="wrap")
        if missing is not None:
            valid &= ~missing
        bitmap = pa.py_buffer(np.packbits(valid, bitorder="little"))
        nulls = len(valid) - int(np.count_nonzero(valid))
        return pa.Array.from_buffers(array.type, len(valid), [bitmap, values], null_count=nulls)


Merged: TypeAlias = Pick | pa.Array
"""One column of merged rows: the records that give its values, or the values."""


def values_of(merged: Merged, column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return the values of a merged column.

    Args:
        merged: The column.
        column: The records' values, which picks refer to by row.
    """
    return merged.take(column) if isinstance(merged, Pick) else merged


def pick_of(records: Sequence[object]) -> Pick:
    """Return the pick of records given by number, None for null."""
    rows = [NO_ROW if record is None else record for record in records]
    return Pick(rows=np.array(rows, dtype=np.int64))


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The merged rows of one key-value table.

    Attributes:
        columns: One merged column per table column, system columns left out; equally long.
        sequence_numbers: int64, one per merged row.
        kinds: int8, one per merged row.
    """

    columns: Mapping[str, Merged]
    sequence_numbers: Rows
    kinds: npt.NDArray[np.int8]

    def copy_from(self, table: pa.Table) -> pa.Table:
        """Return the merged rows as a table of the source's schema."""
        assert len(self.sequence_numbers) == len(self.kinds), "one of each per merged row"
        columns = []
        for name in table.column_names:
            if name == SEQUENCE_NUMBER:
                columns.append(pa.array(self.sequence_numbers))
            elif name == VALUE_KIND:
                columns.append(pa.array(self.kinds))
            else:
                columns.append(values_of(self.columns[name], table.column(name)))
        return pa.Table.from_arrays(columns, schema=table.schema)


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)
    )
