"""Checksum of all rows of a table, independent of their order; `Scanning.java` computes the same checksum.

All arithmetic is modulo 2**64. Each value has a number: an integer is its own number, a double has
its bits, a text the sum of its bytes, a list its length plus the numbers of its elements, and null
has 17. The number of a column is the sum over its values. The numbers of the columns are multiplied
by 1, 3, 5 … and added.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_NULL = 17
_MODULUS = 1 << 64


def checksum(batch: pa.RecordBatch) -> int:
    """Return the number of a batch; the numbers of several add up, modulo 2**64."""
    total = sum((2 * i + 1) * _column(column) for i, column in enumerate(batch.columns))
    return total % _MODULUS


def _column(column: pa.Array) -> int:
    nulls = int(column.null_count)
    return (_NULL * nulls + _present(column.drop_null() if nulls else column)) % _MODULUS


def _present(column: pa.Array) -> int:
    kind = column.type
    if pa.types.is_list(kind):
        lengths = np.diff(column.offsets.to_numpy())
        return int(lengths.sum()) + _column(column.flatten())
    if pa.types.is_string(kind):
        return _sum_of_bytes(column)
    values: npt.NDArray[np.generic] = column.to_numpy()
    if values.dtype == np.float64:
        return _wrapping_sum(values.view(np.int64))
    return _wrapping_sum(values.astype(np.int64))


def _sum_of_bytes(column: pa.Array) -> int:
    _, raw_offsets, text = column.buffers()
    if text is None:
        return 0
    offsets = np.frombuffer(raw_offsets, np.int32)
    start, stop = offsets[column.offset], offsets[column.offset + len(column)]
    return int(np.frombuffer(text, np.uint8)[start:stop].sum(dtype=np.int64))


def _wrapping_sum(values: npt.NDArray[np.int64]) -> int:
    return int(values.sum(dtype=np.int64))
