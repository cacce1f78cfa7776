"""Containers: the sets of 16-bit numbers of which bitmaps in both formats consist.

| kind | payload, little endian | holds |
|---|---|---|
| ARRAY | the numbers, ascending, uint16 each | few numbers |
| BITMAP | 65 536 bits | many numbers |
| RUN | uint16 count, then (first, length - 1) as two uint16 each | runs of numbers |

The reference chooses the kind of a result by its size *and* by the kinds of its sources, and the bytes of a result
have to equal the reference's. So each container is turned into a bitmap of its own, the roaring library computes the
union of two such bitmaps, and `_chosen` chooses the kind of the result.

Source: RoaringBitmap format specification, "Container storage"; merge-semantics 4 (`rbm32`, `rbm64`).
"""

import struct
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from pyroaring import BitMap

from braid.lake.merge.segments import run_starts

ARRAY_MAX = 4096
"""An array of more numbers is larger than a bitmap."""
BITMAP_BYTES = 8192
COOKIE_WITHOUT_RUNS = 12346
COOKIE_WITH_RUNS = 12347

_PLAIN_HEADER = struct.Struct("<IIHHI")
_RUN_HEADER = struct.Struct("<IBHH")


class Kind(IntEnum):
    """The kinds of container, numbered as the 64-bit format does."""

    RUN = 0
    BITMAP = 1
    ARRAY = 2


@dataclass(frozen=True, slots=True)
class Container:
    """A set of 16-bit numbers that is not empty.

    Attributes:
        kind: The encoding of the numbers.
        cardinality: How many numbers the set has, 1 to 65 536.
        payload: The encoded numbers.
    """

    kind: Kind
    cardinality: int
    payload: bytes


def optimised(container: Container) -> Container:
    """Return the container in the kind that the reference writes.

    Raises:
        ValueError: The payload is malformed.
    """
    return _chosen(_bitmap(container), container.kind)


def united(one: Container, other: Container) -> Container:
    """Return the union in the kind that the reference writes.

    Raises:
        ValueError: A payload is malformed.
    """
    # The reference unites into a bitmap if there is one, else into runs.
    origins = (Kind.BITMAP, Kind.RUN, Kind.ARRAY)
    origin = min(one.kind, other.kind, key=origins.index)
    return _chosen(_bitmap(one) | _bitmap(other), origin)


def _chosen(bitmap: BitMap, origin: Kind) -> Container:
    """Return the only container of a bitmap, in the smallest kind.

    An array becomes runs if runs are smaller by at least four bytes; runs stay runs if they are
    larger by at most two bytes: the reference includes an array's length field only when it starts
    from runs.
    """
    bitmap.run_optimize()
    written = bitmap.serialize()
    cardinality = len(bitmap)
    cookie = int.from_bytes(written[:2], "little")
    if cookie == COOKIE_WITH_RUNS:
        return Container(Kind.RUN, cardinality, written[_RUN_HEADER.size :])
    payload = written[_PLAIN_HEADER.size :]
    if cardinality > ARRAY_MAX:
        return Container(Kind.BITMAP, cardinality, payload)
    if origin is Kind.RUN:
        runs = _runs(payload)
        if len(runs) <= 2 * cardinality + 2:
            return Container(Kind.RUN, cardinality, runs)
    return Container(Kind.ARRAY, cardinality, payload)


def _bitmap(container: Container) -> BitMap:
    """Return a bitmap of this container alone, under key 0."""
    last = container.cardinality - 1
    if not 0 <= last < 1 << 16:
        text = f"a container has {container.cardinality} numbers, expected 1 to 65536"
        raise ValueError(text)
    if container.kind is Kind.RUN:
        header = _RUN_HEADER.pack(COOKIE_WITH_RUNS, 1, 0, last)
    else:
        header = _PLAIN_HEADER.pack(COOKIE_WITHOUT_RUNS, 1, 0, last, _PLAIN_HEADER.size)
    return read_bitmap(header + _as_declared(container))


def read_bitmap(data: bytes) -> BitMap:
    """Return the bitmap of bytes in the 32-bit format.

    Raises:
        ValueError: The bytes are malformed.
    """
    if not data:
        text = "found no bytes"
        raise ValueError(text)
    bitmap = BitMap.deserialize(data)
    assert isinstance(bitmap, BitMap)
    return bitmap


def _as_declared(container: Container) -> bytes:
    """Return the payload in the kind that the 32-bit format derives from the cardinality."""
    if container.kind is Kind.BITMAP and container.cardinality <= ARRAY_MAX:
        bits = np.frombuffer(container.payload, dtype=np.uint8)
        numbers = np.flatnonzero(np.unpackbits(bits, bitorder="little"))
        return numbers.astype("<u2").tobytes()
    return container.payload


def _runs(array_payload: bytes) -> bytes:
    numbers = np.frombuffer(array_payload, dtype="<u2").astype(np.int64)
    # Within a run of consecutive numbers, number minus index is constant.
    firsts = np.flatnonzero(run_starts(numbers - np.arange(len(numbers))))
    lengths = np.diff(firsts, append=len(numbers))
    pairs = np.column_stack([numbers[firsts], lengths - 1]).astype("<u2")
    return struct.pack("<H", len(firsts)) + pairs.tobytes()
