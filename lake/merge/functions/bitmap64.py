"""Bitmaps of 64-bit numbers: the format of Java's `Roaring64Bitmap`, not the portable one.

The upper 48 bits of a number are a key, looked up in an adaptive radix tree whose leaves point to
containers; the lower 16 bits are in the container. Numbers are little endian unless noted.

```
uint8             0: the bitmap is empty and ends here; 1
int64             number of keys
tree              node, then its children in the order of their bytes, depth first
int32             number of container arrays (1, in practice)
per array         uint8 0xFE, int32 its length, then per place
                  uint8 0; or uint8 1, uint8 kind, int32 cardinality, payload
int64             number of containers
int32, int32      the last place in use: array, index; -1, 0 when there is none

node              uint8 type, int16 number of children, uint8 n, n bytes of prefix, body
0  up to 4        int32: the children's bytes, the first in the highest byte
1  up to 16       int64, int64: the same
2  up to 48       32 x int64: for every byte, the first in the highest byte of the first number, the
                  place of its child, 0xFF for none
3  up to 256      4 x int64: bit i for byte i
4  leaf           6 bytes of key, big endian; int64 place of its container (array << 32 | index)
```

Where containers lie, and the places in a node of 48, follow from the order of insertion, so a union
is made as the reference makes it: into the accumulated bitmap, key by key.

Source: RoaringBitmap 1.2.1, `art` and `longlong`; merge-semantics 4 (`rbm64`).
"""

import struct
from dataclasses import dataclass, field
from itertools import takewhile

from lake.merge.functions.bitmap_containers import (
    BITMAP_BYTES,
    Container,
    Kind,
    optimised,
    united,
)

_EMPTY = b"\x00"
_LEAF = 4
_CAPACITIES = (4, 16, 48, 256)
_OF_48, _OF_256 = 2, 3
_KEY_SIZE = 6
_NO_PLACE = 0xFF
_NOT_TRIMMED = 0xFE
_INDEX_BITS = 32


@dataclass(slots=True)
class _Leaf:
    key: bytes
    place: int


@dataclass(slots=True)
class _Branch:
    """An inner node.

    Attributes:
        type: Index of its capacity; it grows and never shrinks.
        prefix: Bytes of the key that all its children share here.
        children: By the byte of the key that follows the prefix.
        places: Of the children in a node of 48, by the same byte.
    """

    type: int
    prefix: bytes
    children: "dict[int, _Branch | _Leaf]" = field(default_factory=dict)
    places: dict[int, int] = field(default_factory=dict)

    def insert(self, byte: int, child: "_Branch | _Leaf") -> None:
        """Add a child, in a larger type of node where it does not fit."""
        if len(self.children) == _CAPACITIES[self.type]:
            self.type += 1
            if self.type == _OF_48:
                self.places = {each: place for place, each in enumerate(sorted(self.children))}
        if self.type == _OF_48:
            self.places[byte] = self._free_place()
        self.children[byte] = child

    def _free_place(self) -> int:
        taken = set(self.places.values())
        count = len(self.children)
        return count if count not in taken else min(set(range(count)) - taken)


