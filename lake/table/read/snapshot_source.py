"""Inputs for reading one snapshot: its files, and the stores that read them."""

from collections.abc import Sequence
from dataclasses import dataclass

from braid.lake.files.column_mapping import OlderSchemas
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.indexes.index_manifest import IndexManifestEntry
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.schema import TableSchema
from braid.lake.format.snapshot import Snapshot
from braid.lake.snapshots.deletion_vectors import VectorStore
from braid.lake.snapshots.file_indexes import FileIndexStore


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotSource:
    """The files of a snapshot, and everything that is needed to read them.

    Attributes:
        file_io: Storage.
        paths: The table's paths.
        schema: The schema under which the snapshot is read.
        snapshot: The snapshot; None for a table without one.
        entries: Live files of the snapshot.
        older_schemas: By id, the schemas of files that were written with other columns.
        indexes: Index files of the snapshot.
        vectors: Reads deletion vectors.
        file_indexes: Reads the indexes of data files.
    """

    file_io: FileIO
    paths: TablePaths
    schema: TableSchema
    snapshot: Snapshot | None
    entries: Sequence[ManifestEntry]
    older_schemas: OlderSchemas
    indexes: Sequence[IndexManifestEntry]
    vectors: VectorStore
    file_indexes: FileIndexStore
