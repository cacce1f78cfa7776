"""The dependencies that operations on a table share: storage, paths, schema, stores, clock and unique names."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from braid.lake.files.clock import Clock
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.schema import TableSchema
from braid.lake.snapshots.changelog_store import ChangelogStore
from braid.lake.snapshots.consumer_store import ConsumerStore
from braid.lake.snapshots.deletion_vectors import VectorStore
from braid.lake.snapshots.file_indexes import FileIndexStore
from braid.lake.snapshots.live_files import LiveFiles
from braid.lake.snapshots.manifest_store import ManifestStore
from braid.lake.snapshots.metadata_cache import MetadataCache
from braid.lake.snapshots.schema_store import SchemaStore
from braid.lake.snapshots.snapshot_store import SnapshotStore
from braid.lake.snapshots.tag_store import TagStore


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStore:
    """One table, or one branch of it, under one schema; safe between threads.

    The stores that cache what they have read are attributes, so that `replace(store, schema=...)` shares
    them. The others have no state, and each access creates a new one.

    Attributes:
        file_io: Storage.
        paths: Paths of the files of the table or branch.
        schema: The newest schema that was read, or the schema to work under.
        clock: Source of time.
        new_uuid: Source of unique names.
        schemas: Reads and creates schemas.
        manifests: Reads and writes manifests.
        live: Finds the live files of snapshots; reads through `manifests`.
        vectors: Reads and writes deletion vectors.
        file_indexes: Reads the indexes of data files.
    """

    file_io: FileIO
    paths: TablePaths
    schema: TableSchema
    clock: Clock
    new_uuid: Callable[[], UUID]
    schemas: SchemaStore
    manifests: ManifestStore
    live: LiveFiles
    vectors: VectorStore
    file_indexes: FileIndexStore

    @property
    def snapshots(self) -> SnapshotStore:
        """Reads snapshots."""
        return SnapshotStore(self.file_io, self.paths)

    @property
    def changelogs(self) -> ChangelogStore:
        """Reads and keeps changelogs that outlive their snapshots."""
        return ChangelogStore(self.file_io, self.paths)

    @property
    def consumers(self) -> ConsumerStore:
        """Reads and writes consumers and leases."""
        return ConsumerStore(self.file_io, self.paths)

    @property
    def tags(self) -> TagStore:
        """Reads and writes tags."""
        return TagStore(self.file_io, self.paths)


def table_store(
    file_io: FileIO,
    paths: TablePaths,
    schema: TableSchema,
    *,
    clock: Clock,
    new_uuid: Callable[[], UUID],
    metadata_cache: MetadataCache | None = None,
) -> TableStore:
    """Return a store with empty caches, except for the metadata cache if one is given."""
    manifests = ManifestStore(file_io, paths, cache=metadata_cache)
    return TableStore(
        file_io=file_io,
        paths=paths,
        schema=schema,
        clock=clock,
        new_uuid=new_uuid,
        schemas=SchemaStore(file_io, paths),
        manifests=manifests,
        live=LiveFiles(
            manifests,
            partition_fields=schema.partition_fields,
            # Compactions look for expired rows in every file again and again.
            keeps_statistics=schema.table_options.record_level_time_field is not None,
        ),
        vectors=VectorStore(file_io, paths),
        file_indexes=FileIndexStore(file_io),
    )
