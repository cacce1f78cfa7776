"""Search for keys in the files of a bucket, and reading of the records that were found.

Runs are searched from the newest on: the files of level 0 one by one, then on each level the one file
whose key range contains the key. For a file without a copy, its bloom filters are checked first
(`key_filters`). There are two searches:

| search | result | used by |
|---|---|---|
| `find` | the newest record of each key, on the levels above a given one | compactions, which wait for copies |
| `find_all` | every record of each key | readers, which merge them |

`find_all` may compare hashes alone. A match is then almost never wrong, and the caller detects a wrong one: it reads
the records with their keys anyway, and compares the keys of all files at once (`rows`, `verify`).

A row that a deletion vector of the bucket marks is not a record: the search continues in older runs. The vectors are
an argument of each search, because they change while a file stays the same.

Three ways to search a run, by cost:

| way | when | cost |
|---|---|---|
| joint index | all files of level 0 at once, in `find_all`, if all have copies and few rows together | one probe for all of them |
| every file is probed with every key | few copied files, few keys | for each file one probe of all keys |
| key ranges first | otherwise | all keys are located among the ranges once, then each file is probed with its own keys |

Source: merge-semantics 6.4.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import AbstractBitMap

from braid.lake.files.column_mapping import NO_OLDER_SCHEMAS, OlderSchemas
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.arrays import combined_array
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.schema import TableSchema
from braid.lake.format.system_columns import (
    LEVEL_FIELD,
    SEQUENCE_NUMBER,
    VALUE_KIND,
    RowKind,
    is_retract,
)
from braid.lake.lsm.levels import levels_of
from braid.lake.read.lookup.bucket_files import BucketFiles
from braid.lake.read.lookup.file_lookup import FEW_KEYS
from braid.lake.read.lookup.joint_index import JOINT_ROWS_MAX, JointIndex
from braid.lake.read.lookup.key_matches import KeyMatches, are_marked, merge_hits
from braid.lake.read.lookup.key_ranges import KeyRanges
from braid.lake.read.lookup.lookup_cache import LookupCache
from braid.lake.read.lookup.point_key import PointValue
from braid.lake.read.lookup.python_rows import Row
from braid.lake.read.lookup.wanted_keys import Rows, WantedKeys, are_of_keys, wanted_keys
from braid.lake.snapshots.file_indexes import FileIndexStore

Vectors = Mapping[str, AbstractBitMap]
"""Positions of deleted rows by file name."""

PointMatch = tuple[int, int]
"""Number of a file of the bucket, and the position of a record in it."""

_PROBED_FILES_MAX: Final = 4
"""Most files of a run that are probed with every key. A probe costs the same few microseconds
whether the file has the key or not (`hash_index`), and locating keys of several columns among
ranges costs a sort of keys and bounds (`key_codes`): about as much as probing a few files."""

_PROBED_KEYS_MAX: Final = 1_024
"""Most keys that every file is probed with. The cost of superfluous probes grows with files x keys, that
of locating keys only with keys."""


class NotCopied(Exception):
    """A single row cannot be read without storage, or without arrays."""


class BucketLookup:
    """Finds keys in the files of one bucket; safe between threads."""

    def __init__(
        self,
        cache: LookupCache,
        *,
        file_io: FileIO,
        paths: TablePaths,
        schema: TableSchema,
        partition: bytes,
        bucket: int,
        files: Sequence[DataFileMeta],
        older_schemas: OlderSchemas = NO_OLDER_SCHEMAS,
        file_indexes: FileIndexStore | None = None,
    ) -> None:
        """Sort the files into runs; none is opened before a key may be in it.

        Args:
            cache: Keeps the copies of files.
            file_io: Storage.
            paths: The table's paths.
            schema: The schema under which records are read.
            partition: Serialised partition row.
            bucket: Bucket number.
            files: Live files of the bucket, on any level, in any order.
            older_schemas: By id, the schemas of files that were written with other columns.
            file_indexes: Caches the indexes of files; None reads them anew.
        """
        self._schema = schema
        self._runs = levels_of(files, schema.table_options).runs
        self._files = BucketFiles(
            [file for run in self._runs for file in run.files],
            cache,
            file_io=file_io,
            paths=paths,
            schema=schema,
            bucket_id=(partition, bucket),
            older_schemas=older_schemas,
            file_indexes=file_indexes if file_indexes is not None else FileIndexStore(file_io),
        )
        # Each file of level 0 is a run, and these are the newest: they have the first numbers.
        self._new_files = sum(file.level == 0 for file in self._files.all)
        # A joint index of one file would only repeat that file's own.
        self._may_join = self._new_files > 1 and (
            sum(file.row_count for file in self._files.all[: self._new_files]) <= JOINT_ROWS_MAX
        )
        self._joint: JointIndex | None = None
        assert len(self._files) == len(files), "each file is in one run"
        self._key_names = schema.trimmed_primary_keys
        ends = np.cumsum([len(run.files) for run in self._runs]).tolist()
        self._run_numbers = [
            range(end - len(run.files), end) for run, end in zip(self._runs, ends, strict=True)
        ]
        self._ranges = {
            numbers.start: KeyRanges(run.files, schema.key_fields)
            for run, numbers in zip(self._runs, self._run_numbers, strict=True)
        }

    @property
    def files(self) -> tuple[DataFileMeta, ...]:
        """The files, newest run first."""
        return self._files.all

    @property
    def bucket_files(self) -> BucketFiles:
        """The same files with their copies."""
        return self._files

    def find(
        self, keys: pa.Table | pa.RecordBatch, *, above_level: int, vectors: Vectors | None = None
    ) -> KeyMatches:
        """Return the newest record of each key on the levels above a given one.

        Args:
            keys: Rows with the columns of the trimmed primary key, in the table's types, without
                nulls; other columns are ignored.
            above_level: Only levels above this one are searched; -1 includes level 0, from the
                newest file on.
            vectors: Current deletion vectors of the bucket.

        Returns:
            At most one entry per key.

        Raises:
            CorruptData: A file is absent or does not match its metadata.
            StorageUnavailable: Storage or the local disk refuses.
        """
        wanted = wanted_keys(keys, self._schema)
        numbers = np.arange(len(wanted))
        return self._search(
            wanted, numbers, vectors or {}, first_only=True, above_level=above_level
        )

    def find_all(
        self, keys: WantedKeys, wanted: Rows, *, vectors: Vectors | None = None
    ) -> KeyMatches:
        """Return every record that may have one of the keys; the records of a key newest run first.

        Args:
            keys: The keys, in the table's types.
            wanted: Numbers of the keys to search for, ascending.
            vectors: Current deletion vectors of the bucket.

        Returns:
            Records of the keys; unless they are verified, records of other keys with the same hash
            may be among them.

        Raises:
            CorruptData: A file is absent or does not match its metadata.
            StorageUnavailable: Storage or the local disk refuses.
        """
        return self._search(keys, wanted, vectors or {}, first_only=False)

    def find_point(
        self, key_hash: int, values: Sequence[PointValue], vectors: Vectors
    ) -> list[PointMatch] | None:
        """Return every record of one key (`point_key`), newest run first; None if a file to search has no copy."""
        found: list[PointMatch] = []
        joint = self._joint_index()
        if joint is not None:
            found += [(number, row) for number, row in joint.find_point(key_hash, values)]
        for run, numbers in zip(self._runs, self._run_numbers, strict=True):
            if joint is not None and run.level == 0:
                continue
            number = numbers.start
            if len(numbers) > 1:
                index = self._ranges[number].file_of(values)
                if index < 0:
                    continue
                number += index
            copy = self._files.copy_of(number)
            if copy is None:
                return None
            row = copy.find_point(key_hash, values)
            if row < 0:
                continue
            vector = vectors.get(self._files[number].file_name)
            if vector is None or row not in vector:
                found.append((number, row))
        return found

    def point_row(self, match: PointMatch, columns: tuple[str, ...]) -> Row | None:
        """Return columns of a record, None for a retract (-U, -D).

        Raises:
            NotCopied: The file has no copy with these columns.
            UnsupportedFeature: As `python_rows`.
        """
        # An unknown count (None) may hide retracts.
        if self._files[match[0]].delete_row_count != 0:
            kind = self.point_record(match, (VALUE_KIND,))[VALUE_KIND]
            assert isinstance(kind, int), "kinds are never null"
            if RowKind(kind).is_retract:
                return None
        return self.point_record(match, columns)

    def point_record(self, match: PointMatch, columns: tuple[str, ...]) -> Row:
        """Return columns of a record, `SEQUENCE_NUMBER` and `VALUE_KIND` among them if they are named.

        Raises:
            NotCopied: The file has no copy with these columns.
            UnsupportedFeature: As `python_rows`.
        """
        number, position = match
        copy = self._files.copy_of(number)
        row = None if copy is None else copy.row_at(position, columns)
        if row is None:
            raise NotCopied
        return row

    def has_copy(self, match: PointMatch, columns: Sequence[str]) -> bool:
        """Return whether the file of a record has a copy of these columns."""
        return self._files.is_cached(match[0], columns)

    def matches_of(self, found: Sequence[PointMatch]) -> KeyMatches:
        """Return the records of one key in the form of `find_all`."""
        return KeyMatches(
            keys=np.zeros(len(found), dtype=np.int64),
            files=tuple(self._files[number] for number, _ in found),
            file_numbers=np.arange(len(found), dtype=np.int32),
            positions=np.array([position for _, position in found], dtype=np.int64),
            is_verified=True,
        )

    def is_cached(self, columns: Sequence[str]) -> bool:
        """Return whether all files have copies of these columns."""
        return all(self._files.is_cached(number, columns) for number in range(len(self._files)))

    def load_tasks(self, columns: Sequence[str]) -> list[Callable[[], object]]:
        """Return calls that copy columns of one file each, as far as there is room.

        They may run in parallel. Each raises CorruptData where its file is absent or does not
        match its metadata, and StorageUnavailable where storage or the local disk refuses.
        """
        return [
            partial(self._files.get_or_copy, number, tuple(columns))
            for number in range(len(self._files))
        ]

    def records(
        self, found: KeyMatches, columns: Sequence[str], *, waits: bool = False
    ) -> pa.Table:
        """Return the records that were found.

        Args:
            found: Matches in this bucket.
            columns: Table columns, without repeats.
            waits: Whether large files without a copy are copied first.

        Returns:
            One row per entry, in their order: sequence number, kind, the columns, then `_LEVEL`
            int32.

        Raises:
            CorruptData: A file is absent or does not match its metadata.
            StorageUnavailable: Storage or the local disk refuses.
        """
        names = (SEQUENCE_NUMBER, VALUE_KIND, *columns)
        rows = self._files.take(found, names, waits=waits)
        assert rows.num_rows == len(found), "one row per entry"
        levels = np.array([file.level for file in found.files], dtype=np.int32)
        return rows.append_column(LEVEL_FIELD, pa.array(levels[found.file_numbers]))

    def rows(
        self, keys: WantedKeys, found: KeyMatches, columns: Sequence[str]
    ) -> tuple[pa.Table, npt.NDArray[np.bool_] | None]:
        """Return columns of the records that were found, and for each whether it is a row of its key.

        Records of other keys with the same hash are no rows, and neither are retracts (-U, -D).
        Requires: no key has several records.

        Args:
            keys: The keys that were searched for.
            found: Matches in this bucket.
            columns: Table columns, without repeats.

        Returns:
            The columns; and one boolean per record, or None if all are true.

        Raises:
            CorruptData: A file is absent or does not match its metadata.
            StorageUnavailable: Storage or the local disk refuses.
        """
        # An unknown count (None) may hide retracts, so only a count of 0 saves reading the kinds.
        has_retracts = any(file.delete_row_count != 0 for file in found.files)
        names = [*columns, *((VALUE_KIND,) if has_retracts else ())]
        if not found.is_verified:
            names += [name for name in self._key_names if name not in columns]
        rows = self._files.take(found, tuple(names))
        is_row = None if found.is_verified else self._are_of_keys(rows, keys, found)
        if has_retracts:
            kinds = combined_array(rows.column(VALUE_KIND)).to_numpy()
            is_add = ~is_retract(kinds)
            is_row = is_add if is_row is None else is_row & is_add
        if len(names) > len(columns):
            rows = rows.select(list(columns))
        return rows, None if is_row is None or is_row.all() else is_row

    def verify(self, keys: WantedKeys, found: KeyMatches) -> npt.NDArray[np.bool_]:
        """Return for each record whether it has the key that it was found for.

        Raises:
            CorruptData: A file is absent or does not match its metadata.
            StorageUnavailable: Storage or the local disk refuses.
        """
        return self._are_of_keys(self._files.take(found, self._key_names), keys, found)

    def _are_of_keys(
        self, rows: pa.Table, keys: WantedKeys, found: KeyMatches
    ) -> npt.NDArray[np.bool_]:
        columns = [combined_array(rows.column(name)) for name in self._key_names]
        return are_of_keys(columns, keys, found.keys)

    def _search(
        self,
        keys: WantedKeys,
        wanted: Rows,
        vectors: Vectors,
        *,
        first_only: bool,
        above_level: int = -1,
    ) -> KeyMatches:
        # Used only to find all records: a search for the newest one drops a key at the first file
        # that has it. No deletion vector concerns level 0, because compactions mark rows above
        # their output level.
        joint = None if first_only else self._joint_index()
        hits = [] if joint is None else joint.hits(keys, wanted)
        above_level = above_level if joint is None else 0
        # Few keys are compared one by one, as each is found. A search for the newest record has to know
        # at once: a record of another key would end the search for this one.
        is_verified = first_only or len(wanted) <= FEW_KEYS
        for run, numbers in zip(self._runs, self._run_numbers, strict=True):
            if run.level <= above_level or not len(wanted):
                continue
            found_here: list[Rows] = []
            for number, rows in self._candidates(numbers, keys, wanted):
                found, positions = self._find_in(
                    number, keys, rows, vectors, is_verified=is_verified, waits=first_only
                )
                if len(found):
                    hits.append((found, number, positions))
                    found_here.append(found)
            if first_only and found_here:
                # Files of a run do not overlap, so no key was found twice in it.
                wanted = np.setdiff1d(wanted, np.concatenate(found_here), assume_unique=True)
        return merge_hits(self._files.all, hits, is_verified=is_verified)

    def _joint_index(self) -> JointIndex | None:
        """Return the index of all files of level 0 once they have copies; None to search each."""
        if self._joint is None and self._may_join:
            copies = [self._files.copy_of(number) for number in range(self._new_files)]
            present = [copy for copy in copies if copy is not None]
            if len(present) == len(copies):
                # Two threads may build it at the same time, with the same result.
                self._joint = JointIndex(present)
        return self._joint

    def _candidates(
        self, numbers: range, keys: WantedKeys, wanted: Rows
    ) -> Iterator[tuple[int, Rows]]:
        """Yield files of a run, each with the numbers of the keys that it may have."""
        ranges = self._ranges[numbers.start]
        if self._are_all_probed(numbers, wanted, ranges):
            for number in numbers:
                yield number, wanted
            return
        indices = ranges.files_of(keys, wanted)
        for index, number in enumerate(numbers):
            here = (indices == index).nonzero()[0]
            if len(here):
                yield number, wanted[here]

    def _are_all_probed(self, numbers: range, wanted: Rows, ranges: KeyRanges) -> bool:
        """Return whether probing every file of a run costs less than locating keys in its ranges."""
        if len(numbers) > _PROBED_FILES_MAX or len(wanted) > _PROBED_KEYS_MAX:
            return False
        # Keys of a single number are located by one binary search, which costs less than a superfluous
        # probe; a probe with a few keys needs no arrays, and costs even less.
        if len(numbers) > 1 and ranges.is_numeric and len(wanted) > FEW_KEYS:
            return False
        # A file without a copy has to be read: its range is checked first, whatever that costs.
        return all(self._files.copy_of(number) for number in numbers)

    def _find_in(
        self,
        number: int,
        keys: WantedKeys,
        wanted: Rows,
        vectors: Vectors,
        *,
        is_verified: bool,
        waits: bool,
    ) -> tuple[Rows, Rows]:
        """Return the numbers of the keys that a file has, or may have, and their positions in it."""
        copy = self._files.copy_of(number)
        if copy is not None:
            # Bloom filters would save nothing here: the copy's index answers as fast.
            here, positions = copy.find_matches(keys, wanted, is_verified=is_verified)
        else:
            wanted = self._files.filters.may_have(number, keys, wanted)
            if not len(wanted):
                return wanted, wanted
            here, positions = self._files.find_uncopied(
                number, keys, wanted, is_verified=is_verified, waits=waits
            )
        assert len(here) == len(positions), "a position for each key"
        vector = vectors.get(self._files[number].file_name) if len(here) else None
        if vector:
            # Its key stays wanted: an older run may have a record that is not marked.
            live = ~are_marked(positions, vector)
            here, positions = here[live], positions[live]
        return wanted[here], positions
