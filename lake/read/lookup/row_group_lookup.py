"""Lookup in a data file without a copy: only the row groups that may have the keys are decoded.

A file is sorted by its key. So the bounds of row groups leave one row group to read for a key of one column, and a
few for a key of several columns. Only Parquet has such bounds; of an ORC or Avro file all rows are decoded. A search
for more than 4,096 keys decodes the keys of the whole file; even then, rows that were found are taken from their row
groups. Reading a row group takes about a hundredth of a second; a copy answers in microseconds.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.lake.files.parquet.bounds import ColumnBounds
from braid.lake.files.row_filters import RowGroupFilter
from braid.lake.merge.order.key_order import key_codes
from braid.lake.read.lookup.hash_index import build_index
from braid.lake.read.lookup.key_hash import key_hashes
from braid.lake.read.lookup.wanted_keys import KeyColumns, Rows, WantedKeys, row_array

_BOUNDED_KEYS_MAX: Final = 4_096
"""More keys than this are assumed to be in all row groups, because comparing each key with the
bounds of each row group takes memory and time for every pair."""


class PositionedRows(Protocol):
    """The records of one data file, row group by row group."""

    def parts(
        self, columns: Sequence[str], row_filter: RowGroupFilter
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield batches of the chosen row groups, each with the position of its first row in the file.

        Args:
            columns: Columns of the table that the batches have.
            row_filter: Chooses the row groups.

        Raises:
            CorruptData: The file is absent or does not match its metadata.
        """
        ...

    def rows_at(self, columns: Sequence[str], positions: Rows) -> tuple[pa.Table, int, int]:
        """Return some records, the number of rows decoded for them, and the bytes of those rows.

        Args:
            columns: Table columns, `SEQUENCE_NUMBER` or `VALUE_KIND`.
            positions: Positions of the records; at least one.

        Raises:
            CorruptData: The file is absent or does not match its metadata.
        """
        ...


class RowGroupLookup:
    """Finds keys in one data file, and returns its rows; reads from storage each time."""

    def __init__(
        self,
        rows: PositionedRows,
        *,
        key_columns: Sequence[str],
        on_read: Callable[[int, int], None],
    ) -> None:
        """Wrap a file; it is not opened yet.

        Args:
            rows: The file.
            key_columns: The trimmed primary key, in order.
            on_read: Called after each read, with the number of decoded rows and their bytes.
        """
        self._rows = rows
        self._key_columns = tuple(key_columns)
        self._on_read = on_read

    def find_matches(self, keys: WantedKeys, wanted: Rows) -> tuple[Rows, Rows]:
        """Return the indices in `wanted` of the keys that the file has, and the positions of their rows.

        The indices are ascending. Keys are compared, not only their hashes.

        Args:
            keys: The keys of the request.
            wanted: Which of `keys` to search for, as indices in `keys`; at least one.

        Raises:
            CorruptData: The file is absent or does not match its metadata.
            StorageUnavailable: Storage refuses.
        """
        assert len(wanted), "files without a wanted key are not read"
        hashes = keys.hashes[wanted]
        numbers: list[Rows] = []
        positions: list[Rows] = []
        decoded = size = 0
        for begin, batch in self._rows.parts(self._key_columns, self._filter(keys, wanted)):
            decoded += batch.num_rows
            size += batch.nbytes
            here, rows = self._matches(batch, keys, wanted, hashes)
            numbers.append(here)
            positions.append(rows + begin)
        self._on_read(decoded, size)
        if not numbers:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        found = np.concatenate(numbers)
        order = found.argsort(kind="stable")
        return found[order], np.concatenate(positions)[order]

    def take(self, positions: Rows, columns: Sequence[str]) -> pa.Table:
        """Return columns of some rows, one row per position, in order.

        Args:
            positions: Positions of rows; at least one.
            columns: Table columns, `SEQUENCE_NUMBER` or `VALUE_KIND`, without repeats.

        Raises:
            CorruptData: The file is absent or does not match its metadata.
            StorageUnavailable: Storage refuses.
        """
        rows, decoded, size = self._rows.rows_at(columns, positions)
        self._on_read(decoded, size)
        return rows

    def _matches(
        self, batch: pa.RecordBatch, keys: WantedKeys, wanted: Rows, hashes: npt.NDArray[np.uint64]
    ) -> tuple[Rows, Rows]:
        """Return the indices of the wanted keys that a batch has, and their rows in the batch."""
        columns = [batch.column(name) for name in self._key_columns]
        row_hashes = key_hashes(columns)
        # Most rows of a row group have none of the keys: an index of the others is small.
        likely = np.isin(row_hashes, hashes).nonzero()[0]
        if not len(likely):
            return likely, likely
        # A matching hash may be of another key: keys of the likely rows are compared.
        alike = KeyColumns(
            [pa.chunked_array([column.take(row_array(likely))]) for column in columns]
        )
        here, rows = build_index(row_hashes[likely]).find_all(
            hashes, lambda numbers, rows: alike.match(keys, wanted[numbers], rows)
        )
        return here, likely[rows]

    def _filter(self, keys: WantedKeys, wanted: Rows) -> RowGroupFilter:
        few = None
        if len(wanted) <= _BOUNDED_KEYS_MAX:
            rows = row_array(wanted)
            few = {
                name: column.take(rows)
                for name, column in zip(self._key_columns, keys.columns, strict=True)
            }

        def keep(bounds: Mapping[str, ColumnBounds], count: int) -> npt.NDArray[np.bool_]:
            if few is None:
                return np.ones(count, dtype=np.bool_)
            # A row group may have a key if each column's bounds allow that key's value; it is read if
            # it may have any of the keys.
            may_have = np.ones((len(wanted), count), dtype=np.bool_)
            for name, column in few.items():
                if name in bounds:
                    may_have &= _within(column, bounds[name])
            return np.asarray(may_have.any(axis=0))

        return RowGroupFilter(columns=self._key_columns, keep=keep)


def _within(column: pa.Array, bounds: ColumnBounds) -> npt.NDArray[np.bool_]:
    """Return a matrix (values x row groups): whether the bounds allow the row group to have the value."""
    count = len(bounds.minima)
    # Any value fills unknown bounds: they are overruled below.
    both = [bounds.minima.fill_null(column[0]), bounds.maxima.fill_null(column[0])]
    codes = key_codes([pa.chunked_array([*both, column])])
    low, high, values = codes[:count], codes[count : 2 * count], codes[2 * count :, None]
    within: npt.NDArray[np.bool_] = (values >= low) & (values <= high)
    # A row group without a bound may have any value.
    within[:, bounds.minima.is_null().to_numpy(zero_copy_only=False)] = True
    within[:, bounds.maxima.is_null().to_numpy(zero_copy_only=False)] = True
    return within
