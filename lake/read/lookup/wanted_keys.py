"""Keys of a lookup, in the forms in which they are compared with the keys of files, and the comparison itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.format.arrays import combined_array
from braid.lake.format.data_types import DataType
from braid.lake.format.indexes.value_hash import Hashes, value_hashes
from braid.lake.format.schema import TableSchema
from braid.lake.merge.order.key_codes import Uints
from braid.lake.read.lookup.key_hash import (
    canonical,
    is_number,
    key_hashes,
    number_words,
    raw_numbers,
)

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)  # no slots: cached_property needs a dictionary
class WantedKeys:
    """Keys, in the order of the request.

    Attributes:
        columns: The trimmed primary key, in the table's types, without nulls; each in one piece.
    """

    columns: tuple[pa.Array, ...]

    def __post_init__(self) -> None:
        """Check that the columns are a key."""
        assert self.columns, "a key has columns"

    def __len__(self) -> int:
        return len(self.columns[0])

    @cached_property
    def hashes(self) -> Uints:
        """One hash per key."""
        return key_hashes(self.columns)

    @cached_property
    def hash_numbers(self) -> list[int]:
        """The hashes as Python ints, for few keys."""
        return [int(value) for value in self.hashes]

    @cached_property
    def _value_hashes(self) -> dict[int, Hashes]:
        return {}

    def value_hashes(self, index: int, data_type: DataType) -> Hashes:
        """Return the hash of each key's value in one column, as the indexes of files have it.

        Args:
            index: Index of the column in the key, from 0.
            data_type: The column's type.
        """
        hashes = self._value_hashes.get(index)
        if hashes is None:
            hashes = self._value_hashes[index] = value_hashes(self.columns[index], data_type)
        return hashes

    @cached_property
    def numbers(self) -> tuple[npt.NDArray[Any] | None, ...]:
        """For each column, integers that are equal iff the values are; None for text and the like."""
        return tuple(
            number_words(column) if is_number(column.type) else None for column in self.columns
        )


def wanted_keys(keys: pa.Table | pa.RecordBatch, schema: TableSchema) -> WantedKeys:
    """Return the keys of a table that has at least the trimmed primary key, in the table's types."""
    names = schema.trimmed_primary_keys
    return WantedKeys(columns=tuple(combined_array(keys.column(name)) for name in names))


class KeyColumns:
    """The keys of a file, row by row."""

    def __init__(self, columns: Sequence[pa.ChunkedArray]) -> None:
        """Wrap the columns of the trimmed primary key, in order."""
        # Text may be too large for one piece; numbers never are.
        self._columns: list[pa.Array | pa.ChunkedArray] = [
            combined_array(column) if column.num_chunks == 1 or is_number(column.type) else column
            for column in columns
        ]
        self._numbers = [
            raw_numbers(column) if isinstance(column, pa.Array) and is_number(column.type) else None
            for column in self._columns
        ]

    def match(self, keys: WantedKeys, wanted: Rows, rows: Rows) -> npt.NDArray[np.bool_]:
        """Return for each pair of a wanted key and a row whether the row has the key."""
        same: npt.NDArray[np.bool_] | None = None
        for index, column in enumerate(self._columns):
            # Numbers are compared as integers, without Arrow's dispatch: most keys are numbers.
            numbers, of_keys = self._numbers[index], keys.numbers[index]
            if numbers is not None and of_keys is not None:
                alike = canonical(numbers[rows]) == of_keys[wanted]
            else:
                present = column.take(row_array(rows))
                alike = np.asarray(pc.equal(present, keys.columns[index].take(row_array(wanted))))
            same = alike if same is None else same & alike
        assert same is not None, "a key has columns"
        return same

    def has_values(self, values: Sequence[int | bytes], row: int) -> bool:
        """Return whether a row has one key, given as numbers and texts in UTF-8 (`point_key`)."""
        return all(
            value_of(row) == value for value_of, value in zip(self._values_of, values, strict=True)
        )

    @cached_property
    def _values_of(self) -> tuple[Callable[[int], int | bytes], ...]:
        return tuple(
            # An item of a memoryview is a Python int at once.
            numbers.data.__getitem__ if numbers is not None else partial(_text_at, column)
            for numbers, column in zip(self._numbers, self._columns, strict=True)
        )

    def has(self, keys: WantedKeys, wanted: int, row: int) -> bool:
        """Return whether a row has one key.

        Args:
            keys: Keys.
            wanted: Number of the key.
            row: Number of the row.
        """
        for index, column in enumerate(self._columns):
            numbers, of_keys = self._numbers[index], keys.numbers[index]
            if numbers is not None and of_keys is not None:
                if canonical(numbers[row : row + 1])[0] != of_keys[wanted]:
                    return False
            elif column[row].as_py() != keys.columns[index][wanted].as_py():
                return False
        return True


def _text_at(column: pa.Array | pa.ChunkedArray, row: int) -> bytes:
    text: bytes = column[row].as_buffer().to_pybytes()
    return text


def are_of_keys(
    columns: Sequence[pa.Array], keys: WantedKeys, wanted: Rows
) -> npt.NDArray[np.bool_]:
    """Return for each row whether it has the key that is paired with it.

    Args:
        columns: The trimmed primary key of the rows.
        keys: Keys.
        wanted: The number of the key that each row is paired with.
    """
    same = np.ones(len(wanted), dtype=np.bool_)
    # The usual case: each key was found once, in the order of the keys.
    is_identity = len(wanted) == len(keys) and bool((wanted == np.arange(len(keys))).all())
    for column, of_keys, numbers in zip(columns, keys.columns, keys.numbers, strict=True):
        if numbers is not None:
            same &= number_words(column) == (numbers if is_identity else numbers[wanted])
            continue
        expected = of_keys if is_identity else of_keys.take(row_array(wanted))
        # Comparing whole arrays takes a twentieth of comparing value by value, and they are almost
        # always equal.
        if not column.equals(expected):
            same &= np.asarray(pc.equal(column, expected))
    return same


def row_array(rows: Rows) -> pa.Array:
    """Return row numbers as an Arrow array; faster than `pa.array`, and without a copy of contiguous numbers."""
    rows = np.ascontiguousarray(rows)
    return pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(rows)])
