"""Rows of a bucket by key, as a scan of the same snapshot merges them.

Expired rows are not left out here; the caller leaves them out (`braid.lake.table.lookup.snapshot_lookup`). If a key
has a single record, that record is its row, unless it is a retract; several records are merged as a scan merges them.
A key without a record costs a probe of each file that may have it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.lake.errors import SchemaMismatch, UnsupportedFeature
from braid.lake.format.arrays import combined_array
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.schema import TableSchema
from braid.lake.format.system_columns import LEVEL, SEQUENCE_NUMBER, VALUE_KIND, is_retract
from braid.lake.lsm.round_merge import LookupMerge, lowest_levels
from braid.lake.lsm.sorted_run import plan_sections
from braid.lake.merge.fold import FoldCounters, Machine
from braid.lake.merge.single_key import can_merge_values, merge_single_key
from braid.lake.merge.spec import MergeSpec, columns_needed
from braid.lake.read.lookup.bucket_files import BucketFiles
from braid.lake.read.lookup.bucket_lookup import BucketLookup, NotCopied, PointMatch, Vectors
from braid.lake.read.lookup.key_matches import KeyMatches
from braid.lake.read.lookup.point_key import PointValue
from braid.lake.read.lookup.python_rows import Row, python_rows
from braid.lake.read.lookup.wanted_keys import Rows, WantedKeys
from braid.lake.read.reader import scan_merge

_VALUE_MERGES_MAX: Final = 16
"""Up to this many keys with several records are merged one by one as values: merging arrays costs milliseconds for a wide row,
however few records there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedRows:
    """Rows, each with the number of its key.

    Attributes:
        keys: int64; numbers of the wanted keys, ascending.
        rows: The requested columns of the table; one row per entry of `keys`.
    """

    keys: Rows
    rows: pa.Table


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRecords:
    """The records of one key.

    Attributes:
        records: Key-value table of all columns of the table, in the order in which a scan merges records.
        files: The file of each record.
    """

    records: pa.Table
    files: tuple[DataFileMeta, ...]


