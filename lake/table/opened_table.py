"""An opened table: its newest known schema, stores and caches, and the reads of metadata that its operations share."""

import random as random_module
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from uuid import UUID, uuid4

from braid.lake.commit.clock_check import ClockCheck
from braid.lake.commit.committer import TableCommitter
from braid.lake.errors import CorruptData, TableNotFound, adds_table_to_errors
from braid.lake.files.clock import Clock
from braid.lake.files.column_mapping import OlderSchemas, is_same_shape
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.indexes.index_manifest import IndexManifestEntry
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.schema import TableSchema, check_supported
from braid.lake.format.snapshot import Snapshot
from braid.lake.format.statistics import ReducedStats
from braid.lake.options.table_options import DYNAMIC_BUCKET
from braid.lake.read.lookup.copy_store import CopyStore
from braid.lake.snapshots.deletion_vectors import vector_entries
from braid.lake.snapshots.lease import LEASE_MS
from braid.lake.snapshots.lease_keeper import LeaseKeeper
from braid.lake.snapshots.live_state import LiveEntries
from braid.lake.snapshots.live_table import LiveTable
from braid.lake.snapshots.manifest_store import ManifestGone
from braid.lake.snapshots.metadata_cache import MetadataCache
from braid.lake.snapshots.table_identity import TableIdentity
from braid.lake.snapshots.table_store import TableStore, table_store
from braid.lake.table.arguments import check_snapshot_id
from braid.lake.table.branches import refuse_branch
from braid.lake.table.lookup.recent_lookups import RecentLookups, RecentValues
from braid.lake.table.lookup.snapshot_history import LookupHistory
from braid.lake.write.buckets.dynamic_buckets import DynamicBuckets


