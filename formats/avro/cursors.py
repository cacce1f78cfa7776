"""Cursors in a batch of messages, one cursor in each message, which numpy operations advance in all messages at once.

The end of a value is known only after the value has been read, so the values of one message cannot be read in parallel. But
messages do not depend on each other. A message whose bytes are not as expected becomes *odd*: its cursor is moved to the zeros
after the last message and stays there, and an exact reader decides about the message afterwards.
"""

from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

_VARINT_BYTES_MAX: Final = 10
_DECIMAL_BYTES: Final = 16
# Before the first message, because a decimal is read from its end; behind the last one, because a step reads
# bytes before it knows whether they belong to the message.
_PADDING: Final = bytes(32)


class Cursors:
    """The cursors of a batch.

    Attributes:
        is_odd: By row, whether an exact reader has to decide about the message.
    """

    def __init__(self, payloads: pa.BinaryArray) -> None:
        """Put a cursor on the first byte of each message.

        Args:
            payloads: The messages; no nulls.
        """
        assert not payloads.null_count, "a null is no message"
        count = len(payloads)
        _, offsets, data = payloads.buffers()
        window = slice(payloads.offset, payloads.offset + count + 1)
        bounds = np.frombuffer(offsets, np.int32)[window] if count else np.zeros(1, np.int32)
        content = memoryview(data)[bounds[0] : bounds[-1]] if data is not None else b""
        self._data = np.frombuffer(b"".join((_PADDING, content, _PADDING)), np.uint8)
        self._behind = len(self._data) - len(_PADDING)
        self._has_odd = False
        begins = bounds.astype(np.int64) + (len(_PADDING) - int(bounds[0]))
        self._position, self._end = begins[:-1].copy(), begins[1:].copy()
        self.is_odd: Mask = np.zeros(count, bool)

    @property
    def has_odd(self) -> bool:
        """Whether a row is odd."""
        return self._has_odd

    def finish(self) -> None:
        """Make the rows odd that are not read to their end."""
        self.refuse(np.flatnonzero(self._position != self._end))

    def refuse(self, rows: Ints) -> None:
        """Make rows odd."""
        if len(rows):
            self.is_odd[rows] = True
            self._position[rows] = self._end[rows] = self._behind
            self._has_odd = True

    def left(self, rows: Ints) -> Ints:
        """Return the number of bytes that are left in the messages."""
        return self._end[rows] - self._position[rows]

    def varints(self, rows: Ints) -> npt.NDArray[np.uint64]:
        """Read a varint of at most 64 bits in each of the rows; 0 in odd ones."""
        positions = self._position[rows]
        byte = self._data[positions]
        positions += 1
        is_long = byte >= 0x80
        if not is_long.any():
            found = byte.astype(np.uint64)
        else:
            found = (byte & 0x7F).astype(np.uint64)
            unfinished = np.flatnonzero(is_long)
            for step in range(1, _VARINT_BYTES_MAX):
                byte = self._data[positions[unfinished]]
                found[unfinished] |= (byte & 0x7F).astype(np.uint64) << np.uint64(7 * step)
                positions[unfinished] += 1
                if step == _VARINT_BYTES_MAX - 1:
                    self._drop(rows, positions, found, unfinished[byte > 1])
                unfinished = unfinished[byte >= 0x80]
                if not len(unfinished):
                    break
        self._drop(rows, positions, found, np.flatnonzero(positions > self._end[rows]))
        self._position[rows] = positions
        return found

    def longs(self, rows: Ints) -> Ints:
        """Read a zigzag varint in each of the rows; 0 in odd ones."""
        return zigzag(self.varints(rows))

    def spans(self, rows: Ints, sizes: Ints | int) -> tuple[Ints, Ints]:
        """Take bytes in each of the rows.

        Args:
            rows: The rows.
            sizes: The number of bytes, of all rows or of each.

        Returns:
            The first byte of each, and the number of bytes; none in odd rows.
        """
        starts = self._position[rows]
        lengths = np.broadcast_to(np.asarray(sizes, np.int64), starts.shape)
        wrong = np.flatnonzero((lengths < 0) | (lengths > self._end[rows] - starts))
        if len(wrong):
            lengths = lengths.copy()
            lengths[wrong] = 0
            self.refuse(rows[wrong])
            starts[wrong] = self._behind
        self._position[rows] = starts + lengths
        return starts, lengths

    def fixed(self, rows: Ints, dtype: str) -> npt.NDArray[Any]:
        """Read a value of fixed length, little endian, in each of the rows; 0 in odd ones."""
        kind = np.dtype(dtype)
        starts, _ = self.spans(rows, kind.itemsize)
        windows = np.lib.stride_tricks.sliding_window_view(self._data, kind.itemsize)
        values: npt.NDArray[Any] = windows[starts].view(kind)[:, 0]
        return values

    def binary(self, starts: Ints, lengths: Ints) -> pa.BinaryArray:
        """Return bytes that were taken as an array.

        Args:
            starts: The first byte of each, ascending but for those of no bytes.
            lengths: The number of bytes of each.
        """
        count = len(starts)
        if not count:
            return pa.array([], pa.binary())
        # Values and the gaps between them in turn are one array over the messages' own bytes.
        bounds = np.empty(2 * count, np.int64)
        bounds[0::2] = starts
        bounds[1::2] = starts + lengths
        if self._has_odd:
            is_empty = lengths == 0
            bounds[0::2][is_empty] = bounds[1::2][is_empty] = 0
            np.maximum.accumulate(bounds, out=bounds)
        buffers = [None, pa.py_buffer(bounds.astype(np.int32)), pa.py_buffer(self._data)]
        both = pa.Array.from_buffers(pa.binary(), 2 * count - 1, buffers)
        return both.take(pa.array(np.arange(0, 2 * count, 2)))

    def unscaled(self, starts: Ints, lengths: Ints) -> npt.NDArray[np.uint8]:
        """Return big-endian signed numbers of at most 16 bytes as decimal128 has them: 16 bytes each, little endian."""
        windows = np.lib.stride_tricks.sliding_window_view(self._data, _DECIMAL_BYTES)
        found = windows[starts + lengths - _DECIMAL_BYTES]
        sign = np.where((self._data[starts] >= 0x80) & (lengths > 0), np.uint8(0xFF), np.uint8(0))
        is_before = np.arange(_DECIMAL_BYTES) < (_DECIMAL_BYTES - lengths)[:, None]
        return np.ascontiguousarray(np.where(is_before, sign[:, None], found)[:, ::-1])

    def _drop(
        self, rows: Ints, positions: Ints, found: npt.NDArray[np.uint64], wrong: Ints
    ) -> None:
        """Make rows odd while their values are read."""
        if len(wrong):
            self.refuse(rows[wrong])
            positions[wrong] = self._behind
            found[wrong] = 0


def zigzag(numbers: npt.NDArray[np.uint64]) -> Ints:
    """Return signed numbers whose lowest bit is the sign."""
    signs: Ints = (numbers & np.uint64(1)).view(np.int64)
    return (numbers >> np.uint64(1)).view(np.int64) ^ -signs