class BucketRows:
    """Finds and merges rows of one bucket at one snapshot; safe between threads."""

    def __init__(
        self,
        lookup: BucketLookup,
        *,
        schema: TableSchema,
        spec: MergeSpec,
        read_vectors: Callable[[], Vectors] | None,
    ) -> None:
        """Wrap the files of a bucket.

        Args:
            lookup: Search in the files that readers see.
            schema: The schema under which rows are read.
            spec: How their records merge.
            read_vectors: Reads the bucket's deletion vectors; called once. None: it has none.
        """
        self._lookup = lookup
        self._schema = schema
        self._spec = spec
        self._read_vectors = read_vectors
        self._known_vectors: Vectors | None = {} if read_vectors is None else None
        self._empty: dict[tuple[str, ...], pa.Table] = {}
        self._needed_by_columns: dict[
            tuple[str, ...], tuple[tuple[str, ...], Mapping[str, pa.DataType]]
        ] = {}
        self._merge = scan_merge(schema, spec, Machine.COLUMN, FoldCounters())
        assert self._merge.passes_singletons, "single records are returned without a merge"

    @property
    def bucket_files(self) -> BucketFiles:
        """The bucket's files with their copies."""
        return self._lookup.bucket_files

    def rows(self, keys: WantedKeys, wanted: Rows, columns: Sequence[str]) -> KeyedRows:
        """Return the rows of the keys that have a row, in the order of the keys.

        Args:
            keys: The keys, in the table's types.
            wanted: Numbers of the keys that may be in this bucket, ascending.
            columns: Table columns, without repeats.

        Raises:
            SchemaMismatch: Records that the table's merge refuses.
            CorruptData: A file is absent or does not match its metadata.
            StorageUnavailable: Storage or the local disk refuses.
        """
        found = self._lookup.find_all(keys, wanted, vectors=self._vectors)
        if not len(found):
            return KeyedRows(keys=found.keys, rows=self._no_rows(columns))
        if not _has_several(found):
            # A scan does not merge single records either. Unverified matches of one key each are
            # verified with the columns that are taken anyway.
            rows, is_row = self._lookup.rows(keys, found, columns)
            return _live_rows(found.keys, rows, is_row)
        if not found.is_verified:
            found = _select(found, self._lookup.verify(keys, found).nonzero()[0])
        if not len(found):
            return KeyedRows(keys=found.keys, rows=self._no_rows(columns))
        return self._merged(found, columns)

    def values(
        self, keys: WantedKeys, wanted: Rows, columns: tuple[str, ...]
    ) -> Iterator[tuple[int, Row]]:
        """Yield the rows that `rows` returns as Python values, each with the number of its key, in any order.

        Raises:
            UnsupportedFeature: As `python_rows`.
            Exception: What `rows` raises.
        """
        found = self._lookup.find_all(keys, wanted, vectors=self._vectors)
        if _has_several(found):
            if not found.is_verified:
                found = _select(found, self._lookup.verify(keys, found).nonzero()[0])
            is_several = _are_several(found.keys)
            yield from self._values_of_several(_select(found, is_several.nonzero()[0]), columns)
            found = _select(found, (~is_several).nonzero()[0])
        if len(found):
            rows, is_row = self._lookup.rows(keys, found, columns)
            yield from keyed_values(_live_rows(found.keys, rows, is_row))

    def records_of(self, key: WantedKeys) -> KeyRecords | None:
        """Return the records that the row of one key is merged from; None if the bucket has none.

        Args:
            key: One key, in the table's types.

        Raises:
            CorruptData: A file is absent or does not match its metadata.
            StorageUnavailable: Storage or the local disk refuses.
        """
        found = self._lookup.find_all(key, np.zeros(1, dtype=np.int64), vectors=self._vectors)
        assert found.is_verified, "a single key is compared as it is found"
        if not len(found):
            return None
        found = self._oldest_first(found)
        if isinstance(self._merge, LookupMerge):
            counting = lowest_levels(
                np.array([found.files[file].level for file in found.file_numbers], np.int32),
                found.keys.astype(np.uint64),
            )
            if counting is not None:
                found = _select(found, counting.nonzero()[0])
        records = self._lookup.records(found, self._schema.field_names)
        return KeyRecords(
            records=records.drop_columns([LEVEL]),
            files=tuple(found.files[file] for file in found.file_numbers),
        )

    def point_row(
        self, key_hash: int, values: Sequence[PointValue], columns: tuple[str, ...]
    ) -> Row | None:
        """Return the row of one key (`point_key`), None without one.

        Args:
            key_hash: The key's hash.
            values: The trimmed primary key.
            columns: Table columns, without repeats.

        Raises:
            NotCopied: A file has no copy of the columns: call `rows`.
            SchemaMismatch: As `rows`.
            UnsupportedFeature: As `python_rows`.
        """
        if self._known_vectors is None:
            raise NotCopied
        found = self._lookup.find_point(key_hash, values, self._known_vectors)
        if found is None:
            raise NotCopied
        if len(found) < 2:
            return self._lookup.point_row(found[0], columns) if found else None
        if self._merges_values:
            # A refused merge is done again below, whose error names the key. Values that Python cannot hold may be in
            # records or columns that the row does not show.
            with suppress(SchemaMismatch, UnsupportedFeature):
                return self._merged_values(found, columns)
        if not all(self._lookup.has_copy(match, self._needed(columns)) for match in found):
            raise NotCopied
        rows = self._merged(self._lookup.matches_of(found), columns).rows
        return python_rows(rows.to_batches()[0])[0] if rows.num_rows else None

    def _values_of_several(
        self, found: KeyMatches, columns: tuple[str, ...]
    ) -> Iterator[tuple[int, Row]]:
        """Yield the rows that verified records of keys with several records merge into."""
        numbers, begins = np.unique(found.keys, return_index=True)
        if len(numbers) <= _VALUE_MERGES_MAX and self._merges_values:
            files = [self._numbers_by_name[file.file_name] for file in found.files]
            matches = [
                (files[file], position)
                for file, position in zip(
                    found.file_numbers.tolist(), found.positions.tolist(), strict=True
                )
            ]
            ends = [*begins[1:].tolist(), len(found)]
            # As in `point_row`; nothing is yielded until all rows are merged.
            with suppress(NotCopied, SchemaMismatch, UnsupportedFeature):
                merged = [
                    self._merged_values(matches[begin:end], columns)
                    for begin, end in zip(begins.tolist(), ends, strict=True)
                ]
                pairs = zip(numbers.tolist(), merged, strict=True)
                yield from [(number, row) for number, row in pairs if row is not None]
                return
        if len(found):
            yield from keyed_values(self._merged(found, columns))

    def _merged_values(self, found: Sequence[PointMatch], columns: tuple[str, ...]) -> Row | None:
        """Return the row that the records of one key merge into, None without one."""
        if isinstance(self._merge, LookupMerge):
            # As `LookupMerge`: of the levels above 0, only the record on the lowest one counts.
            levels = [self._lookup.files[number].level for number, _ in found]
            lowest = min((level for level in levels if level), default=0)
            found = [
                match for match, level in zip(found, levels, strict=True) if level in (0, lowest)
            ]
        needed, types = self._needed_types(columns)
        oldest_first = sorted(found, key=lambda match: self._ages_by_number[match[0]])
        records = [self._lookup.point_record(match, needed) for match in oldest_first]
        merged = merge_single_key(records, self._spec, types)
        return None if merged is None else {name: merged[name] for name in columns}

    def _needed_types(
        self, columns: tuple[str, ...]
    ) -> tuple[tuple[str, ...], Mapping[str, pa.DataType]]:
        """Return the columns of records that a merge for these columns needs, and the types of the table's ones."""
        found = self._needed_by_columns.get(columns)
        if found is None:
            types = {
                name: self._schema.arrow_schema.field(name).type for name in self._needed(columns)
            }
            found = (SEQUENCE_NUMBER, VALUE_KIND, *types), types
            self._needed_by_columns[columns] = found
        return found

    @cached_property
    def _merges_values(self) -> bool:
        arrow_schema = self._schema.arrow_schema
        return can_merge_values(
            self._spec, dict(zip(arrow_schema.names, arrow_schema.types, strict=True))
        )

    @cached_property
    def _numbers_by_name(self) -> dict[str, int]:
        return {file.file_name: number for number, file in enumerate(self._lookup.files)}

    @cached_property
    def _ages_by_number(self) -> list[int]:
        return [self._ages[file.file_name] for file in self._lookup.files]

    def _merged(self, found: KeyMatches, columns: Sequence[str]) -> KeyedRows:
        """Return the rows that verified records merge into."""
        found = self._oldest_first(found)
        records = self._lookup.records(found, columns_needed(self._spec, columns))
        if not isinstance(self._merge, LookupMerge):
            records = records.drop_columns([LEVEL])
        # Numbers of keys serve as codes of keys here: they distinguish and order keys as codes do.
        merged = self._merge.merge(records, found.keys.astype(np.uint64))
        kinds = combined_array(merged.column(VALUE_KIND)).to_numpy()
        is_add = ~is_retract(kinds)
        return _live_rows(
            np.unique(found.keys), merged.select(list(columns)), None if is_add.all() else is_add
        )

    def is_cached(self, columns: Sequence[str]) -> bool:
        """Return whether files have copies of these columns and vectors are read: no key is read from storage."""
        return self._known_vectors is not None and self._lookup.is_cached(self._needed(columns))

    def copied_columns(self) -> frozenset[str]:
        """Return the columns of which all files have copies, if vectors are read; else none."""
        return frozenset() if self._known_vectors is None else self.bucket_files.copied_columns()

    def load_tasks(self, columns: Sequence[str]) -> list[Callable[[], object]]:
        """Return calls that copy each file for `rows` (see `BucketLookup.load_tasks`)."""
        return [lambda: self._vectors, *self._lookup.load_tasks(self._needed(columns))]

    def _needed(self, columns: Sequence[str]) -> tuple[str, ...]:
        return tuple(columns_needed(self._spec, columns))

    def _no_rows(self, columns: Sequence[str]) -> pa.Table:
        # Cached, because making a schema takes as long as a search, and absent keys are common.
        names = tuple(columns)
        empty = self._empty.get(names)
        if empty is None:
            fields = [self._schema.arrow_schema.field(name) for name in names]
            empty = self._empty[names] = pa.schema(fields).empty_table()
        return empty

    @property
    def _vectors(self) -> Vectors:
        if self._known_vectors is None:
            assert self._read_vectors is not None, "a bucket without vectors knows them"
            # Two threads may read them at the same time, with the same result.
            self._known_vectors = self._read_vectors()
        return self._known_vectors

    @cached_property
    def _ages(self) -> dict[str, int]:
        """The age rank of each file by name: lower is older, within the sections of a scan."""
        sections = plan_sections(self._lookup.files, self._schema.key_fields)
        return {
            file.file_name: age
            for section in sections
            for age, run in enumerate(section.runs)
            for file in run.files
        }

    def _oldest_first(self, found: KeyMatches) -> KeyMatches:
        """Return the records of each key in the order in which a scan merges them."""
        ages = np.array([self._ages[file.file_name] for file in found.files])
        order = np.lexsort((ages[found.file_numbers], found.keys))
        return _select(found, order)


