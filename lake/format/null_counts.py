"""Counts of nulls in statistics that stay encoded: of wide tables they are most of the objects of a manifest.

`EncodedCounts` has the bytes of the counts and decodes them when they are asked for. `WholeCounts` knows only which
columns hold nothing but nulls. Both are sequences of counts, and equal to tuples of the same counts.

Source: table-format 9; Apache Avro 1.11 specification, "Binary Encoding".
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Final, overload

import numpy as np
import numpy.typing as npt

from braid.lake.format.avro.binary import AvroDecoder

Counts = Sequence[int | None]

_MANY: Final = 48
"""Counts from which on arrays are faster than a loop."""
_PRESENT: Final = 2
_NUMBER_BYTES_MAX: Final = 10


class _Counts(Sequence[int | None]):
    """A sequence that compares and hashes as the tuple of its counts."""

    __slots__ = ()

    @abstractmethod
    def as_tuple(self) -> tuple[int | None, ...]:
        """Return the counts."""

    def __iter__(self) -> Iterator[int | None]:
        return iter(self.as_tuple())

    @overload
    def __getitem__(self, index: int) -> int | None: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[int | None, ...]: ...
    def __getitem__(self, index: int | slice) -> int | tuple[int | None, ...] | None:
        return self.as_tuple()[index]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _Counts):
            return self.as_tuple() == other.as_tuple()
        return self.as_tuple() == other

    def __hash__(self) -> int:
        return hash(self.as_tuple())

    def __repr__(self) -> str:
        return repr(self.as_tuple())


class EncodedCounts(_Counts):
    """Counts in Avro's encoding.

    Attributes:
        encoded: An array of `["null", "long"]`, with the count of 0 at its end.
    """

    __slots__ = ("_count", "encoded")

    def __init__(self, encoded: bytes, count: int) -> None:
        """Wrap the bytes of `count` counts."""
        self.encoded = encoded
        self._count = count

    def __len__(self) -> int:
        return self._count

    def as_tuple(self) -> tuple[int | None, ...]:
        """Return the counts."""
        return AvroDecoder(self.encoded).null_counts()

    def are(self, rows: int) -> npt.NDArray[np.bool_]:
        """Return which counts are a number of rows."""
        decoder = AvroDecoder(self.encoded)
        count = decoder.block_count()
        if count == self._count >= _MANY:
            ends = _ends(self.encoded, decoder.position, count)
            if ends is not None:
                return _equal(self.encoded, decoder.position, ends, rows)
        return np.array([count == rows for count in self.as_tuple()], dtype=bool)


class WholeCounts(_Counts):
    """Counts of which only those are known that are the number of rows; the others are None."""

    __slots__ = ("_bits", "_count", "_rows")

    def __init__(self, are_whole: npt.NDArray[np.bool_], rows: int) -> None:
        """Note which columns hold only nulls in a file of some rows."""
        self._bits = np.packbits(are_whole).tobytes()
        self._count = len(are_whole)
        self._rows = rows

    def __len__(self) -> int:
        return self._count

    def as_tuple(self) -> tuple[int | None, ...]:
        """Return the counts."""
        bits = np.unpackbits(np.frombuffer(self._bits, np.uint8), count=self._count)
        return tuple(self._rows if bit else None for bit in bits.tolist())


def read_counts(decoder: AvroDecoder) -> EncodedCounts:
    """Return the next array of counts without decoding it.

    Raises:
        IndexError: The bytes end early, or are not such an array.
    """
    start = decoder.position
    count = skip_counts(decoder)
    return EncodedCounts(decoder.data[start : decoder.position], count)


def skip_counts(decoder: AvroDecoder) -> int:
    """Advance past the next array of counts; return how many it has.

    Raises:
        IndexError: The bytes end early, or are not such an array.
    """
    total = 0
    while count := decoder.block_count():
        ends = _ends(decoder.data, decoder.position, count) if count >= _MANY else None
        if ends is None:
            decoder.skip_optional_longs(count)
        else:
            decoder.position += int(ends[-1]) + 1
        total += count
    return total


def whole_counts(counts: Counts, rows: int) -> Counts:
    """Return what is known of the counts without their numbers: which columns hold only nulls."""
    are_whole = (
        counts.are(rows)
        if isinstance(counts, EncodedCounts)
        else np.array([count == rows for count in counts], dtype=bool)
    )
    return WholeCounts(are_whole, rows) if are_whole.any() else ()


def counts_bytes(counts: Counts) -> int:
    """Return the approximate bytes that counts take in memory."""
    if isinstance(counts, EncodedCounts):
        return len(counts.encoded)
    return len(counts) // 8 if isinstance(counts, WholeCounts) else 8 * len(counts)


def _ends(data: bytes, position: int, count: int) -> npt.NDArray[np.int64] | None:
    """Return where each count ends, from the position on; None if not all counts are known.

    A count that is known has two bytes without the highest bit: the branch of the union, and the last byte of the
    number. So the ends are every second one of these bytes.
    """
    if len(data) - position < 2 * count:
        return None
    for width in (4, 1 + _NUMBER_BYTES_MAX):
        window = np.frombuffer(
            data, np.uint8, count=min(count * width, len(data) - position), offset=position
        )
        last = np.flatnonzero(window < 0x80)[: 2 * count]
        if len(last) == 2 * count:
            break
    else:
        return None
    branches, ends = last[0::2], last[1::2]
    if branches[0] != 0 or not np.array_equal(branches[1:], ends[:-1] + 1):
        return None
    return ends if (window[branches] == _PRESENT).all() else None


def _equal(
    data: bytes, position: int, ends: npt.NDArray[np.int64], number: int
) -> npt.NDArray[np.bool_]:
    """Return which of the counts that end there are a number."""
    window = np.frombuffer(data, np.uint8, count=int(ends[-1]) + 1, offset=position)
    # The branch of the first count is before its number.
    starts = np.concatenate([[0], ends[:-1] + 1]) + 1
    wanted = number << 1
    found = np.ones(len(ends), dtype=bool)
    for index in range(_NUMBER_BYTES_MAX):
        byte = wanted & 0x7F
        wanted >>= 7
        expected = byte | 0x80 if wanted else byte
        at = np.minimum(starts + index, len(window) - 1)
        found &= window[at] == expected
        if not wanted:
            found &= starts + index == ends
            return found
    return np.zeros(len(ends), dtype=bool)
