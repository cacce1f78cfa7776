"""Lookup of rows by primary key at one snapshot: keys are routed to buckets, where rows are found and merged.

Rows that are expired at the time of the call are left out. Keys and rows are Arrow data or Python values.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.errors import CorruptData, table_error_context
from braid.lake.files.clock import Clock
from braid.lake.format.arrays import combined_array
from braid.lake.format.bucket import BucketId
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.schema import TableSchema
from braid.lake.format.snapshot import Snapshot
from braid.lake.merge.order.key_codes import Uints
from braid.lake.merge.row_expiry import row_expiry
from braid.lake.merge.spec import merge_spec
from braid.lake.read.lookup.background import copy_threads
from braid.lake.read.lookup.bucket_files import BucketFiles
from braid.lake.read.lookup.bucket_lookup import BucketLookup, NotCopied
from braid.lake.read.lookup.bucket_rows import BucketRows, KeyedRows, KeyRecords, keyed_values
from braid.lake.read.lookup.key_hash import key_hashes
from braid.lake.read.lookup.lookup_cache import LookupCache
from braid.lake.read.lookup.point_key import PointValue, point_keys
from braid.lake.read.lookup.python_rows import Row
from braid.lake.read.lookup.wanted_keys import Rows, WantedKeys, row_array
from braid.lake.snapshots.deletion_vectors import vector_entries
from braid.lake.snapshots.lease_keeper import LeaseKeeper
from braid.lake.snapshots.live_state import by_bucket
from braid.lake.table.arguments import chosen_columns
from braid.lake.table.lookup.key_routing import KeyRouting
from braid.lake.table.lookup.lookup_keys import KeyArrays, LookupKeys
from braid.lake.table.read.snapshot_source import HiddenRecords, SnapshotSource


class SnapshotLookup:
    """Rows of a table at one snapshot by primary key; made by `Table.lookup_at`.

    Reads neither the snapshot again nor files that have a copy. A large file gets its copy in the
    background, once enough of its row groups were read. Safe between threads.
    """

    def __init__(
        self,
        source: SnapshotSource,
        cache: LookupCache,
        keeper: LeaseKeeper,
        *,
        clock: Clock,
    ) -> None:
        """Group the files of a snapshot by bucket; none is opened.

        Args:
            source: The files of the snapshot.
            cache: Keeps the copies of files.
            keeper: Leases the snapshot while copying files takes long; copies need no lease.
            clock: Tells at each lookup which rows are expired: they expire without a new snapshot.
        """
        schema = source.schema
        self._source = source
        self._keeper = keeper
        self._schema = schema
        self._vector_entries = vector_entries(source.indexes)
        self._cache = cache
        self._spec = merge_spec(schema)
        self._expiry = row_expiry(schema)
        self._clock = clock
        self._keys = LookupKeys(schema)
        self._members = by_bucket(
            source.entries
            if source.sees_all
            else [entry for entry in source.entries if source.sees(entry)]
        )
        self._buckets: dict[BucketId, BucketRows] = {}
        self._last_columns = schema.field_names
        self._lock = threading.Lock()
        # All files of a bucket were routed for one count: a rescale replaces a partition at once.
        total_buckets = {
            bucket_id: next(iter(members)).total_buckets
            for bucket_id, members in self._members.items()
        }
        self._routing = KeyRouting(total_buckets, schema)
        self._point_keys = (
            point_keys(
                [schema.field(name) for name in schema.primary_keys],
                trimmed=schema.trimmed_primary_keys,
                bucket_keys=schema.bucket_keys,
            )
            if self._routing.is_computed and self._expiry is None
            else None
        )

    @property
    def snapshot(self) -> Snapshot | None:
        """The snapshot; None for a table without one."""
        return self._source.snapshot

    @property
    def schema(self) -> TableSchema:
        """The schema that the snapshot is read under."""
        return self._schema

    @property
    def expires_rows(self) -> bool:
        """Whether rows expire, so that the snapshot has other rows as time passes."""
        return self._expiry is not None

    @cached_property
    def hidden(self) -> HiddenRecords | None:
        """What is committed but not read; None if every file is read."""
        return self._source.hidden()

    @property
    def source(self) -> SnapshotSource:
        """The files of the snapshot, and what reads them."""
        return self._source

    @property
    def visible_files(self) -> list[ManifestEntry]:
        """The files that rows are looked up in."""
        return [entry for members in self._members.values() for entry in members]

    @property
    def cache(self) -> LookupCache:
        """The cache of the files' copies."""
        return self._cache

    @property
    def identifier(self) -> str:
        """`db.table`."""
        return self._source.paths.identifier

    def rows(
        self, keys: pa.Table | pa.RecordBatch, *, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Return the rows of those keys that have a row, in the keys' order.

        The rows are those that a scan of the snapshot with a condition on the key gives. A key that
        is given twice gives its row twice; a key with a null gives no row. Of a large file without a
        copy only the row groups that may have a key are read, and only records of the keys are merged.

        Args:
            keys: The columns of the primary key, in any order; NaN is a key, -0.0 and 0.0 are two.
            columns: Columns of the result, in order; None means all.

        Raises:
            InvalidRequest: The columns of `keys` are not the primary key's, or do not fit them; or
                the table has no column of a name in `columns`.
            SchemaMismatch: Records that the table's merge refuses.
            LeaseLost: A file that has no copy is gone, because the snapshot has expired.
            CorruptData: A file is absent or does not match its metadata.
            StorageUnavailable: Storage or the local disk refuses.
        """
        with table_error_context(self.identifier):
            return self.keyed_rows(keys, columns=columns).rows

    def keyed_rows(
        self, keys: pa.Table | pa.RecordBatch, *, columns: Sequence[str] | None = None
    ) -> KeyedRows:
        """Return the rows as `rows` does, and for each the number of its key in `keys`."""
        names = self._checked_columns(columns)
        return self._keyed_rows(self._keys.from_arrow(keys), names)

    def records_of(self, key: Mapping[str, object]) -> KeyRecords | None:
        """Return the records that the row of a key is merged from, also those of an expired row; None without any.

        Args:
            key: A value for each column of the primary key.

        Raises:
            InvalidRequest: The key does not name exactly the primary key, or a value does not fit its column.
            UnsupportedFeature, CorruptData: The key has records in several buckets, as in `get_many`.
            LeaseLost, CorruptData, StorageUnavailable: As `rows`.
        """
        with table_error_context(self.identifier):
            keys = self._keys.from_values([key])
            with self._expiry_noted():
                searched = [bucket.records_of(wanted) for bucket, wanted, _ in self._routed(keys)]
            found = [records for records in searched if records is not None]
            if len(found) > 1:
                raise self._keys.several_rows(key, len(found))
            return found[0] if found else None

    def is_live(self, row: Row) -> bool:
        """Return whether a row, which has all columns, is not expired now."""
        if self._expiry is None:
            return True
        live = self._expiry.at(self._clock.now_ms())
        value = pa.array([row[live.column]], self._schema.arrow_schema.field(live.column).type)
        return pc.all(live.matches(value)).as_py() is not False

    def _keyed_rows(self, keys: KeyArrays, names: tuple[str, ...]) -> KeyedRows:
        """Return the rows of those keys that have a row which is not expired."""
        if self._expiry is None:
            return self._merged_rows(keys, names)
        live = self._expiry.at(self._clock.now_ms())
        found = self._merged_rows(keys, live.with_column(names))
        alive = live.matches(combined_array(found.rows.column(live.column)))
        rows = found.rows.select(list(names))
        if pc.all(alive).as_py() is not False:
            return KeyedRows(keys=found.keys, rows=rows)
        return KeyedRows(keys=found.keys[np.asarray(alive, dtype=bool)], rows=rows.filter(alive))

    def _merged_rows(self, keys: KeyArrays, names: tuple[str, ...]) -> KeyedRows:
        with self._expiry_noted():
            parts = [
                bucket.rows(wanted, numbers, names)
                for bucket, wanted, numbers in self._routed(keys)
            ]
        if len(parts) > 1:
            # Where the bucket of a key is unknown, the key was looked up in all of them.
            parts = [part for part in parts if len(part.keys)] or parts[:1]
        if len(parts) == 1:
            # The rows of a single bucket are in the order of the keys already.
            return parts[0]
        if not parts:
            schema = pa.schema([self._schema.arrow_schema.field(name) for name in names])
            return KeyedRows(keys=np.zeros(0, dtype=np.int64), rows=schema.empty_table())
        numbers = np.concatenate([part.keys for part in parts])
        order = np.argsort(numbers, kind="stable")
        rows = pa.concat_tables([part.rows for part in parts]).take(row_array(order))
        assert rows.num_rows == len(numbers), "one row per number"
        return KeyedRows(keys=numbers[order], rows=rows)

    def _routed(self, keys: KeyArrays) -> Iterator[tuple[BucketRows, WantedKeys, Rows]]:
        """Yield the buckets that may have some of the keys, each with the numbers of these keys."""
        wanted = WantedKeys(columns=tuple(keys[name] for name in self._schema.trimmed_primary_keys))
        for bucket_id, numbers in self._routing.buckets_of(keys):
            yield self._bucket(bucket_id), wanted, numbers

    @contextmanager
    def _expiry_noted(self) -> Iterator[None]:
        """Raise what says that the snapshot has expired instead of the error of a file that is gone."""
        try:
            yield
        except CorruptData as error:
            self._keeper.raise_if_expired(self.snapshot, error)
            raise

    def get(self, key: Mapping[str, object], *, columns: Sequence[str] | None = None) -> Row | None:
        """Return the row of one key as Python values, None without one; see `get_many`."""
        try:
            return self.get_copied(key, columns=columns)
        except NotCopied:
            return self.get_many([key], columns=columns)[0]

    def get_copied(
        self, key: Mapping[str, object], *, columns: Sequence[str] | None = None
    ) -> Row | None:
        """Return what `get` returns, without storage and in microseconds.

        Raises:
            NotCopied: A file has no copy, or the key is not one of integers, dates and texts: use `get`.
            Exception: What `get_many` raises.
        """
        point = self._point_of(key)
        if point is None:
            raise NotCopied
        bucket_id, key_hash, values = point
        with table_error_context(self.identifier):
            names = self._checked_columns(columns)
            if bucket_id is None:
                return None
            return self._bucket(bucket_id).point_row(key_hash, values, names)

    def _point_of(
        self, key: Mapping[str, object]
    ) -> tuple[BucketId | None, int, Sequence[PointValue]] | None:
        """Return the bucket, the hash and the trimmed values of a key; None if it is looked up as arrays."""
        keys = self._point_keys
        values = None if keys is None or not isinstance(key, Mapping) else keys.values_of(key)
        if keys is None or values is None:
            return None
        bucket_id = self._routing.bucket_of(keys, values)
        if bucket_id is None:
            return None, 0, values
        return bucket_id, keys.hash_of(values), [values[index] for index in keys.hashed]

    def rows_of(
        self, keys: Sequence[Mapping[str, object]], *, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Return the rows that `rows` returns, of keys as Python values; see `get_many` for keys and errors."""
        with table_error_context(self.identifier):
            names = self._checked_columns(columns)
            return self._keyed_rows(self._keys.from_values(keys), names).rows

    def get_many(
        self, keys: Sequence[Mapping[str, object]], *, columns: Sequence[str] | None = None
    ) -> list[Row | None]:
        """Return for each key its row as Python values; None where the table has none.

        Args:
            keys: Each with a value for each column of the primary key; None matches no row.
            columns: Columns of the rows, in order; None means all.

        Returns:
            Values as `Table.get` gives them.

        Raises:
            InvalidRequest: A key does not name exactly the primary key, a value does not fit its
                column, or the table has no column of a name in `columns`.
            UnsupportedFeature: A date or time that Python cannot hold; or another engine made the
                table, and a key has rows in several partitions.
            SchemaMismatch: Records that the table's merge refuses.
            LeaseLost: A file that has no copy is gone, because the snapshot has expired.
            CorruptData: A file is absent or does not match its metadata; or a key has several rows.
            StorageUnavailable: Storage or the local disk refuses.
        """
        with table_error_context(self.identifier):
            names = self._checked_columns(columns)
            arrays = self._keys.from_values(keys)
            per_key: list[Row | None] = [None] * len(keys)
            found = list(self._values(arrays, names))
            for number, row in found:
                if per_key[number] is not None:
                    count = sum(other == number for other, _ in found)
                    raise self._keys.several_rows(keys[number], count)
                per_key[number] = row
            return per_key

    def bucket_files(self) -> list[BucketFiles]:
        """Return the files that rows are read from, by bucket."""
        return [self._bucket(bucket_id).bucket_files for bucket_id in self._members]

    def hashes_of(self, keys: pa.Table | Sequence[Mapping[str, object]]) -> Uints:
        """Return the 64-bit hash of each key: equal keys have equal hashes, and different keys almost always others.

        Args:
            keys: As for `rows`, or for `get_many`.

        Raises:
            InvalidRequest: As `rows` and `get_many`.
        """
        with table_error_context(self.identifier):
            arrays = (
                self._keys.from_arrow(keys)
                if isinstance(keys, pa.Table)
                else self._keys.from_values(keys)
            )
            return key_hashes(list(arrays.values()))

    def _values(self, keys: KeyArrays, names: tuple[str, ...]) -> Iterator[tuple[int, Row]]:
        """Yield the rows of `_keyed_rows` as Python values, in any order."""
        if self._expiry is not None:
            yield from keyed_values(self._keyed_rows(keys, names))
            return
        with self._expiry_noted():
            for bucket, wanted, numbers in self._routed(keys):
                yield from bucket.values(wanted, numbers, names)

    def is_cached(self, columns: Sequence[str] | None = None) -> bool:
        """Return whether all files have copies of these columns now: no key is read from storage."""
        names = self._read_columns(columns)
        return all(self._bucket(bucket_id).is_cached(names) for bucket_id in self._members)

    def copied_columns(self) -> tuple[str, ...]:
        """Return the columns of which all files have copies now, in the table's order; of a table without files all columns."""
        found = set(self._schema.field_names)
        for bucket_id in self._members:
            found &= self._bucket(bucket_id).copied_columns()
        return tuple(name for name in self._schema.field_names if name in found)

    def load(self, columns: Sequence[str] | None = None) -> None:
        """Copy all files, a few in parallel, as far as the bounds leave room.

        Lookups may run at the same time. Files whose copies find no room are read by row group, as
        before.

        Args:
            columns: Columns to copy; None means all.

        Raises:
            LeaseLost: A file that has no copy is gone, because the snapshot has expired.
            CorruptData: A file is absent or does not match its metadata.
            StorageUnavailable: Storage or the local disk refuses.
        """
        names = self._read_columns(columns)
        loads = [
            load
            for bucket_id in self._members
            for load in self._bucket(bucket_id).load_tasks(names)
        ]
        with (
            table_error_context(self.identifier),
            self.held(),
            ThreadPoolExecutor(copy_threads(), thread_name_prefix="copy") as pool,
        ):
            futures = [pool.submit(load) for load in loads]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                # The caller gets this error at once: copies that were not begun are not made.
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def held(self) -> AbstractContextManager[None]:
        """Lease the snapshot if the block takes long; the block raises LeaseLost if it has expired meanwhile."""
        return self._keeper.reading(self.snapshot, what="a lookup")

    def _bucket(self, bucket_id: BucketId) -> BucketRows:
        bucket = self._buckets.get(bucket_id)
        if bucket is None:
            # Buckets are never removed, so only the first lookup of each takes the lock.
            with self._lock:
                bucket = self._buckets.get(bucket_id) or self._new_bucket(bucket_id)
                self._buckets[bucket_id] = bucket
        return bucket

    def _new_bucket(self, bucket_id: BucketId) -> BucketRows:
        assert bucket_id in self._members, "keys are routed to buckets with files"
        partition, number = bucket_id
        vectors = self._vector_entries.get(bucket_id)
        return BucketRows(
            BucketLookup(
                self._cache,
                file_io=self._source.file_io,
                paths=self._source.paths,
                schema=self._schema,
                older_schemas=self._source.older_schemas,
                partition=partition,
                bucket=number,
                files=[entry.file for entry in self._members[bucket_id]],
                file_indexes=self._source.file_indexes,
            ),
            schema=self._schema,
            spec=self._spec,
            read_vectors=None
            if vectors is None
            else lambda: self._source.vectors.read(vectors).vectors,
        )

    def _read_columns(self, columns: Sequence[str] | None) -> tuple[str, ...]:
        """Return the columns that lookups of these columns read."""
        names = self._checked_columns(columns)
        if self._expiry is None:
            return names
        return tuple(dict.fromkeys([*names, self._expiry.column]))

    def _checked_columns(self, columns: Sequence[str] | None) -> tuple[str, ...]:
        # Requests that name no columns have the same tuple, whose check would take as long as the row.
        known = self._last_columns
        if columns is None or columns is not known:
            known = self._last_columns = chosen_columns(columns, self._schema, what="a lookup")
        return known