def _has_several(found: KeyMatches) -> bool:
    """Return whether some key may have more than one record."""
    return len(found) > 1 and bool((found.keys[1:] == found.keys[:-1]).any())


def _are_several(keys: Rows) -> npt.NDArray[np.bool_]:
    """Return for each record whether its key, of ascending numbers, has others."""
    is_repeated = keys[1:] == keys[:-1]
    several = np.zeros(len(keys), dtype=np.bool_)
    several[1:] |= is_repeated
    several[:-1] |= is_repeated
    return several


def keyed_values(found: KeyedRows) -> Iterator[tuple[int, Row]]:
    """Yield the rows as Python values, each with the number of its key; raises what `python_rows` raises."""
    numbers = iter(found.keys.tolist())
    for batch in found.rows.to_batches():
        # The rows come first: where they end, no number has been taken, and the numbers go on in the next batch.
        for row, number in zip(python_rows(batch), numbers, strict=False):
            yield number, row


def _select(found: KeyMatches, records: Rows) -> KeyMatches:
    """Return some records, whose keys were compared, in the order of their numbers."""
    file_numbers = found.file_numbers[records]
    with_records = np.unique(file_numbers)  # ascending: newest run first, as before
    return KeyMatches(
        keys=found.keys[records],
        files=tuple(found.files[number] for number in with_records.tolist()),
        file_numbers=with_records.searchsorted(file_numbers).astype(np.int32),
        positions=found.positions[records],
        is_verified=True,
    )


def _live_rows(keys: Rows, rows: pa.Table, is_row: npt.NDArray[np.bool_] | None) -> KeyedRows:
    """Return the records that are rows; all of them if `is_row` is None."""
    assert len(keys) == rows.num_rows, "one row per key"
    if is_row is not None:
        keys, rows = keys[is_row], rows.filter(pa.array(is_row))
    return KeyedRows(keys=keys, rows=rows)
