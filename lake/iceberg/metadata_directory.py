"""The directory of a table's Iceberg metadata.

```
<table>/metadata/                                with `table-location`
<warehouse>/iceberg/<database>/<table>/metadata/ with `hadoop-catalog`
    v<N>.metadata.json      the metadata file of version N, created exclusively
    version-hint.text       the newest N, for readers
    snap-<n>-<uuid>.avro    manifest list      <uuid>-m<n>.avro    manifest
```

Files are found by their names in the directory, not by the paths that the metadata have: another engine may have
written these with another prefix.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar, cast

from braid.lake.errors import CorruptData, InvalidRequest, Problem
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO, FileStatus
from braid.lake.format.corruption import corrupt_at
from braid.lake.iceberg.avro_files import FORMAT_VERSION, decode_list, decode_manifest
from braid.lake.iceberg.manifest_entries import IcebergEntry, IcebergManifest
from braid.lake.iceberg.metadata_document import IcebergMetadata, parse_metadata
from braid.lake.options.table_options import IcebergLocation, IcebergStorage, TableOptions
from braid.lake.snapshots.metadata_cache import MetadataCache

T = TypeVar("T")

VERSION_HINT: Final = "version-hint.text"
_STORAGES: Final = (IcebergStorage.TABLE_LOCATION, IcebergStorage.HADOOP_CATALOG)
_VERSION: Final = re.compile(r"v(0|[1-9][0-9]{0,18})\.metadata\.json")
_MANIFEST_SUFFIX: Final = ".avro"
_DATABASE_SUFFIX: Final = ".db"
_DECODED_BYTES_PER_BYTE: Final = 12
"""Bytes of Python objects for each compressed byte, measured on entries of narrow tables."""


def metadata_version(name: str) -> int | None:
    """Return the version in the name of a metadata file, None for every other name.

    Example:
        >>> metadata_version("v12.metadata.json"), metadata_version("v012.metadata.json")
        (12, None)
    """
    found = _VERSION.fullmatch(name)
    return None if found is None else int(found.group(1))


def is_published(options: TableOptions) -> bool:
    """Return whether the table's options ask for Iceberg metadata that this version writes.

    Other engines may declare what is refused here: catalogs, and version 3 of the format with deletion vectors.
    """
    is_ours = options.iceberg_storage in _STORAGES
    is_plain = options.iceberg_format_version == FORMAT_VERSION
    return is_ours and is_plain and not options.deletion_vectors_enabled


def directory_of(paths: TablePaths, options: TableOptions) -> str:
    """Return the directory of a table's Iceberg metadata.

    Args:
        paths: Paths of the table.
        options: Its options; `is_published` of them.

    Raises:
        InvalidRequest: The directory is below the warehouse, and the table is in no database of one.
    """
    location = options.iceberg_storage_location or (
        IcebergLocation.TABLE_LOCATION
        if options.iceberg_storage is IcebergStorage.TABLE_LOCATION
        else IcebergLocation.CATALOG_LOCATION
    )
    if location is IcebergLocation.TABLE_LOCATION:
        return f"{paths.root}/metadata"
    table = _catalog_table_directory(paths)
    if table is None:
        problem = Problem(
            field="metadata.iceberg.storage",
            value=str(options.iceberg_storage),
            message="the table's directory is not in a database of a warehouse, `<warehouse>/<database>.db`",
            hint="set metadata.iceberg.storage to table-location",
        )
        text = f"table {paths.root} cannot have Iceberg metadata in the warehouse"
        raise InvalidRequest(text, problems=[problem])
    return f"{table}/metadata"


def _catalog_table_directory(paths: TablePaths) -> str | None:
    """Return the table's directory below `iceberg` in its warehouse; None where it is in no warehouse."""
    database, _, table = paths.root.rpartition("/")
    warehouse, _, name = database.rpartition("/")
    if not name.endswith(_DATABASE_SUFFIX):
        return None
    return f"{warehouse}/iceberg/{name.removesuffix(_DATABASE_SUFFIX)}/{table}"


def directories_with_orphans(paths: TablePaths, options: TableOptions) -> set[str]:
    """Return the directories in which a table may have Iceberg metadata that nothing needs.

    The one in the table's directory counts where the options ask for no metadata, any more; the one below the
    warehouse may be another table's, then. Metadata that only other engines write are left to them.

    Raises:
        InvalidRequest: The table is in no warehouse, where its options put the metadata.
    """
    inside = f"{paths.root}/metadata"
    if is_published(options):
        return {inside, directory_of(paths, options)}
    return {inside} if options.iceberg_storage is IcebergStorage.DISABLED else set()


