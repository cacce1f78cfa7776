"""Rows of Avro blocks as columns, many blocks side by side.

Where a row ends is known only when it has been passed over, value by value. But blocks do not depend
on each other, so the first values of all blocks are passed over together, then the second ones, and so
on: a lane for each block. On the way only places are noted, of values that are wanted; the values of
a column are then taken from all places at once.

Columns of plain types alone: inside of lists and maps lanes would go different ways.

Source: Apache Avro 1.11 specification, "Binary Encoding".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from lake.format.avro.resolution import not_null, null_branch

Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]

_VARINT_BYTES_MAX: Final = 10
_DECIMAL_BYTES: Final = 16
_PADDING: Final = bytes(32)


class Kind(Enum):
    """How values of a column lie in a row."""

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
    """A column of plain values.

    Attributes:
        name: Of the column.
        kind: How its values lie in a row.
        null: Number of null in the union, 0 or 1; None where the column is no union.
    """

    name: str
    kind: Kind
    null: int | None


@dataclass(slots=True, kw_only=True)
class Places:
    """Where the values of a column are, rows by lanes.

    Attributes:
        starts: Place of the first byte; of texts, after their length.
        lengths: Of texts alone.
        branches: Of unions alone, the byte that says which branch.
    """

    starts: Ints
    lengths: Ints | None
    branches: Bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnValues:
    """The values of one column of some blocks, in file order.

    Attributes:
        data: That they lie in.
        starts: Places of their first bytes; of null, anything.
        lengths: Of texts and binaries alone; 0 of null.
        valid: False of null; None where there is none.
    """

    data: Bytes
    starts: Ints
    lengths: Ints | None = None
    valid: npt.NDArray[np.bool_] | None = field(default=None)

    def numbers(self) -> Ints:
        """Return int and long; 0 of null."""
        places = self.starts.copy()
        zigzag = np.zeros(len(places), np.uint64)
        going = np.arange(len(places))
        for step in range(_VARINT_BYTES_MAX):
            byte = self.data[places[going]]
            zigzag[going] |= (byte & 0x7F).astype(np.uint64) << np.uint64(7 * step)
            going = going[byte >= 0x80]
            if not len(going):
                break
            places[going] += 1
        numbers = (zigzag >> np.uint64(1)).view(np.int64) ^ -(
            (zigzag & np.uint64(1)).view(np.int64)
        )
        if self.valid is not None:
            numbers[~self.valid] = 0
        return numbers

    def fixed(self, dtype: str) -> npt.NDArray[Any]:
        """Return values of a fixed number of bytes, little endian; of null, anything."""
        kind = np.dtype(dtype)
        values: npt.NDArray[Any] = self.data[self.starts[:, None] + np.arange(kind.itemsize)]
        return values.view(kind)[:, 0]

    def unscaled(self) -> Bytes:
        """Return binaries as whole numbers of 16 bytes, little endian, one a row.

        Raises:
            ValueError: One has more bytes.
        """
        assert self.lengths is not None
        if len(self.lengths) and self.lengths.max() > _DECIMAL_BYTES:
            text = f"a decimal has {self.lengths.max()} bytes"
            raise ValueError(text)
        first = self.data[self.starts]
        sign = np.where((first >= 0x80) & (self.lengths > 0), np.uint8(0xFF), np.uint8(0))
        out = np.repeat(sign[:, None], _DECIMAL_BYTES, axis=1)
        last = self.starts + self.lengths - 1
        for place in range(_DECIMAL_BYTES):
            rows = np.flatnonzero(self.lengths > place)
            out[rows, place] = self.data[last[rows] - place]
        return out

    def joined(self) -> tuple[npt.NDArray[np.int32], Bytes]:
        """Return the offsets and bytes of texts or binaries, one after the other."""
        assert self.lengths is not None
        ends = np.cumsum(self.lengths)
        places = np.repeat(self.starts - (ends - self.lengths), self.lengths)
        places += np.arange(len(places))
        return np.concatenate([[0], ends]).astype(np.int32), self.data[places]


def plain_columns(schema: Mapping[str, Any]) -> list[PlainColumn] | None:
    """Return the columns of a file, None when not all are plain.

    Args:
        schema: Of the records of the file (`WrittenSchema.record`).
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
    """Return the values of some columns.

    Args:
        blocks: How many records each has, at least 1, and its bytes.
        columns: All columns of the records, in order.
        wanted: Names of those to return.
        record_null: Number of null, 0 or 1, where records are in a union; None where not.

    Raises:
        ValueError, IndexError: The bytes are no records of these columns, or one is null.
    """
    for count, block in blocks:
        if count * len(columns) > len(block):  # a value has a byte at least
            text = f"a block of {len(block)} bytes has no {count} records"
            raise ValueError(text)
    data = np.frombuffer(b"".join([*(block for _, block in blocks), _PADDING]), np.uint8)
    counts = np.array([count for count, _ in blocks], np.int64)
    ends = np.cumsum([len(block) for _, block in blocks])
    # Lanes that end early are the last ones.
    order = np.argsort(-counts, kind="stable")
    lanes = _Lanes(data, (ends - [len(block) for _, block in blocks])[order], counts[order])
    noted = lanes.pass_over(columns, frozenset(wanted), record_null)
    if not np.array_equal(lanes.places, ends[order]):
        text = "blocks do not end where their records do"
        raise ValueError(text)
    rank = np.argsort(order)
    in_file = np.arange(counts.max())[None, :] < counts[:, None]
    return {
        column.name: _values(data, column, noted[column.name], rank, in_file)
        for column in columns
        if column.name in noted
    }


