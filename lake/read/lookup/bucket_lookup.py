"""Keys in a bucket: in which files they are, and their records there.

Runs are asked from the newest on: the files of level 0 one by one, then level by level the one file
whose key range holds the key. A file without a copy is asked by its index first (`key_filters`). Two
questions are answered:

| question | answer |
|---|---|
| `find` | the first record of each key: for compactions, in the levels above their output; they wait for copies |
| `find_all` | every record of each key: for readers, who merge them |

`find_all` may answer by hashes alone, which are almost never wrong: who takes the records has the
keys with them, and compares those of all files at once (`are_keys`).

A position that the bucket's deletion vectors name is no record; the search goes on below it. They
are an argument of each question, as files outlive them.

Source: merge-semantics 6.4.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import AbstractBitMap

from lake.files.column_mapping import NO_OLDER_SCHEMAS, OlderSchemas
from lake.files.paths import TablePaths
from lake.files.storage.file_io import FileIO
from lake.format.arrays import combined_array
from lake.format.data_file import DataFileMeta
from lake.format.schema import TableSchema
from lake.format.system_columns import (
    LEVEL_FIELD,
    SEQUENCE_NUMBER,
    VALUE_KIND,
)
from lake.lsm.levels import levels_of
from lake.read.lookup.bucket_files import BucketFiles
from lake.read.lookup.file_lookup import FEW_KEYS
from lake.read.lookup.joint_index import JOINT_ROWS_MAX, JointIndex
from lake.read.lookup.key_matches import Found, are_marked, found_in
from lake.read.lookup.key_ranges import KeyRanges
from lake.read.lookup.lookup_cache import LookupCache
from lake.read.lookup.wanted_keys import Rows, WantedKeys, are_of_keys, wanted_keys
from lake.snapshots.file_indexes import FileIndexStore

Vectors = Mapping[str, AbstractBitMap]
"""Positions of deleted rows by file name."""

_PROBED_FILES_MAX: Final = 4
_PROBED_KEYS_MAX: Final = 1_024


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
        """Take the files; none is opened before a key may be in it.

        Args:
            cache: Keeps what files were made into.
            file_io: Storage.
            paths: Of the table.
            schema: Under which records are read.
            partition: Serialised partition row.
            bucket: Bucket number.
            files: Live files of the bucket, on any level, in any order.
            older_schemas: By id, those that files were written under if their columns are others.
            file_indexes: Remembers the indexes of files; None reads them anew.
        """
        self._schema = schema
        self._runs = levels_of(files, schema.table_options).runs
        self._files = BucketFiles(
            [file for run in self._runs for file in run.files],
            cache,
            file_io=file_io,
            paths=paths,
            schema=schema,
            place=(partition, bucket),
            older_schemas=older_schemas,
            file_indexes=file_indexes if file_indexes is not None else FileIndexStore(file_io),
        )
        self._new_files = sum(file.level == 0 for file in self._files.all)
        self._may_join = self._new_files > 1 and (
            sum(file.row_count for file in self._files.all[: self._new_files]) <= JOINT_ROWS_MAX
        )
        self._joint: JointIndex | None = None
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

    def find(
        self, keys: pa.Table | pa.RecordBatch, *, above_level: int, vectors: Vectors | None = None
    ) -> Found:
        """Return the first record of each key, on the levels above one.

        Args:
            keys: Has the columns of the trimmed primary key, in the table's types, without nulls;
                others are passed over.
            above_level: -1 looks at level 0, too, from the newest file on.
            vectors: Current deletion vectors of the bucket.

        Returns:
            At most one entry per key.

        Raises:
            CorruptData: A file is absent or not what its metadata says.
            StorageUnavailable: Storage or the local disk refuses.
        """
        wanted = wanted_keys(keys, self._schema)
        every = np.arange(len(wanted))
        return self._search(wanted, every, vectors or {}, first_only=True, above_level=above_level)

    def find_all(self, keys: WantedKeys, wanted: Rows, *, vectors: Vectors | None = None) -> Found:
        """Return every record that may be of each key; those of one key newest run first.

        Args:
            keys: In the table's types.
            wanted: Which of them are looked for, ascending.
            vectors: Current deletion vectors of the bucket.

        Returns:
            Records of the keys; unless the answer is sure, with strangers among them that have the
            hash of a key.

        Raises:
            CorruptData: A file is absent or not what its metadata says.
            StorageUnavailable: Storage or the local disk refuses.
        """
        return self._search(keys, wanted, vectors or {}, first_only=False)

    def is_resident(self, columns: Sequence[str]) -> bool:
        """Return whether all files are ready to give these columns."""
        return all(self._files.is_ready(number, columns) for number in range(len(self._files)))

    def loads(self, columns: Sequence[str]) -> list[Callable[[], object]]:
        """Return what makes each file ready to give columns, as far as there is room.

        The calls may run side by side. Each raises CorruptData where its file is absent or not what
        its metadata says, and StorageUnavailable where storage or the local disk refuses.
        """
        return [
            partial(self._files.made, number, tuple(columns)) for number in range(len(self._files))
        ]

    def records(self, found: Found, columns: Sequence[str], *, waits: bool = False) -> pa.Table:
        """Return the records that were found.

        Args:
            found: Of this bucket.
            columns: Of the table, without repeats.
            waits: Whether large files without a copy are copied first.

        Returns:
            One row per entry, in their order: sequence number, kind, the columns, then `_LEVEL`
            int32.

        Raises:
            CorruptData: A file is absent or not what its metadata says.
            StorageUnavailable: Storage or the local disk refuses.
        """
        names = (SEQUENCE_NUMBER, VALUE_KIND, *columns)
        rows = self._files.taken(found, names, waits=waits)
        levels = np.array([file.level for file in found.files], dtype=np.int32)
        return rows.append_column(LEVEL_FIELD, pa.array(levels[found.file_numbers]))

    def rows(
        self, keys: WantedKeys, found: Found, columns: Sequence[str]
    ) -> tuple[pa.Table, npt.NDArray[np.bool_] | None]:
        """Return the columns of what was found, and whether each is a row of its key.

        A stranger is none, and neither is a -U or -D.

        Args:
            keys: Those that were looked for.
            found: Of this bucket.
            columns: Of the table, without repeats.

        Returns:
            None instead of booleans that are all true.

        Raises:
            CorruptData: A file is absent or not what its metadata says.
            StorageUnavailable: Storage or the local disk refuses.
        """
        has_retracts = any(file.delete_row_count != 0 for file in found.files)
        names = [*columns, *((VALUE_KIND,) if has_retracts else ())]
        if not found.is_sure:
            names += [name for name in self._key_names if name not in columns]
        rows = self._files.taken(found, tuple(names))
        is_row = None if found.is_sure else self._are_of_keys(rows, keys, found)
        if has_retracts:
            kinds = combined_array(rows.column(VALUE_KIND)).to_numpy()
            # The lowest bit tells: +I is 0, -U 1, +U 2, -D 3.
            is_add = (kinds & 1) == 0
            is_row = is_add if is_row is None else is_row & is_add
        if len(names) > len(columns):
            rows = rows.select(list(columns))
        return rows, None if is_row is None or is_row.all() else is_row

    def are_keys(self, keys: WantedKeys, found: Found) -> npt.NDArray[np.bool_]:
        """Return for each record whether it is of its key.

        Raises:
            CorruptData: A file is absent or not what its metadata says.
            StorageUnavailable: Storage or the local disk refuses.
        """
        return self._are_of_keys(self._files.taken(found, self._key_names), keys, found)

    def _are_of_keys(self, rows: pa.Table, keys: WantedKeys, found: Found) -> npt.NDArray[np.bool_]:
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
    ) -> Found:
        joint = None if first_only else self._joint_index()
        hits = [] if joint is None else joint.hits(keys, wanted)
        above_level = above_level if joint is None else 0
        is_sure = first_only or len(wanted) <= FEW_KEYS
        for run, numbers in zip(self._runs, self._run_numbers, strict=True):
            if run.level <= above_level or not len(wanted):
                continue
            found_here: list[Rows] = []
            for number, rows in self._candidates(numbers, keys, wanted):
                found, positions = self._find_in(
                    number, keys, rows, vectors, is_sure=is_sure, waits=first_only
                )
                if len(found):
                    hits.append((found, number, positions))
                    found_here.append(found)
            if first_only and found_here:
                wanted = np.setdiff1d(wanted, np.concatenate(found_here), assume_unique=True)
        return found_in(self._files.all, hits, is_sure=is_sure)

    def _joint_index(self) -> JointIndex | None:
        """Return the index of all files of level 0, once they are ready; None to ask each."""
        if self._joint is None and self._may_join:
            lookups = [self._files.ready(number) for number in range(self._new_files)]
            ready = [lookup for lookup in lookups if lookup is not None]
            if len(ready) == len(lookups):
                self._joint = JointIndex(ready)
        return self._joint

    def _candidates(
        self, numbers: range, keys: WantedKeys, wanted: Rows
    ) -> Iterator[tuple[int, Rows]]:
        """Yield files of a run, each with the keys that it may have."""
        ranges = self._ranges[numbers.start]
        if self._are_probed(numbers, wanted, ranges):
            # One probe of each file is less than to compare with the ends of their ranges.
            for number in numbers:
                yield number, wanted
            return
        places = ranges.files_of(keys, wanted)
        for place, number in enumerate(numbers):
            here = (places == place).nonzero()[0]
            if len(here):
                yield number, wanted[here]

    def _are_probed(self, numbers: range, wanted: Rows, ranges: KeyRanges) -> bool:
        if len(numbers) > _PROBED_FILES_MAX or len(wanted) > _PROBED_KEYS_MAX:
            return False
        if len(numbers) > 1 and ranges.is_of_numbers and len(wanted) > FEW_KEYS:
            return False
        return all(self._files.ready(number) for number in numbers)

    def _find_in(
        self,
        number: int,
        keys: WantedKeys,
        wanted: Rows,
        vectors: Vectors,
        *,
        is_sure: bool,
        waits: bool,
    ) -> tuple[Rows, Rows]:
        """Return which keys a file has, or may have, and at which positions."""
        lookup = self._files.ready(number)
        if lookup is not None:
            here, positions = lookup.found(keys, wanted, is_sure=is_sure)
        else:
            wanted = self._files.filters.may_have(number, keys, wanted)
            if not len(wanted):
                return wanted, wanted
            here, positions = self._files.found(number, keys, wanted, is_sure=is_sure, waits=waits)
        vector = vectors.get(self._files[number].file_name) if len(here) else None
        if vector:
            live = ~are_marked(positions, vector)
            here, positions = here[live], positions[live]
        return wanted[here], positions
