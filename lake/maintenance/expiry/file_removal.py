"""Deletion of unreferenced files, with counts and collected failures."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from braid.lake.errors import StorageUnavailable
from braid.lake.files.data_file_path import live_file_path, with_extra_files
from braid.lake.format.manifest import ManifestEntry
from braid.lake.maintenance.unreferenced_files import MetadataNames
from braid.lake.snapshots.table_store import TableStore


@dataclass(kw_only=True)
class FileRemoval:
    """Deletes files of a table one by one.

    A failure does not stop the removal, so that one bad file does not leave all others behind; `check`
    raises afterwards.

    Attributes:
        store: Store of the table; its cache drops the manifests that are deleted.
        data_files: Number of data and changelog files deleted so far.
        data_bytes: Bytes of these files.
        metadata_files: Number of metadata files deleted so far.
    """

    store: TableStore
    data_files: int = 0
    data_bytes: int = 0
    metadata_files: int = 0
    _failures: list[tuple[str, Exception]] = field(default_factory=list)

    def remove_data(self, entries: Iterable[ManifestEntry]) -> None:
        """Delete data or changelog files together with their extra files, such as indexes."""
        for entry in entries:
            path = live_file_path(
                self.store.paths, self.store.schema, entry.partition, entry.bucket, entry.file
            )
            data, *others = with_extra_files(path, entry.file)
            if self._delete(data):
                self.data_files += 1
                self.data_bytes += entry.file.file_size
            for other in others:
                self._delete(other)

    def remove_metadata(self, names: MetadataNames) -> None:
        """Delete metadata files, kind by kind in the order of their names, so that runs are reproducible."""
        paths = [
            *(self.store.paths.index(name) for name in sorted(names.indexes)),
            *(self.store.paths.statistics(name) for name in sorted(names.statistics)),
        ]
        self.metadata_files += sum(map(self._delete, paths))
        for name in sorted(names.manifests):
            self.metadata_files += self._attempt(name, self.store.manifests.delete)

    def check(self) -> None:
        """Raise if a file could not be deleted.

        Raises:
            StorageUnavailable: Some files were not deleted; the message has their number and the first.
        """
        if not self._failures:
            return
        name, error = self._failures[0]
        message = (
            f"{len(self._failures)} files that nothing refers to any more could not be deleted; "
            f"the first is {name}: {error}\nhint: cleaning orphan files finds them"
        )
        raise StorageUnavailable(message) from error

    def _delete(self, path: str) -> bool:
        return self._attempt(path, self.store.file_io.delete)

    def _attempt(self, name: str, delete: Callable[[str], bool]) -> bool:
        try:
            return delete(name)
        except (OSError, StorageUnavailable) as error:
            self._failures.append((name, error))
            return False