class Bitmap64:
    """One bitmap, to which others can be added.

    Args:
        data: The bytes of one.

    Raises:
        ValueError: They are malformed.
    """

    def __init__(self, data: bytes) -> None:
        self._root: _Branch | _Leaf | None = None
        self._arrays: list[list[Container | None]] = []
        self._last_index = 0
        self._count = 0
        if data == _EMPTY:
            return
        reader = _Reader(data)
        if reader.integer(1) != 1:
            text = "the first byte is neither 0 nor 1"
            raise ValueError(text)
        keys = reader.integer(8)
        self._root = _read_node(reader, 0)
        self._arrays = _read_arrays(reader)
        self._count = reader.integer(8)
        last_array, self._last_index = reader.integer(4), reader.integer(4)
        leaves = dict(_leaves(self._root))
        if len(leaves) != keys or last_array != len(self._arrays) - 1:
            text = "its counts contradict one another"
            raise ValueError(text)
        for place in leaves.values():
            self._container(place)

    def add(self, other: "Bitmap64") -> None:
        """Add the numbers of another bitmap.

        Raises:
            ValueError: A container is malformed.
        """
        places = dict(_leaves(self._root))
        for key, place in _leaves(other._root):
            container = other._container(place)
            if key in places:
                mine = places[key]
                self._replace(mine, united(self._container(mine), container))
            else:
                self._root = _with_leaf(self._root, _Leaf(key, self._append(container)), 0)

    def serialize(self) -> bytes:
        """Return the bytes, with every container in its best kind.

        Raises:
            ValueError: A container is malformed.
        """
        if self._root is None:
            return _EMPTY
        keys = sum(1 for _ in _leaves(self._root))
        parts = [b"\x01", struct.pack("<q", keys)]
        _write_node(self._root, parts)
        parts.append(struct.pack("<i", len(self._arrays)))
        for array in self._arrays:
            parts.append(struct.pack("<Bi", _NOT_TRIMMED, len(array)))
            for container in array:
                parts.extend(_written(container))
        parts.append(struct.pack("<qii", self._count, len(self._arrays) - 1, self._last_index))
        return b"".join(parts)

    def _container(self, place: int) -> Container:
        array, index = place >> _INDEX_BITS, place & ((1 << _INDEX_BITS) - 1)
        found = None
        if 0 <= array < len(self._arrays) and index < len(self._arrays[array]):
            found = self._arrays[array][index]
        if found is None:
            text = f"a key points to container {index} of array {array}, which is not there"
            raise ValueError(text)
        return found

    def _replace(self, place: int, container: Container) -> None:
        self._arrays[place >> _INDEX_BITS][place & ((1 << _INDEX_BITS) - 1)] = container

    def _append(self, container: Container) -> int:
        """Put a container behind the others and return its place; arrays grow by half."""
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
        ValueError: One is malformed.
    """
    union = Bitmap64(accumulated)
    union.add(Bitmap64(value))
    return union.serialize()


class _Reader:
    """Bytes read from front to back; running out of them is a ValueError."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def take(self, size: int) -> bytes:
        end = self._place + size
        if size < 0 or end > len(self._data):
            text = f"it ends at byte {len(self._data)}, within a value"
            raise ValueError(text)
        taken = self._data[self._place : end]
        self._place = end
        return taken

    def integer(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little", signed=size > 1)


def _read_node(reader: _Reader, depth: int) -> _Branch | _Leaf:
    kind, count = reader.integer(1), reader.integer(2)
    prefix = reader.take(reader.integer(1))
    depth += len(prefix)
    if kind == _LEAF:
        return _Leaf(reader.take(_KEY_SIZE), reader.integer(8))
    if kind > _OF_256 or depth >= _KEY_SIZE or not 0 < count <= _CAPACITIES[kind]:
        text = f"no node has type {kind}, {count} children and depth {depth}"
        raise ValueError(text)
    branch = _Branch(kind, prefix)
    found, branch.places = _read_body(reader, kind, count)
    if len(found) != count:
        text = "a node does not have the children it counts"
        raise ValueError(text)
    for byte in found:
        branch.children[byte] = _read_node(reader, depth + 1)
    return branch


def _read_body(reader: _Reader, kind: int, count: int) -> tuple[list[int], dict[int, int]]:
    """Return the bytes of a node's children, ascending, and their places in a node of 48."""
    if kind == _OF_256:
        bits = int.from_bytes(reader.take(32), "little")
        return [byte for byte in range(256) if bits >> byte & 1], {}
    if kind == _OF_48:
        index = _swapped(reader.take(256), 8)
        places = {byte: place for byte, place in enumerate(index) if place != _NO_PLACE}
        return list(places), places
    size = _CAPACITIES[kind]
    return sorted(set(_swapped(reader.take(size), min(size, 8))[:count])), {}


def _write_node(node: _Branch | _Leaf, parts: list[bytes]) -> None:
    if isinstance(node, _Leaf):
        parts.append(struct.pack("<BhB", _LEAF, 0, 0) + node.key + struct.pack("<q", node.place))
        return
    count = len(node.children)
    parts.append(struct.pack("<BhB", node.type, count, len(node.prefix)) + node.prefix)
    in_order = sorted(node.children)
    if node.type == _OF_256:
        parts.append(sum(1 << byte for byte in in_order).to_bytes(32, "little"))
    elif node.type == _OF_48:
        index = bytes(node.places.get(byte, _NO_PLACE) for byte in range(256))
        parts.append(_swapped(index, 8))
    else:
        size = _CAPACITIES[node.type]
        parts.append(_swapped(bytes(in_order).ljust(size, b"\x00"), min(size, 8)))
    for byte in in_order:
        _write_node(node.children[byte], parts)


def _swapped(data: bytes, size: int) -> bytes:
    """Return the bytes with every group of this size turned round."""
    return b"".join(data[start : start + size][::-1] for start in range(0, len(data), size))


def _leaves(node: _Branch | _Leaf | None) -> "list[tuple[bytes, int]]":
    """Return every key with the place of its container, keys ascending."""
    if node is None:
        return []
    if isinstance(node, _Leaf):
        return [(node.key, node.place)]
    return [leaf for byte in sorted(node.children) for leaf in _leaves(node.children[byte])]


def _with_leaf(node: _Branch | _Leaf | None, leaf: _Leaf, depth: int) -> _Branch | _Leaf:
    """Return the tree below a node with a leaf more, whose key is not in it yet."""
    if node is None:
        return leaf
    rest = leaf.key[depth:]
    if isinstance(node, _Leaf):
        return _forked(node.key[depth:], node, rest, leaf)
    if not rest.startswith(node.prefix):
        prefix = node.prefix
        branch = _forked(prefix, node, rest, leaf)
        node.prefix = prefix[len(branch.prefix) + 1 :]
        return branch
    depth += len(node.prefix)
    byte = leaf.key[depth]
    if byte in node.children:
        node.children[byte] = _with_leaf(node.children[byte], leaf, depth + 1)
    else:
        node.insert(byte, leaf)
    return node


def _forked(one_rest: bytes, one: _Branch | _Leaf, other_rest: bytes, other: _Leaf) -> _Branch:
    """Return a node of two children, where the rests of their keys part."""
    pairs = zip(one_rest, other_rest, strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    branch = _Branch(0, other_rest[:shared])
    branch.insert(one_rest[shared], one)
    branch.insert(other_rest[shared], other)
    return branch


def _read_arrays(reader: _Reader) -> list[list[Container | None]]:
    return [_read_array(reader) for _ in range(reader.integer(4))]


def _read_array(reader: _Reader) -> list[Container | None]:
    reader.take(1)
    return [_read_container(reader) for _ in range(reader.integer(4))]


def _read_container(reader: _Reader) -> Container | None:
    mark = reader.integer(1)
    if mark == 0:
        return None
    kind = reader.integer(1)
    cardinality = reader.integer(4)
    if mark != 1 or kind not in tuple(Kind):
        text = f"no container has mark {mark} and kind {kind}"
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
