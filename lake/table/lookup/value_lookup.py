"""Lookup of rows by the values of some columns at one snapshot.

Each file's copy has an index of its own records by the values of each column. It is made once, because files never change. The
records with the value of one column, the one with the fewest, name candidates: keys whose rows may have the values. The rows
of the candidates are looked up at the snapshot and compared, so older versions of a row never answer.

Requires that the merged value of each column is the value of one of the key's records, or null: this holds for every engine,
and for the aggregate functions that choose a value (such as max), not for those that compute one (such as sum).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.errors import LimitExceeded, table_error_context
from braid.lake.format.arrays import combined_array
from braid.lake.read.lookup.bucket_lookup import NotCopied
from braid.lake.read.lookup.file_lookup import FileLookup
from braid.lake.read.lookup.key_hash import key_hashes
from braid.lake.read.lookup.python_rows import Row, python_rows
from braid.lake.read.lookup.wanted_keys import Rows, row_array
from braid.lake.table.lookup.snapshot_lookup import SnapshotLookup

CANDIDATES_MAX: Final = 100_000
"""Records with the value of a column: an index is for values that few rows have."""

_CHUNK_KEYS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRows:
    """Some of the rows with the wanted values.

    Attributes:
        rows: The rows, by the hash of their keys, ascending.
        after: Hash of the last key that was looked at, to continue after; None: there are no more.
    """

    rows: list[Row]
    after: int | None


class ValueLookup:
    """Finds the rows of a snapshot by the values of some columns; safe between threads."""

    def __init__(self, lookup: SnapshotLookup, columns: Sequence[str]) -> None:
        """Find rows by columns that are not nested; nothing is read yet."""
        self._lookup = lookup
        self._columns = tuple(columns)

    def progress(self) -> tuple[int, int]:
        """Return how many files are indexed, and how many there are."""
        done = [
            all(files.is_indexed(number, column) for column in self._columns)
            for files in self._lookup.bucket_files()
            for number in range(len(files))
        ]
        return sum(done), len(done)

    def is_complete(self) -> bool:
        """Return whether all files are indexed."""
        done, count = self.progress()
        return done == count

    def build(self) -> bool:
        """Index all files that are not indexed yet; return False if there was no room for all.

        Raises:
            LeaseLost: A file is gone, because the snapshot has expired.
            CorruptData: A file is absent or does not match its metadata.
            StorageUnavailable: Storage or the local disk refuses.
        """
        with table_error_context(self._lookup.identifier), self._lookup.held():
            return all(
                files.index(number, column)
                for files in self._lookup.bucket_files()
                for number in range(len(files))
                for column in self._columns
            )

    def rows(
        self,
        values: Mapping[str, object],
        *,
        columns: Sequence[str],
        rows_max: int,
        after: int | None = None,
    ) -> ValueRows:
        """Return rows with some values.

        Args:
            values: The value of each column, as `pa.array` takes it; not null.
            columns: Columns of the rows, in order.
            rows_max: The largest number of rows, unless keys have equal hashes.
            after: `ValueRows.after` of rows of this snapshot or another: rows from there on are returned.

        Raises:
            NotCopied: A file is not indexed.
            LimitExceeded: The values have more than `CANDIDATES_MAX` candidates.
            LakeError: As `SnapshotLookup.rows`.
        """
        assert rows_max > 0
        with table_error_context(self._lookup.identifier):
            keys, hashes = self._candidates(values)
            begin = 0 if after is None else int(hashes.searchsorted(np.uint64(after), "right"))
            names = list(dict.fromkeys([*columns, *self._columns]))
            found: list[Row] = []
            while begin < len(hashes) and len(found) < rows_max:
                end = min(begin + min(_CHUNK_KEYS, rows_max - len(found)), len(hashes))
                # Keys with equal hashes stay together, because a hash is where the next rows begin.
                end = int(hashes.searchsorted(hashes[end - 1], "right"))
                rows = self._lookup.rows(keys.slice(begin, end - begin), columns=names)
                matching = rows.filter(self._equal(rows, values)).select(list(columns))
                found += [row for batch in matching.to_batches() for row in python_rows(batch)]
                begin = end
            return ValueRows(
                rows=found, after=int(hashes[begin - 1]) if begin < len(hashes) else None
            )

    def _candidates(
        self, values: Mapping[str, object]
    ) -> tuple[pa.Table, np.ndarray[tuple[int], np.dtype[np.uint64]]]:
        """Return the keys that may have the values, each once, and their hashes, ascending."""
        schema = self._lookup.schema
        # One column is enough to find them. By several together they are not found: their values may come from
        # different records.
        column, records = min(
            ((name, self._records(name, values[name])) for name in self._columns),
            key=lambda found: sum(len(rows) for _, rows in found[1]),
        )
        count = sum(len(rows) for _, rows in records)
        if count > CANDIDATES_MAX:
            message = (
                f"{count} records have this value of {column}, more than {CANDIDATES_MAX}\n"
                "hint: an index needs a column with values that few rows have"
            )
            raise LimitExceeded(message)
        names = schema.primary_keys
        key_schema = pa.schema([schema.arrow_schema.field(name) for name in names])
        parts = [copy.take(rows, names) for copy, rows in records if len(rows)]
        keys = pa.concat_tables([key_schema.empty_table(), *parts])
        keys = keys.group_by(list(names), use_threads=False).aggregate([]).cast(key_schema)
        hashes = self._lookup.hashes_of(keys)
        order = np.argsort(hashes, kind="stable")
        return keys.take(row_array(order)), hashes[order]

    def _records(self, column: str, value: object) -> list[tuple[FileLookup, Rows]]:
        """Return the records that may have a value, as rows of the files' copies."""
        kind = self._lookup.schema.arrow_schema.field(column).type
        value_hash = int(key_hashes([pa.array([value], kind)])[0])
        found = [
            files.rows_with(number, column, value_hash)
            for files in self._lookup.bucket_files()
            for number in range(len(files))
        ]
        records = [one for one in found if one is not None]
        if len(records) < len(found):
            raise NotCopied
        return records

    def _equal(self, rows: pa.Table, values: Mapping[str, object]) -> pa.Array:
        """Return for each row whether it has the values."""
        equal = pa.array(np.ones(rows.num_rows, dtype=np.bool_))
        for name in self._columns:
            column = combined_array(rows.column(name))
            wanted = pa.scalar(values[name], column.type)
            equal = pc.and_(equal, pc.fill_null(pc.equal(column, wanted), False))
        return equal
