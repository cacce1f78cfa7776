"""Rows by primary key, at one snapshot: each key goes to its partition and bucket."""

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lake.errors import CorruptData, InvalidRequest, Problem, table_error_context
from lake.format.bucket import BucketId, bucket_hashes, buckets_of
from lake.format.manifest import ManifestEntry
from lake.format.schema import TableSchema
from lake.format.snapshot import Snapshot
from lake.merge.spec import merge_spec
from lake.options import BucketFunction
from lake.read.condition_value import exact_array
from lake.read.lookup.background import threads
from lake.read.lookup.bucket_lookup import BucketLookup
from lake.read.lookup.bucket_rows import BucketRows, KeyedRows
from lake.read.lookup.lookup_cache import LookupCache
from lake.read.lookup.wanted_keys import Rows, WantedKeys, row_array
from lake.read.scan_plan import is_visible
from lake.snapshots.deletion_vectors import vector_entries
from lake.snapshots.lease_keeper import LeaseKeeper
from lake.table.arguments import chosen_columns, refuse_argument
from lake.table.key_columns import exact_key_column
from lake.table.key_partitions import KeyPartitions
from lake.table.python_rows import python_rows
from lake.table.snapshot_source import SnapshotSource


class SnapshotLookup:
    """Rows of a table at one snapshot by primary key; made by `Table.lookup_at`.

    Asks storage neither for the snapshot again nor for files that have a copy. Large files get theirs
    in the background, once enough of their row groups was read. Safe between threads.
    """

    def __init__(self, source: SnapshotSource, cache: LookupCache, keeper: LeaseKeeper) -> None:
        """Take a snapshot apart; no file is opened.

        Args:
            source: The files of the snapshot.
            cache: Keeps what they were made into.
            keeper: Leases the snapshot while making files ready takes long; those that are ready
                need none.
        """
        schema = source.schema
        self._source = source
        self._keeper = keeper
        self._schema = schema
        self._vector_entries = vector_entries(source.indexes)
        self._cache = cache
        self._spec = merge_spec(schema)
        types = schema.arrow_schema
        self._key_types = {name: types.field(name).type for name in schema.primary_keys}
        self._members: defaultdict[BucketId, list[ManifestEntry]] = defaultdict(list)
        for entry in source.entries:
            if is_visible(entry, schema):
                self._members[entry.partition, entry.bucket].append(entry)
        self._places: defaultdict[bytes, list[BucketId]] = defaultdict(list)
        for place in self._members:
            self._places[place[0]].append(place)
        self._buckets: dict[BucketId, BucketRows] = {}
        self._lock = threading.Lock()
        self._partitions = KeyPartitions(list(self._places), schema)
        options = schema.table_options
        self._is_routed = (
            options.bucket >= 1 and options.bucket_function_type is BucketFunction.DEFAULT
        )

    @property
    def snapshot(self) -> Snapshot | None:
        """The snapshot; None for a table without one."""
        return self._source.snapshot

    @property
    def schema(self) -> TableSchema:
        """Under which the snapshot is read."""
        return self._schema

    @property
    def cache(self) -> LookupCache:
        """What keeps the files."""
        return self._cache

    @property
    def identifier(self) -> str:
        """`db.table`."""
        return self._source.paths.identifier

    def rows(
        self, keys: pa.Table | pa.RecordBatch, *, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Return the rows of the keys that have one, in the keys' order.

        The same rows as of a scan of the snapshot with a condition on the key. A key that is asked
        for twice gives its row twice, a null in a key none. Row groups and merges of other keys are
        not touched.

        Args:
            keys: The columns of the primary key, in any order; NaN is a key, -0.0 and 0.0 are two.
            columns: Of the result, in order; None means all.

        Raises:
            InvalidRequest: The columns of `keys` are not the primary key's, or do not fit them; no
                such column as one in `columns`.
            SchemaMismatch: Records that the table's merge refuses.
            LeaseLost: A file that was not ready is gone, for the snapshot has expired.
            CorruptData: A file is absent or not what its metadata says.
            StorageUnavailable: Storage or the local disk refuses.
        """
        with table_error_context(self.identifier):
            return self.keyed_rows(keys, columns=columns).rows

    def keyed_rows(
        self, keys: pa.Table | pa.RecordBatch, *, columns: Sequence[str] | None = None
    ) -> KeyedRows:
        """Return the rows as `rows` does, and for each the number of its key in `keys`."""
        names = self._checked_columns(columns)
        whole = self._checked_keys(keys)
        return self._keyed_rows(self._wanted(whole), self._routed(whole), names)

    def _wanted(self, keys: dict[str, pa.Array]) -> WantedKeys:
        return WantedKeys(columns=tuple(keys[name] for name in self._schema.trimmed_primary_keys))

    def _key_arrays(self, keys: Sequence[Mapping[str, object]]) -> dict[str, pa.Array] | None:
        """Return keys as arrays; None where a value does not fit its column."""
        fields = [self._schema.field(name) for name in self._schema.primary_keys]
        try:
            return {
                field.name: exact_array(
                    [key[field.name] for key in keys], field.type, self._key_types[field.name]
                )
                for field in fields
            }
        except ValueError:
            return None

    def _keyed_rows(
        self,
        wanted: WantedKeys,
        places: Iterable[tuple[BucketId, Rows]],
        names: tuple[str, ...],
    ) -> KeyedRows:
        try:
            parts = [self._bucket(place).rows(wanted, numbers, names) for place, numbers in places]
        except CorruptData as error:
            self._keeper.raise_if_expired(self.snapshot, error)
            raise
        if len(parts) > 1:
            parts = [part for part in parts if len(part.keys)] or parts[:1]
        if len(parts) == 1:
            return parts[0]
        if not parts:
            schema = pa.schema([self._schema.arrow_schema.field(name) for name in names])
            return KeyedRows(keys=np.zeros(0, dtype=np.int64), rows=schema.empty_table())
        every = np.concatenate([part.keys for part in parts])
        order = np.argsort(every, kind="stable")
        rows = pa.concat_tables([part.rows for part in parts]).take(row_array(order))
        return KeyedRows(keys=every[order], rows=rows)

    def rows_per_key(
        self, keys: Sequence[Mapping[str, object]], *, columns: Sequence[str] | None = None
    ) -> list[list[dict[str, object]]] | None:
        """Return the rows of each key as Python values, in the keys' order; one at most mostly.

        Args:
            keys: Each with a value for each column of the primary key.
            columns: Of the rows, in order; None means all.

        Returns:
            Values as `Table.get` gives them; several rows where a key is in several partitions.
            None where a value does not fit its column exactly.

        Raises:
            InvalidRequest: No such column as one in `columns`.
            UnsupportedFeature: A date or time that Python cannot hold.
            SchemaMismatch: Records that the table's merge refuses.
            LeaseLost: A file that was not ready is gone, for the snapshot has expired.
            CorruptData: A file is absent or not what its metadata says.
            StorageUnavailable: Storage or the local disk refuses.
        """
        names = self._checked_columns(columns)
        arrays = self._key_arrays(keys)
        if arrays is None:
            return None
        with table_error_context(self.identifier):
            found = self._keyed_rows(self._wanted(arrays), self._routed(arrays), names)
            rows = [row for batch in found.rows.to_batches() for row in python_rows(batch)]
        of_keys: list[list[dict[str, object]]] = [[] for _ in keys]
        for number, row in zip(found.keys.tolist(), rows, strict=True):
            of_keys[number].append(row)
        return of_keys

    def is_resident(self, columns: Sequence[str] | None = None) -> bool:
        """Return whether no key needs a look at storage for these columns now."""
        names = self._checked_columns(columns)
        return all(self._bucket(place).is_resident(names) for place in self._members)

    def load(self, columns: Sequence[str] | None = None) -> None:
        """Make all files ready, a few side by side, as far as the bounds leave room.

        What is used at the same time is not disturbed. Keys of files for which there is no room are
        read by row group, as before.

        Args:
            columns: That will be asked for; None means all.

        Raises:
            LeaseLost: A file that was not ready is gone, for the snapshot has expired.
            CorruptData: A file is absent or not what its metadata says.
            StorageUnavailable: Storage or the local disk refuses.
        """
        names = self._checked_columns(columns)
        loads = [load for place in self._members for load in self._bucket(place).loads(names)]
        with (
            table_error_context(self.identifier),
            self._held(),
            ThreadPoolExecutor(threads()) as pool,
        ):
            done = [pool.submit(load) for load in loads]
            try:
                for one in done:
                    one.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _held(self) -> AbstractContextManager[None]:
        return self._keeper.reading(self.snapshot, what="a lookup")

    def _bucket(self, place: BucketId) -> BucketRows:
        bucket = self._buckets.get(place)
        if bucket is None:
            with self._lock:
                bucket = self._buckets.get(place) or self._new_bucket(place)
                self._buckets[place] = bucket
        return bucket

    def _new_bucket(self, place: BucketId) -> BucketRows:
        partition, number = place
        vectors = self._vector_entries.get(place)
        return BucketRows(
            BucketLookup(
                self._cache,
                file_io=self._source.file_io,
                paths=self._source.paths,
                schema=self._schema,
                older_schemas=self._source.older_schemas,
                partition=partition,
                bucket=number,
                files=[entry.file for entry in self._members[place]],
                file_indexes=self._source.file_indexes,
            ),
            schema=self._schema,
            spec=self._spec,
            read_vectors=lambda: self._source.vectors.read(vectors).vectors,
        )

    def _checked_columns(self, columns: Sequence[str] | None) -> tuple[str, ...]:
        return chosen_columns(columns, self._schema, what="a lookup")

    def _checked_keys(self, keys: pa.Table | pa.RecordBatch) -> dict[str, pa.Array]:
        """Return the key columns in the table's types, each in one piece."""
        expected = self._schema.primary_keys
        if not isinstance(keys, pa.Table | pa.RecordBatch):
            refuse_argument("keys", keys, "a pyarrow Table or RecordBatch")
        if set(keys.schema.names) != set(expected) or len(keys.schema) != len(expected):
            problem = Problem(
                field="keys",
                value=", ".join(keys.schema.names) or None,
                message=f"expected exactly the columns {', '.join(expected)}",
            )
            message = "the keys are not those of the table"
            raise InvalidRequest(message, problems=[problem])
        return {name: self._checked_column(name, keys.column(name)) for name in expected}

    def _checked_column(self, name: str, column: pa.Array | pa.ChunkedArray) -> pa.Array:
        try:
            return exact_key_column(column, self._schema.field(name).type, self._key_types[name])
        except ValueError as error:
            problem = Problem(field=name, value=str(column.type), message=str(error))
            message = "the keys do not fit the table"
            raise InvalidRequest(message, problems=[problem]) from error

    def _routed(self, keys: dict[str, pa.Array]) -> Iterator[tuple[BucketId, Rows]]:
        """Yield buckets that have files, each with the numbers of the keys that may be in it."""
        complete = _without_nulls(keys)
        hashes: npt.NDArray[np.int32] | None = None
        for partition, numbers in self._partitions.of(keys, complete):
            buckets = self._places[partition]
            if len(buckets) == 1 and self._members[buckets[0]][0].total_buckets == 1:
                yield buckets[0], numbers
                continue
            if not self._is_routed:
                for place in buckets:
                    yield place, numbers
                continue
            if hashes is None:
                hashes = self._hashes(keys)
            yield from self._by_hash(buckets, hashes, numbers)

    def _hashes(self, keys: dict[str, pa.Array]) -> npt.NDArray[np.int32]:
        fields = [self._schema.field(name) for name in self._schema.bucket_keys]
        return bucket_hashes([keys[field.name] for field in fields], fields)

    def _by_hash(
        self, buckets: Sequence[BucketId], hashes: npt.NDArray[np.int32], numbers: Rows
    ) -> Iterator[tuple[BucketId, Rows]]:
        totals = {place: self._members[place][0].total_buckets for place in buckets}
        for total in set(totals.values()):
            wanted = buckets_of(hashes[numbers], total)
            for place in buckets:
                if totals[place] == total:
                    here = numbers[wanted == place[1]]
                    if len(here):
                        yield place, here


def _without_nulls(keys: dict[str, pa.Array]) -> Rows:
    """Return the numbers of the keys that have no null."""
    columns = list(keys.values())
    every = np.arange(len(columns[0]))
    for column in columns:
        if column.null_count:
            every = every[np.asarray(pc.is_valid(column))[every]]
    return every
