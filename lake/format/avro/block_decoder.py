"""Columns of Avro records, decoded from many blocks at once.

The end of a value is known only when the value has been decoded, so one block cannot be decoded in
parallel. But blocks do not depend on each other. So there is a cursor in each block, and all cursors
advance together: over the first value of every block, then over the second, and so on. A step is a few
numpy operations for all blocks instead of Python operations for each value. It only records the
positions of wanted values; afterwards the values of a column are gathered from all positions at once.

All columns must have plain types (numbers, booleans, texts and binaries), because inside of lists
and maps the cursors would need different steps.

Source: Apache Avro 1.11 specification, "Binary Encoding".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from braid.lake.format.avro.resolution import not_null, null_branch

Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]

# 64 bits in groups of 7.
_VARINT_BYTES_MAX: Final = 10
_DECIMAL_BYTES: Final = 16
# Bytes after the last block, because some steps read the byte behind a value, or the first byte of an empty
# value, before they know that it does not count.
_PADDING: Final = bytes(32)


class Kind(Enum):
    """The encoding of a value; of a type of fixed length, the number of bytes."""

    VARINT = "varint"
    BYTES = "bytes"
    BOOLEAN = 1
    FLOAT = 4
    DOUBLE = 8


_KINDS: Final[Mapping[str, Kind]] = {
    "int": Kind.VARINT,
    "long": Kind.VARINT,
    "string": Kind.BYTES,
    "bytes": Kind.BYTES,
    "boolean": Kind.BOOLEAN,
    "float": Kind.FLOAT,
    "double": Kind.DOUBLE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainColumn:
    """A column of a plain type.

    Attributes:
        name: Name of the column.
        kind: Encoding of its values.
        null: Branch number of null in the union, 0 or 1; None if the column is not a union.
    """

    name: str
    kind: Kind
    null: int | None


@dataclass(slots=True, kw_only=True)
class ValuePositions:
    """Positions of the values of a column in the data. All arrays have the shape rows x blocks.

    Attributes:
        starts: Position of the first byte of each value; texts and binaries start behind their length.
        lengths: Bytes of each value; None unless they are texts or binaries.
        branches: The byte of the union's branch; None unless the column is a union.
    """

    starts: Ints
    lengths: Ints | None
    branches: Bytes | None

    @classmethod
    def empty(cls, column: PlainColumn, shape: tuple[int, int]) -> "ValuePositions":
        """Return positions for a column, all 0; the caller fills them in."""
        return cls(
            starts=np.zeros(shape, np.int64),
            lengths=np.zeros(shape, np.int64) if column.kind is Kind.BYTES else None,
            branches=np.zeros(shape, np.uint8) if column.null is not None else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnValues:
    """The values of one column of some blocks, in file order.

    Attributes:
        data: All bytes of the blocks.
        starts: Position of the first byte of each value; arbitrary for null.
        lengths: Bytes of each value, 0 for null; None unless they are texts or binaries.
        valid: Whether each value is not null; None if there is no null.
    """

    data: Bytes
    starts: Ints
    lengths: Ints | None = None
    valid: npt.NDArray[np.bool_] | None = field(default=None)

    def numbers(self) -> Ints:
        """Return the values of int and long; 0 for null."""
        positions = self.starts.copy()
        zigzag = np.zeros(len(positions), np.uint64)
        # Indexes of the values with further bytes. Most numbers are short, so each round has fewer indexes.
        unfinished = np.arange(len(positions))
        for step in range(_VARINT_BYTES_MAX):
            byte = self.data[positions[unfinished]]
            zigzag[unfinished] |= (byte & 0x7F).astype(np.uint64) << np.uint64(7 * step)
            unfinished = unfinished[byte >= 0x80]
            if not len(unfinished):
                break
            positions[unfinished] += 1
        # Zigzag: the lowest bit is the sign.
        numbers = (zigzag >> np.uint64(1)).view(np.int64) ^ -(
            (zigzag & np.uint64(1)).view(np.int64)
        )
        if self.valid is not None:
            numbers[~self.valid] = 0
        return numbers

    def fixed(self, dtype: str) -> npt.NDArray[Any]:
        """Return the values of a type of fixed length, little endian; arbitrary for null."""
        kind = np.dtype(dtype)
        values: npt.NDArray[Any] = self.data[self.starts[:, None] + np.arange(kind.itemsize)]
        return values.view(kind)[:, 0]

    def unscaled(self) -> Bytes:
        """Return binaries as two's complement numbers, values x 16 bytes little endian.

        Raises:
            ValueError: A binary has more than 16 bytes.
        """
        assert self.lengths is not None, "decimals are binaries"
        if len(self.lengths) and self.lengths.max() > _DECIMAL_BYTES:
            text = f"a decimal has {self.lengths.max()} bytes, expected at most {_DECIMAL_BYTES}"
            raise ValueError(text)
        # Big endian, so the first byte has the sign, which fills the bytes that are not stored.
        first = self.data[self.starts]
        sign = np.where((first >= 0x80) & (self.lengths > 0), np.uint8(0xFF), np.uint8(0))
        out = np.repeat(sign[:, None], _DECIMAL_BYTES, axis=1)
        last = self.starts + self.lengths - 1
        for index in range(_DECIMAL_BYTES):
            rows = np.flatnonzero(self.lengths > index)
            out[rows, index] = self.data[last[rows] - index]
        return out

    def joined(self) -> tuple[npt.NDArray[np.int32], Bytes]:
        """Return Arrow's offsets (one more than values) and bytes of texts or binaries."""
        assert self.lengths is not None, "texts and binaries have lengths"
        ends = np.cumsum(self.lengths)
        # The position in the data of each byte of the result: the start of its value plus its index in the
        # value. That index is its index in the result minus the total length of the values before.
        positions = np.repeat(self.starts - (ends - self.lengths), self.lengths)
        positions += np.arange(len(positions))
        return np.concatenate([[0], ends]).astype(np.int32), self.data[positions]