def is_metadata_file(name: str) -> bool:
    """Return whether a name is one under which Iceberg metadata are written.

    Example:
        >>> [is_metadata_file(name) for name in ("v3.metadata.json", "0b1c-m1.avro", "notes.txt")]
        [True, True, False]
    """
    return (
        metadata_version(name) is not None
        or name == VERSION_HINT
        or name.endswith(_MANIFEST_SUFFIX)
    )


class MetadataDirectory:
    """Reads and deletes Iceberg metadata of one table; manifests are cached by path."""

    def __init__(self, file_io: FileIO, path: str, cache: MetadataCache) -> None:
        self._file_io = file_io
        self.path = path
        self._cache = cache

    def list(self) -> Sequence[FileStatus]:
        """Return the files; none if there is no such directory. One listing."""
        return [status for status in self._file_io.list(self.path) if not status.is_directory]

    def versions(self) -> Sequence[int]:
        """Return the versions of the metadata file, newest first. One listing."""
        found = (metadata_version(status.name) for status in self.list())
        return sorted((number for number in found if number is not None), reverse=True)

    def file(self, name: str) -> str:
        """Return the path of a file."""
        return f"{self.path}/{name}"

    def document(self, version: int) -> str:
        """Return the path of a metadata file."""
        return self.file(f"v{version}.metadata.json")

    def read(self, version: int) -> IcebergMetadata | None:
        """Return what a metadata file says, None if it is absent.

        Raises:
            CorruptData: It cannot be read.
        """
        try:
            data = self._file_io.read_bytes(self.document(version))
        except FileNotFoundError:
            return None
        with corrupt_at(self.document(version)):
            return parse_metadata(data, version=version)

    def read_hint(self) -> int | None:
        """Return the version in the hint; None if it is absent or no number."""
        try:
            text = self._file_io.read_bytes(self.file(VERSION_HINT))
        except FileNotFoundError:
            return None
        return int(text) if text.isdigit() else None

    def write_hint(self, version: int) -> None:
        """Point readers at a version."""
        self._file_io.overwrite(self.file(VERSION_HINT), str(version).encode())

    def read_list(self, path: str) -> tuple[IcebergManifest, ...]:
        """Return the manifests of a list.

        Args:
            path: Path of the list, as the metadata have it.

        Raises:
            CorruptData: It is absent or cannot be read.
        """
        return self._decoded(path, decode_list)

    def read_manifest(self, path: str) -> tuple[IcebergEntry, ...]:
        """Return the entries of a manifest.

        Args:
            path: Path of the manifest, as the metadata have it.

        Raises:
            CorruptData: It is absent or cannot be read.
        """
        return self._decoded(path, decode_manifest)

    def write(self, name: str, data: bytes, decoded: object) -> None:
        """Write a manifest or a manifest list under a new name, and cache what it holds."""
        self._file_io.write_new(self.file(name), data)
        self._cache.put(self.file(name), decoded, len(data) * _DECODED_BYTES_PER_BYTE)

    def referenced(self, metadata: IcebergMetadata) -> set[str]:
        """Return the names of the manifest lists and manifests that a metadata file needs.

        Raises:
            CorruptData: A manifest list is absent or cannot be read.
        """
        names = set()
        for snapshot in metadata.snapshots:
            names.add(_name(snapshot.manifest_list))
            names |= {manifest.name for manifest in self.read_list(snapshot.manifest_list)}
        return names

    def delete(self, names: Iterable[str]) -> None:
        """Delete files by name, those that exist."""
        for name in names:
            self._file_io.delete(self.file(name))
            self._cache.remove(self.file(name))

    def _decoded(self, path: str, decode: Callable[[bytes], T]) -> T:
        """Return what a file holds, from the cache if it is known; each name is read by one function alone."""
        own = self.file(_name(path))
        known = self._cache.get(own)
        if known is None:
            data = self._read(own)
            with corrupt_at(own):
                known = decode(data)
            self._cache.put(own, known, len(data) * _DECODED_BYTES_PER_BYTE)
        return cast("T", known)

    def _read(self, path: str) -> bytes:
        try:
            return self._file_io.read_bytes(path)
        except FileNotFoundError as error:
            text = f"{path}: the Iceberg metadata refer to this file, and it does not exist"
            raise CorruptData(text) from error


def _name(path: str) -> str:
    return path.rpartition("/")[2]
