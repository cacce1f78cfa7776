"""Keys that are looked for, ready to be compared with those of files."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lake.format.arrays import combined_array
from lake.format.data_types import DataType
from lake.format.indexes.value_hash import Hashes, value_hashes
from lake.format.schema import TableSchema
from lake.merge.order.key_codes import Uints
from lake.read.lookup.key_hash import canonical, is_number, key_hashes, number_words, raw_numbers

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)  # no slots: cached_property needs a dictionary
class WantedKeys:
    """Keys, in the order in which they were asked for.

    Attributes:
        columns: The trimmed primary key, in the table's types, without nulls; each in one piece.
    """

    columns: tuple[pa.Array, ...]

    def __len__(self) -> int:
        return len(self.columns[0])

    @cached_property
    def hashes(self) -> Uints:
        """One hash per key."""
        return key_hashes(self.columns)

    @cached_property
    def hash_numbers(self) -> list[int]:
        """The hashes as numbers of Python, for few keys."""
        return [int(value) for value in self.hashes]

    @cached_property
    def _value_hashes(self) -> dict[int, Hashes]:
        return {}

    def value_hashes(self, place: int, data_type: DataType) -> Hashes:
        """Return the hash of each key's value in one column, as the indexes of files have it.

        Args:
            place: Of the column in the key.
            data_type: Its type.
        """
        hashes = self._value_hashes.get(place)
        if hashes is None:
            hashes = self._value_hashes[place] = value_hashes(self.columns[place], data_type)
        return hashes

    @cached_property
    def numbers(self) -> tuple[npt.NDArray[Any] | None, ...]:
        """Of each column, integers that are equal where the keys are; None of text and the like."""
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
        """Take over the trimmed primary key, in order."""
        # Only text is ever too large for one piece.
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
            numbers, of_keys = self._numbers[index], keys.numbers[index]
            if numbers is not None and of_keys is not None:
                alike = canonical(numbers[rows]) == of_keys[wanted]
            else:
                there = column.take(row_array(rows))
                alike = np.asarray(pc.equal(there, keys.columns[index].take(row_array(wanted))))
            same = alike if same is None else same & alike
        assert same is not None
        return same

    def has(self, keys: WantedKeys, wanted: int, row: int) -> bool:
        """Return whether a row has one of the wanted keys."""
        for index, column in enumerate(self._columns):
            numbers, of_keys = self._numbers[index], keys.numbers[index]
            if numbers is not None and of_keys is not None:
                if canonical(numbers[row : row + 1])[0] != of_keys[wanted]:
                    return False
            elif column[row].as_py() != keys.columns[index][wanted].as_py():
                return False
        return True


def are_of_keys(
    columns: Sequence[pa.Array], keys: WantedKeys, wanted: Rows
) -> npt.NDArray[np.bool_]:
    """Return for each row whether it has the key that is paired with it.

    Args:
        columns: The trimmed primary key of the rows.
        keys: Keys.
        wanted: Which of them each row may have.
    """
    same = np.ones(len(wanted), dtype=np.bool_)
    is_every = len(wanted) == len(keys) and bool((wanted == np.arange(len(keys))).all())
    for column, of_keys, numbers in zip(columns, keys.columns, keys.numbers, strict=True):
        if numbers is not None:
            same &= number_words(column) == (numbers if is_every else numbers[wanted])
            continue
        expected = of_keys if is_every else of_keys.take(row_array(wanted))
        # To compare them whole takes a twentieth of one by one, and finds them equal mostly.
        if not column.equals(expected):
            same &= np.asarray(pc.equal(column, expected))
    return same


def row_array(rows: Rows) -> pa.Array:
    """Return row numbers as Arrow takes them; without a copy, and faster than `pa.array`."""
    rows = np.ascontiguousarray(rows)
    return pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(rows)])