def plain_columns(schema: Mapping[str, Any]) -> list[PlainColumn] | None:
    """Return the columns of a file, or None unless all have plain types.

    Args:
        schema: Schema of the records of the file (`WrittenSchema.record`).
    """
    found = []
    for declared in schema["fields"]:
        try:
            null, kind = null_branch(declared["type"]), not_null(declared["type"])
        except ValueError:
            return None
        while isinstance(kind, dict):
            kind = kind["type"]
        if not isinstance(kind, str) or kind not in _KINDS:
            return None
        found.append(PlainColumn(name=declared["name"], kind=_KINDS[kind], null=null))
    return found


def decode_columns(
    blocks: Sequence[tuple[int, bytes]],
    columns: Sequence[PlainColumn],
    wanted: Sequence[str],
    *,
    record_null: int | None = None,
) -> dict[str, ColumnValues]:
    """Return the values of some columns by name.

    Args:
        blocks: For each block its number of records, at least 1, and its uncompressed bytes.
        columns: All columns of the records, in order.
        wanted: Names of the columns to return.
        record_null: Branch number of null, 0 or 1, if the records are in a union; None otherwise.

    Raises:
        ValueError, IndexError: The bytes are not records of these columns, or a record is null.
    """
    for count, block in blocks:
        # Every value has at least one byte. The counts are checked first, because a damaged count would
        # allocate arrays of any size.
        if count * len(columns) > len(block):
            text = f"a block of {len(block)} bytes cannot hold {count} records"
            raise ValueError(text)
    data = np.frombuffer(b"".join([*(block for _, block in blocks), _PADDING]), np.uint8)
    counts = np.array([count for count, _ in blocks], np.int64)
    ends = np.cumsum([len(block) for _, block in blocks])
    # Blocks by descending count: then those that still have a row are always a slice from the first.
    order = np.argsort(-counts, kind="stable")
    begins = ends - [len(block) for _, block in blocks]
    cursors = _BlockCursors(data, begins[order], counts[order])
    recorded = cursors.advance_to_end(columns, frozenset(wanted), record_null)
    # Every cursor must be at the end of its own block; then none has read bytes of the next block.
    if not np.array_equal(cursors.positions, ends[order]):
        text = "blocks do not end where their records do"
        raise ValueError(text)
    rank = np.argsort(order)
    in_file = np.arange(counts.max())[None, :] < counts[:, None]
    return {
        column.name: _in_file_order(data, column, recorded[column.name], rank, in_file)
        for column in columns
        if column.name in recorded
    }


