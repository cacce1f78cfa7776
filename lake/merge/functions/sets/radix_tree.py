"""Adaptive radix tree over keys of 6 bytes, as in bitmaps of 64-bit numbers: reading, insertion of a key, and writing.

Nodes are stored depth first, children in the order of their bytes. Numbers are little endian unless noted.

```
node              uint8 type, int16 number of children, uint8 n, n bytes of prefix, body
0  up to 4        int32: the children's bytes, the first in the highest byte
1  up to 16       int64, int64: the same
2  up to 48       32 x int64: for every byte, the first in the highest byte of the first number, the
                  position of its child, 0xFF for none
3  up to 256      4 x int64: bit i for byte i
4  leaf           6 bytes of key, big endian; int64 position of its container (array << 32 | index)
```

The positions of children in a node of type 2 depend on the order of insertion.

Source: RoaringBitmap 1.2.1, `art`.
"""

import struct
from dataclasses import dataclass, field
from itertools import takewhile

_LEAF = 4
_CAPACITIES = (4, 16, 48, 256)
_OF_48, _OF_256 = 2, 3
_KEY_SIZE = 6
_NO_POSITION = 0xFF


@dataclass(slots=True)
class Leaf:
    """A key and the position of its container."""

    key: bytes
    position: int


@dataclass(slots=True)
class Branch:
    """An inner node.

    Attributes:
        type: Type of the node, an index of capacities; it grows and never shrinks.
        prefix: Bytes of the key that all its children share at this depth.
        children: The children by the byte of the key that follows the prefix.
        positions: Positions of the children in a node of type 2, by the same byte.
    """

    type: int
    prefix: bytes
    children: "dict[int, Node]" = field(default_factory=dict)
    positions: dict[int, int] = field(default_factory=dict)

    def insert(self, byte: int, child: "Node") -> None:
        """Add a child; a full node becomes the next larger type."""
        assert byte not in self.children, "a key is inserted once"
        if len(self.children) == _CAPACITIES[self.type]:
            self.type += 1
            if self.type == _OF_48:
                self.positions = {
                    each: position for position, each in enumerate(sorted(self.children))
                }
        if self.type == _OF_48:
            self.positions[byte] = self._free_position()
        self.children[byte] = child

    def _free_position(self) -> int:
        taken = set(self.positions.values())
        count = len(self.children)
        return count if count not in taken else min(set(range(count)) - taken)


Node = Branch | Leaf


class Reader:
    """Bytes read from front to back; running out of them is a ValueError."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def take(self, size: int) -> bytes:
        """Return the next bytes.

        Raises:
            ValueError: Fewer bytes are left.
        """
        end = self._position + size
        if size < 0 or end > len(self._data):
            text = f"it ends at byte {len(self._data)}, within a value"
            raise ValueError(text)
        taken = self._data[self._position : end]
        self._position = end
        return taken

    def integer(self, size: int) -> int:
        """Return the next number: unsigned if it has one byte, signed if it has more.

        Raises:
            ValueError: Fewer bytes are left.
        """
        return int.from_bytes(self.take(size), "little", signed=size > 1)


def read_node(reader: Reader, path: bytes) -> Node:
    """Return a node with its descendants, whose keys begin with the path.

    Raises:
        ValueError: The bytes are malformed.
    """
    kind, count = reader.integer(1), reader.integer(2)
    prefix = reader.take(reader.integer(1))
    path += prefix
    if kind == _LEAF:
        leaf = Leaf(reader.take(_KEY_SIZE), reader.integer(8))
        if not leaf.key.startswith(path):
            text = (
                f"the key {leaf.key.hex()} does not begin with the bytes of its nodes, {path.hex()}"
            )
            raise ValueError(text)
        return leaf
    if kind > _OF_256 or len(path) >= _KEY_SIZE or not 0 < count <= _CAPACITIES[kind]:
        text = f"a node has type {kind}, {count} children and {len(path)} bytes above it, which is not possible"
        raise ValueError(text)
    found, positions = _read_body(reader, kind, count)
    taken = set(positions.values())
    if len(found) != count or (kind == _OF_48 and not _are_distinct(taken, count)):
        text = "a node has another number of children than it declares"
        raise ValueError(text)
    branch = Branch(kind, prefix, positions=positions)
    for byte in found:
        branch.children[byte] = read_node(reader, path + bytes([byte]))
    return branch


def _are_distinct(positions: set[int], count: int) -> bool:
    return len(positions) == count and max(positions) < _CAPACITIES[_OF_48]


def _read_body(reader: Reader, kind: int, count: int) -> tuple[list[int], dict[int, int]]:
    """Return the bytes of a node's children, ascending, and their positions if it is of type 2."""
    if kind == _OF_256:
        bits = int.from_bytes(reader.take(32), "little")
        return [byte for byte in range(256) if bits >> byte & 1], {}
    if kind == _OF_48:
        index = _swapped(reader.take(256), 8)
        positions = {
            byte: position for byte, position in enumerate(index) if position != _NO_POSITION
        }
        return list(positions), positions
    size = _CAPACITIES[kind]
    return sorted(set(_swapped(reader.take(size), min(size, 8))[:count])), {}


