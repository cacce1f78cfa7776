"""Small operations on Arrow arrays: chunks combined, validity and booleans as numpy arrays."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def combined_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return the column in one piece; copies only when it has several chunks."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def validity(array: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """Return one boolean per row, true where the array has a value."""
    if isinstance(array, pa.ChunkedArray):
        parts = [validity(chunk) for chunk in array.chunks]
        return np.concatenate([np.empty(0, dtype=np.bool_), *parts])
    bitmap = array.buffers()[0]
    if array.null_count == 0 or bitmap is None:
        return np.full(len(array), array.null_count == 0, dtype=np.bool_)
    return unpack_bits(bitmap, array.offset, len(array))


def unpack_bits(bitmap: pa.Buffer, offset: int, length: int) -> npt.NDArray[np.bool_]:
    """Return one boolean per bit, from the lowest bit of each byte on.

    Args:
        bitmap: An Arrow buffer: the validity of an array, or the values of a boolean array.
        offset: Number of bits before the first one returned.
        length: Number of bits to return.
    """
    first_byte, first_bit = divmod(offset, 8)
    packed = np.frombuffer(bitmap, dtype=np.uint8)[first_byte:]
    bits = np.unpackbits(packed, count=first_bit + length, bitorder="little")

    return bits[first_bit:].view(np.bool_)
