"""The union of two bitmaps of 64-bit numbers, in the format of Java's `Roaring64Bitmap`, not the portable one.

The upper 48 bits of a number are a key, looked up in an adaptive radix tree whose leaves point to
containers; the lower 16 bits are in the container. Numbers are little endian unless noted.

```
uint8             0: the bitmap is empty and ends here; 1: it is not empty
int64             number of keys
tree              see `radix_tree`
int32             number of container arrays (1, in practice)
per array         uint8 0xFE, int32 its length, then per position
                  uint8 0; or uint8 1, uint8 kind, int32 cardinality, payload
int64             number of containers
int32, int32      the last position in use: array, index; -1, 0 when there is none
```

The positions of containers, and those of the children of a tree node with up to 48 children, depend on the
order of insertion. So a union is computed as in the reference: into the accumulated bitmap, key by key.

Source: RoaringBitmap 1.2.1, `art` and `longlong`; merge-semantics 4 (`rbm64`).
"""

import struct

from braid.lake.merge.functions.sets.bitmap_containers import (
    BITMAP_BYTES,
    Container,
    Kind,
    optimised,
    united,
)
from braid.lake.merge.functions.sets.radix_tree import (
    Leaf,
    Node,
    Reader,
    leaves,
    read_node,
    with_leaf,
    write_node,
)

_EMPTY = b"\x00"
_NOT_TRIMMED = 0xFE
_INDEX_BITS = 32


class Bitmap64:
    """One bitmap, to which others can be added.

    Args:
        data: The bytes of a bitmap.

    Raises:
        ValueError: The bytes are malformed.
    """

    def __init__(self, data: bytes) -> None:
        self._root: Node | None = None
        self._arrays: list[list[Container | None]] = []
        self._last_index = 0
        self._count = 0
        if data == _EMPTY:
            return
        reader = Reader(data)
        if reader.integer(1) != 1:
            text = "the first byte is neither 0 nor 1"
            raise ValueError(text)
        keys = reader.integer(8)
        self._root = read_node(reader, b"")
        self._arrays = _read_arrays(reader)
        self._count = reader.integer(8)
        last_array, self._last_index = reader.integer(4), reader.integer(4)
        found = dict(leaves(self._root))
        capacity = len(self._arrays[-1]) if self._arrays else 0
        is_last = last_array == len(self._arrays) - 1 and 0 <= self._last_index < capacity
        if len(found) != keys or not is_last:
            text = "its counts contradict each other"
            raise ValueError(text)
        for position in found.values():
            self._container(position)

    def add(self, other: "Bitmap64") -> None:
        """Add the numbers of another bitmap.

        Raises:
            ValueError: A container is malformed.
        """
        # Read once: the keys of `other` are distinct, so no leaf that is added below is looked up.
        positions = dict(leaves(self._root))
        for key, position in leaves(other._root):
            container = other._container(position)
            if key in positions:
                mine = positions[key]
                self._replace(mine, united(self._container(mine), container))
            else:
                self._root = with_leaf(self._root, Leaf(key, self._append(container)), 0)

    def serialize(self) -> bytes:
        """Return the bytes, with every container in its best kind.

        Raises:
            ValueError: A container is malformed.
        """
        if self._root is None:
            return _EMPTY
        keys = sum(1 for _ in leaves(self._root))
        parts = [b"\x01", struct.pack("<q", keys)]
        write_node(self._root, parts)
        parts.append(struct.pack("<i", len(self._arrays)))
        for array in self._arrays:
            parts.append(struct.pack("<Bi", _NOT_TRIMMED, len(array)))
            for container in array:
                parts.extend(_written(container))
        parts.append(struct.pack("<qii", self._count, len(self._arrays) - 1, self._last_index))
        return b"".join(parts)

    def _container(self, position: int) -> Container:
        array, index = position >> _INDEX_BITS, position & ((1 << _INDEX_BITS) - 1)
        found = None
        if 0 <= array < len(self._arrays) and index < len(self._arrays[array]):
            found = self._arrays[array][index]
        if found is None:
            text = f"a key points to container {index} of array {array}, which is not there"
            raise ValueError(text)
        return found

    def _replace(self, position: int, container: Container) -> None:
        self._arrays[position >> _INDEX_BITS][position & ((1 << _INDEX_BITS) - 1)] = container

    def _append(self, container: Container) -> int:
        """Append a container and return its position; arrays grow by half."""
        if self._arrays:
            self._last_index += 1
        else:
            self._arrays.append([None])
        array = self._arrays[-1]
        capacity = len(array)
        if self._last_index >= capacity:
            needed = max(capacity + (capacity >> 1), self._last_index + 1)
            array.extend([None] * (needed - capacity))
        array[self._last_index] = container
        self._count += 1
        return (len(self._arrays) - 1) << _INDEX_BITS | self._last_index


def united_64(accumulated: bytes, value: bytes) -> bytes:
    """Return the union of two bitmaps, byte for byte as the reference writes it.

    Raises:
        ValueError: One of the two is malformed.
    """
    union = Bitmap64(accumulated)
    union.add(Bitmap64(value))
    return union.serialize()


def _read_arrays(reader: Reader) -> list[list[Container | None]]:
    return [_read_array(reader) for _ in range(reader.integer(4))]


def _read_array(reader: Reader) -> list[Container | None]:
    reader.take(1)
    return [_read_container(reader) for _ in range(reader.integer(4))]


def _read_container(reader: Reader) -> Container | None:
    mark = reader.integer(1)
    if mark == 0:
        return None
    kind = reader.integer(1)
    cardinality = reader.integer(4)
    if mark != 1 or kind not in tuple(Kind):
        text = f"a container has mark {mark} and kind {kind}, which are unknown"
        raise ValueError(text)
    if kind == Kind.RUN:
        length = reader.take(2)
        payload = length + reader.take(4 * int.from_bytes(length, "little"))
    else:
        payload = reader.take(BITMAP_BYTES if kind == Kind.BITMAP else 2 * cardinality)
    return Container(Kind(kind), cardinality, payload)


def _written(container: Container | None) -> list[bytes]:
    if container is None:
        return [b"\x00"]
    best = optimised(container)
    return [struct.pack("<BBi", 1, best.kind, best.cardinality), best.payload]
