"""Inputs for reading one snapshot: its files, and the stores that read them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from braid.lake.files.column_mapping import OlderSchemas
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.indexes.index_manifest import IndexManifestEntry
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.schema import TableSchema
from braid.lake.format.snapshot import Snapshot
from braid.lake.read.scan_plan import is_visible
from braid.lake.snapshots.deletion_vectors import VectorStore
from braid.lake.snapshots.file_indexes import FileIndexStore


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenRecords:
    """Records that are committed, and become visible to readers by a compaction.

    Attributes:
        files: Number of their files, which are on level 0.
        records: Number of the records.
    """

    files: int
    records: int


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
        merged: Level 0 is read, too, where the table hides it from readers.
        whole: Yields entries with whole statistics, in parts and in any order; None: the entries have them.
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
    merged: bool = False
    whole: Callable[[Sequence[ManifestEntry]], Iterator[Sequence[ManifestEntry]]] | None = None

    def sees(self, entry: ManifestEntry) -> bool:
        """Return whether the rows of a file are read."""
        return self.merged or is_visible(entry, self.schema)

    @property
    def sees_all(self) -> bool:
        """Whether the rows of every file are read."""
        return self.merged or not self.schema.table_options.hides_level_0

    def hidden(self) -> HiddenRecords | None:
        """Return what is committed but not read, because the table hides level 0; None if every file is read."""
        if self.sees_all:
            return None
        counts = [entry.file.row_count for entry in self.entries if not self.sees(entry)]
        return HiddenRecords(files=len(counts), records=sum(counts))