def write_node(node: Node, parts: list[bytes]) -> None:
    """Append the bytes of a node and of all below it."""
    if isinstance(node, Leaf):
        parts.append(struct.pack("<BhB", _LEAF, 0, 0) + node.key + struct.pack("<q", node.position))
        return
    count = len(node.children)
    parts.append(struct.pack("<BhB", node.type, count, len(node.prefix)) + node.prefix)
    in_order = sorted(node.children)
    if node.type == _OF_256:
        parts.append(sum(1 << byte for byte in in_order).to_bytes(32, "little"))
    elif node.type == _OF_48:
        index = bytes(node.positions.get(byte, _NO_POSITION) for byte in range(256))
        parts.append(_swapped(index, 8))
    else:
        size = _CAPACITIES[node.type]
        parts.append(_swapped(bytes(in_order).ljust(size, b"\x00"), min(size, 8)))
    for byte in in_order:
        write_node(node.children[byte], parts)


def _swapped(data: bytes, size: int) -> bytes:
    """Return the bytes with every group of this size reversed."""
    return b"".join(data[start : start + size][::-1] for start in range(0, len(data), size))


def leaves(node: Node | None) -> "list[tuple[bytes, int]]":
    """Return every key with the position of its container, keys ascending."""
    if node is None:
        return []
    if isinstance(node, Leaf):
        return [(node.key, node.position)]
    return [leaf for byte in sorted(node.children) for leaf in leaves(node.children[byte])]


def with_leaf(node: Node | None, leaf: Leaf, depth: int) -> Node:
    """Return the tree below a node with one more leaf, whose key is not in the tree."""
    if node is None:
        return leaf
    rest = leaf.key[depth:]
    if isinstance(node, Leaf):
        return _forked(node.key[depth:], node, rest, leaf)
    if not rest.startswith(node.prefix):
        # The prefix is split: a new node takes the shared part and one byte, this node the rest.
        prefix = node.prefix
        branch = _forked(prefix, node, rest, leaf)
        node.prefix = prefix[len(branch.prefix) + 1 :]
        return branch
    depth += len(node.prefix)
    byte = leaf.key[depth]
    if byte in node.children:
        node.children[byte] = with_leaf(node.children[byte], leaf, depth + 1)
    else:
        node.insert(byte, leaf)
    return node


def _forked(one_rest: bytes, one: Node, other_rest: bytes, other: Leaf) -> Branch:
    """Return a node of two children, at the first byte in which the rests of their keys differ."""
    pairs = zip(one_rest, other_rest, strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    branch = Branch(0, other_rest[:shared])
    branch.insert(one_rest[shared], one)
    branch.insert(other_rest[shared], other)
    return branch