class OpenedTable:
    """State that all operations of a `Table` share.

    Can be shared between threads, and pickled to other processes without what was read.

    Attributes:
        identifier: `db.table`.
        store: Stores under the newest schema that was seen; replaced by each `refresh`.
        random: Source of names and waiting times; the system's when None.
        copies: Copies of files for lookups, shared with the other tables of a catalog.
        metadata_cache: Decoded metadata, shared with other tables (`braid.lake.snapshots.metadata_cache`).
    """

    def __init__(
        self,
        *,
        file_io: FileIO,
        paths: TablePaths,
        identifier: str,
        schema: TableSchema,
        clock: Clock,
        random: random_module.Random | None,
        copies: CopyStore | None = None,
        metadata_cache: MetadataCache | None = None,
    ) -> None:
        """Wrap a table whose schema was read.

        Raises:
            UnsupportedFeature: The table needs what this version does not have.
        """
        check_supported(schema)
        self.identifier = identifier
        self.metadata_cache = metadata_cache or MetadataCache()
        self.store = table_store(
            file_io,
            paths,
            schema,
            clock=clock,
            new_uuid=partial(_random_uuid, random),
            metadata_cache=self.metadata_cache,
        )
        self.random = random
        self.copies = copies or CopyStore()
        self._identity = TableIdentity(file_io, paths, schema)

    def __reduce__(self) -> tuple[partial["OpenedTable"], tuple[()]]:
        """Return what another process needs, without what was read here.

        A shared `metadata_cache` becomes that of the other process.
        """
        anew = partial(
            OpenedTable,
            file_io=self.store.file_io,
            paths=self.store.paths,
            identifier=self.identifier,
            schema=self.store.schema,
            clock=self.store.clock,
            random=self.random,
            metadata_cache=self.metadata_cache,
        )
        return anew, ()

    @cached_property
    def lookups(self) -> RecentLookups:
        """The cache of lookups of recent snapshots."""
        return RecentLookups(self.store.paths.root, self.store.schema.table_options, self.copies)

    @cached_property
    def histories(self) -> RecentValues[LookupHistory]:
        """The cache of histories of recent snapshots."""
        return RecentValues()

    @cached_property
    def clock_check(self) -> ClockCheck:
        """The check that committers' clocks agree with storage's."""
        return ClockCheck(self.store.file_io, self.store.paths)

    @cached_property
    def keeper(self) -> LeaseKeeper:
        """The keeper that leases snapshots for reads that take long."""
        # Engines that know nothing of deadlines forget a consumer by the age of its file.
        expiration_ms = self.store.schema.table_options.consumer_expiration_time_ms
        return LeaseKeeper(
            file_io=self.store.file_io,
            paths=self.store.paths,
            clock=self.store.clock,
            new_uuid=self.store.new_uuid,
            lease_ms=LEASE_MS if expiration_ms is None else min(LEASE_MS, expiration_ms),
        )

    def refresh(self) -> None:
        """Read the newest schema (see `Table.refresh`)."""
        self._identity.confirm(None)
        schema = self.store.schemas.latest()
        if schema is None:
            message = f"table {self.identifier} at {self.store.paths.root} is gone"
            raise TableNotFound(message)
        check_supported(schema)
        self.store = replace(self.store, schema=schema)

    def confirmed_store(self) -> TableStore:
        """Return the store, for operations that add files to the table or remove some.

        Raises:
            TableNotFound: The table was dropped, or created anew.
        """
        self._identity.confirm(None)
        return self.store

    def has_newer_schema(self, schema_id: int) -> bool:
        """Read the newest schema; return whether its id is above the given one."""
        self.refresh()
        return self.store.schema.id > schema_id

    def committer(self) -> TableCommitter:
        """Return a committer (see `Table.committer`)."""
        store = self.store
        refuse_branch(store.paths)
        return TableCommitter(
            store.file_io,
            store.paths,
            clock=store.clock,
            random=self.random or random_module.SystemRandom(),
            manifests=store.manifests,
            live=store.live,
            identity=self._identity,
            schemas=store.schemas,
            clock_check=self.clock_check,
        )

    def latest_snapshot(self) -> Snapshot | None:
        """Return the newest snapshot (see `Table.latest_snapshot`)."""
        snapshot = self.store.snapshots.latest()
        self._identity.confirm(snapshot)
        return snapshot

    def snapshot(self, snapshot_id: int) -> Snapshot:
        """Return a snapshot (see `Table.snapshot`)."""
        check_snapshot_id(snapshot_id)
        snapshots = self.store.snapshots
        snapshot = snapshots.find(snapshot_id)
        self._identity.confirm(snapshot)
        return snapshots.get(snapshot_id) if snapshot is None else snapshot

    def confirmed(self, snapshot: Snapshot | None) -> Snapshot | None:
        """Return the argument after a check that it belongs to the table that was opened.

        Raises:
            TableNotFound: The table was dropped, or created anew.
        """
        self._identity.confirm(snapshot)
        return snapshot

    def live_files(self, snapshot: Snapshot) -> list[ManifestEntry]:
        """Return the live files of a snapshot (see `Table.live_files`)."""
        return list(self.live_entries(snapshot))

    def live_entries(self, snapshot: Snapshot) -> LiveEntries:
        """Return the live files of a snapshot as `live_files` does, without a copy."""
        with self._gone_is_corrupt(snapshot):
            return LiveEntries(self.store.live.state(snapshot))

    def whole(self, entries: Sequence[ManifestEntry]) -> list[ManifestEntry]:
        """Return entries with whole statistics, in their order, without those that are not live any more.

        Raises:
            CorruptData: A manifest is damaged.
        """
        if not any(isinstance(entry.file.value_stats, ReducedStats) for entry in entries):
            return list(entries)
        while True:
            snapshot = self.latest_snapshot()
            if snapshot is None:
                return []
            try:
                parts = list(self.store.live.whole(snapshot, entries))
            except ManifestGone:
                # Only a snapshot with a successor expires, so there is a newer one.
                continue
            found = {entry.identity: entry for part in parts for entry in part}
            return [found[entry.identity] for entry in entries if entry.identity in found]

    def whole_in(
        self, snapshot: Snapshot, entries: Sequence[ManifestEntry]
    ) -> Iterator[list[ManifestEntry]]:
        """Yield entries of a snapshot with whole statistics, in parts and in any order.

        Raises:
            LeaseLost: The snapshot has expired.
            CorruptData: A manifest is damaged.
        """
        try:
            yield from self.store.live.whole(snapshot, entries)
        except ManifestGone as error:
            self.keeper.raise_if_expired(snapshot, error)
            raise

    @contextmanager
    def _gone_is_corrupt(self, snapshot: Snapshot) -> Iterator[None]:
        """Raise CorruptData for an absent manifest of a snapshot that exists."""
        try:
            yield
        except ManifestGone as error:
            # Expiry removes the snapshot before its manifests.
            if not self.store.snapshots.exists(snapshot.id):
                raise
            message = (
                f"snapshot {snapshot.id} exists, but a file that it refers to does not: {error}"
            )
            raise CorruptData(message) from error

    def indexes_of(self, snapshot: Snapshot) -> tuple[IndexManifestEntry, ...]:
        """Return all index files of a snapshot.

        Raises:
            ManifestGone: The snapshot has expired.
            CorruptData: The index manifest is damaged, or absent although the snapshot is there.
        """
        if snapshot.index_manifest is None:
            return ()
        try:
            return self.store.manifests.read_index_manifest(snapshot.index_manifest)
        except ManifestGone as error:
            if not self.store.snapshots.exists(snapshot.id):
                raise
            path = self.store.paths.manifest(snapshot.index_manifest)
            message = f"index manifest {path} of snapshot {snapshot.id} is absent"
            raise CorruptData(message) from error

    @adds_table_to_errors
    def live_of(self, snapshot: Snapshot) -> LiveTable:
        """Return what is live in a snapshot."""
        return LiveTable(
            entries=self.live_entries(snapshot), vectors=vector_entries(self.indexes_of(snapshot))
        )

    @adds_table_to_errors
    def newest_live(self) -> tuple[Snapshot | None, LiveTable]:
        """Return the newest snapshot and what is live in it, even if it expires meanwhile."""
        while True:
            snapshot = self.latest_snapshot()
            if snapshot is None:
                return None, LiveTable(entries=(), vectors={})
            try:
                return snapshot, self.live_of(snapshot)
            except ManifestGone:
                # Only a snapshot with a successor expires, so there is a newer one.
                continue

    def dynamic_buckets(self) -> DynamicBuckets | None:
        """Return the buckets of the newest snapshot; None for a table with a fixed number of them."""
        if self.store.schema.table_options.bucket != DYNAMIC_BUCKET:
            return None
        while True:
            snapshot = self.latest_snapshot()
            try:
                indexes = () if snapshot is None else self.indexes_of(snapshot)
            except ManifestGone:
                # Only a snapshot with a successor expires, so there is a newer one.
                continue
            store = self.store
            return DynamicBuckets(store.file_io, store.paths, store.schema, indexes)

    def schema_of(self, snapshot: Snapshot | None, *, is_newest: bool) -> TableSchema:
        """Return the schema to read a snapshot with: the newest, or for time travel its own."""
        if snapshot is None:
            return self.store.schema
        if is_newest:
            # A snapshot of a newer schema proves that there is one; without such a snapshot storage
            # is not read.
            if snapshot.schema_id > self.store.schema.id:
                self.refresh()
            return self.store.schema
        schema = self.store.schemas.get(snapshot.schema_id)
        check_supported(schema)
        return schema

    def had_other_buckets(self, schema: TableSchema) -> bool:
        """Return whether a schema before this one has another number of buckets."""
        return any(
            self.store.schemas.get(number).table_options.bucket != schema.table_options.bucket
            for number in range(schema.id)
        )

    def older_schemas(self, schema: TableSchema, entries: Iterable[ManifestEntry]) -> OlderSchemas:
        """Return the schemas of files that were written with other columns than the schema's, by id.

        Args:
            schema: The schema under which the files are read.
            entries: Files.

        Raises:
            CorruptData: A schema cannot be read.
        """
        # Schemas that differ in options or comments alone need no mapping of columns.
        if isinstance(entries, LiveEntries):
            found = entries.state.schema_ids
        else:
            found = frozenset(entry.file.schema_id for entry in entries)
        ids = found - {schema.id}
        others = {number: self.store.schemas.get(number) for number in sorted(ids)}
        return {
            number: other for number, other in others.items() if not is_same_shape(other, schema)
        }


def _random_uuid(random: random_module.Random | None) -> UUID:
    if random is None:
        return uuid4()
    return UUID(int=random.getrandbits(128), version=4)