class _Lanes:
    """A place in each block, going from value to value."""

    def __init__(self, data: Bytes, places: Ints, counts: Ints) -> None:
        self._data = data
        self._counts = counts
        self.places = places

    def pass_over(
        self, columns: Sequence[PlainColumn], wanted: frozenset[str], record_null: int | None
    ) -> dict[str, Places]:
        """Go to the end of all rows; return the places of wanted values on the way."""
        shape = (int(self._counts[0]), len(self._counts))
        noted = {c.name: _places(c, shape) for c in columns if c.name in wanted}
        for row in range(shape[0]):
            active = int(np.searchsorted(-self._counts, -row, side="left"))
            places = self.places[:active]
            if record_null is not None:
                self._pass_branch(places, 1 - record_null)
            for column in columns:
                self._pass_value(column, places, noted.get(column.name), row)
        return noted

    def _pass_branch(self, places: Ints, branch: int) -> None:
        """Move places behind the branch of a union that can only be this one."""
        if (self._data[places] != 2 * branch).any():
            text = "a record is null"
            raise ValueError(text)
        places += 1

    def _pass_value(
        self, column: PlainColumn, places: Ints, noted: Places | None, row: int
    ) -> None:
        """Move places behind a value."""
        if column.null is None:
            self._pass_present(column.kind, places, noted, row, slice(0, len(places)))
            return
        branches = self._data[places]
        places += 1
        if noted is not None:
            assert noted.branches is not None
            noted.branches[row, : len(places)] = branches
        present = branches != 2 * column.null
        if present.all():
            self._pass_present(column.kind, places, noted, row, slice(0, len(places)))
            return
        lanes = np.flatnonzero(present)
        if len(lanes):
            some = places[lanes]
            self._pass_present(column.kind, some, noted, row, lanes)
            places[lanes] = some

    def _pass_present(
        self, kind: Kind, places: Ints, noted: Places | None, row: int, lanes: slice | Ints
    ) -> None:
        if kind is Kind.BYTES:
            lengths = self._lengths(places)
            if noted is not None:
                assert noted.lengths is not None
                noted.starts[row, lanes] = places
                noted.lengths[row, lanes] = lengths
            places += lengths
            return
        if noted is not None:
            noted.starts[row, lanes] = places
        if kind is Kind.VARINT:
            self._pass_varint(places)
        else:
            places += kind.value

    def _pass_varint(self, places: Ints) -> None:
        more = self._data[places] >= 0x80
        places += 1
        for _ in range(_VARINT_BYTES_MAX):
            if not more.any():
                return
            byte = self._data[places]
            places += more
            more &= byte >= 0x80
        text = "a number has more than 10 bytes"
        raise ValueError(text)

    def _lengths(self, places: Ints) -> Ints:
        """Read lengths, and move places behind them."""
        byte = self._data[places]
        if not (byte >= 0x80).any():
            places += 1
            if (byte & 1).any():
                text = "a length is negative"
                raise ValueError(text)
            return (byte >> 1).astype(np.int64)
        lengths = ColumnValues(data=self._data, starts=places).numbers()
        if (lengths < 0).any() or (lengths > len(self._data)).any():
            text = "a length is not within its block"
            raise ValueError(text)
        self._pass_varint(places)
        return lengths


def _places(column: PlainColumn, shape: tuple[int, int]) -> Places:
    return Places(
        starts=np.zeros(shape, np.int64),
        lengths=np.zeros(shape, np.int64) if column.kind is Kind.BYTES else None,
        branches=np.zeros(shape, np.uint8) if column.null is not None else None,
    )


def _values(
    data: Bytes,
    column: PlainColumn,
    places: Places,
    rank: Ints,
    in_file: npt.NDArray[np.bool_],
) -> ColumnValues:
    """Return what was noted in file order: block by block, and in it row by row."""
    starts = places.starts.T[rank][in_file]
    lengths = None if places.lengths is None else places.lengths.T[rank][in_file]
    valid = None
    if places.branches is not None:
        assert column.null is not None
        branches = places.branches.T[rank][in_file]
        if (branches & ~np.uint8(2)).any():
            text = f"a union of column {column.name} has a branch that it does not have"
            raise ValueError(text)
        valid = branches != 2 * column.null
        valid = None if valid.all() else valid
    return ColumnValues(data=data, starts=starts, lengths=lengths, valid=valid)