class _BlockCursors:
    """A cursor in each block; all cursors advance together, value by value.

    Args:
        data: All blocks, one after the other.
        positions: Position of the first byte of each block, in descending order of counts.
        counts: Number of records of each block, in the same order.
    """

    def __init__(self, data: Bytes, positions: Ints, counts: Ints) -> None:
        assert (np.diff(counts) <= 0).all(), "blocks with more records come first"
        self._data = data
        self._counts = counts
        self.positions = positions

    def advance_to_end(
        self, columns: Sequence[PlainColumn], wanted: frozenset[str], record_null: int | None
    ) -> dict[str, ValuePositions]:
        """Advance past all rows; return the positions of wanted values."""
        shape = (int(self._counts[0]), len(self._counts))
        recorded = {c.name: ValuePositions.empty(c, shape) for c in columns if c.name in wanted}
        for row in range(shape[0]):
            # Blocks with more than `row` records. A view: the methods below advance it in place.
            active = int(np.searchsorted(-self._counts, -row, side="left"))
            positions = self.positions[:active]
            if record_null is not None:
                self._advance_branch(positions, 1 - record_null)
            for column in columns:
                self._advance_value(column, positions, recorded.get(column.name), row)
        return recorded

    def _advance_branch(self, positions: Ints, branch: int) -> None:
        """Advance past the branch of a union; ValueError unless it is `branch`."""
        if (self._data[positions] != 2 * branch).any():
            text = "a record is null"
            raise ValueError(text)
        positions += 1

    def _advance_value(
        self, column: PlainColumn, positions: Ints, recorded: ValuePositions | None, row: int
    ) -> None:
        """Advance past a value, null or not."""
        if column.null is None:
            self._advance_present(column.kind, positions, recorded, row, slice(0, len(positions)))
            return
        # The branch is a zigzag long: 0 or 2 for the branches 0 and 1. Any other byte counts as a value
        # that is present; it is detected when the values are gathered.
        branches = self._data[positions]
        positions += 1
        if recorded is not None:
            assert recorded.branches is not None, "a union has branches"
            recorded.branches[row, : len(positions)] = branches
        present = branches != 2 * column.null
        if present.all():
            self._advance_present(column.kind, positions, recorded, row, slice(0, len(positions)))
            return
        blocks = np.flatnonzero(present)
        if len(blocks):
            # Indexing with an array copies, unlike the slice above, so the positions are written back.
            some = positions[blocks]
            self._advance_present(column.kind, some, recorded, row, blocks)
            positions[blocks] = some

    def _advance_present(
        self,
        kind: Kind,
        positions: Ints,
        recorded: ValuePositions | None,
        row: int,
        blocks: slice | Ints,
    ) -> None:
        """Advance past a value that is not null in any of the blocks."""
        if kind is Kind.BYTES:
            lengths = self._read_lengths(positions)
            if recorded is not None:
                assert recorded.lengths is not None, "texts and binaries have lengths"
                recorded.starts[row, blocks] = positions
                recorded.lengths[row, blocks] = lengths
            positions += lengths
            return
        if recorded is not None:
            recorded.starts[row, blocks] = positions
        if kind is Kind.VARINT:
            self._advance_varint(positions)
        else:
            positions += kind.value

    def _advance_varint(self, positions: Ints) -> None:
        more = self._data[positions] >= 0x80
        positions += 1
        for _ in range(_VARINT_BYTES_MAX):
            if not more.any():
                return
            byte = self._data[positions]
            # Adding booleans advances only the cursors whose number continues.
            positions += more
            more &= byte >= 0x80
        text = "a number has more than 10 bytes"
        raise ValueError(text)

    def _read_lengths(self, positions: Ints) -> Ints:
        """Return the lengths of texts or binaries, and advance past these lengths."""
        byte = self._data[positions]
        # Nearly always all texts of a row are shorter than 64 bytes: one byte each.
        if not (byte >= 0x80).any():
            positions += 1
            if (byte & 1).any():
                text = "a length is negative"
                raise ValueError(text)
            return (byte >> 1).astype(np.int64)
        lengths = ColumnValues(data=self._data, starts=positions).numbers()
        # Checked here, so that a damaged length cannot move a cursor before the data, nor overflow.
        if (lengths < 0).any() or (lengths > len(self._data)).any():
            text = "a length is not within its block"
            raise ValueError(text)
        self._advance_varint(positions)
        return lengths


def _in_file_order(
    data: Bytes,
    column: PlainColumn,
    positions: ValuePositions,
    rank: Ints,
    in_file: npt.NDArray[np.bool_],
) -> ColumnValues:
    """Return recorded positions in file order: block by block, and row by row in each block.

    Args:
        data: All blocks.
        column: The column.
        positions: Rows x blocks, blocks by descending count.
        rank: For each block in file order, its index by descending count.
        in_file: Whether the block has the row, blocks in file order x rows.
    """
    starts = positions.starts.T[rank][in_file]
    lengths = None if positions.lengths is None else positions.lengths.T[rank][in_file]
    valid = None
    if positions.branches is not None:
        assert column.null is not None, "branches are those of a union"
        branches = positions.branches.T[rank][in_file]
        if (branches & ~np.uint8(2)).any():
            text = f"column {column.name} has a value of a branch that its union does not have"
            raise ValueError(text)
        valid = branches != 2 * column.null
        valid = None if valid.all() else valid
    return ColumnValues(data=data, starts=starts, lengths=lengths, valid=valid)
