"""Manifests, manifest lists and index manifests on storage; immutable, so cached by name."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, cast

from braid.lake.errors import InvalidRequest
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.corruption import corrupt_at
from braid.lake.format.data_types import DataField
from braid.lake.format.indexes.index_manifest import (
    IndexManifestEntry,
    decode_index_manifest,
    encode_index_manifest,
)
from braid.lake.format.manifest import ManifestEntry, decode_manifest, encode_manifest
from braid.lake.format.manifest_list import (
    ManifestFileMeta,
    decode_manifest_list,
    describe_manifest,
    encode_manifest_list,
)
from braid.lake.snapshots.metadata_cache import MetadataCache, entries_bytes

T = TypeVar("T")

# Bytes of Python objects per encoded (compressed) byte of a list, measured on lists of wide tables.
_DECODED_BYTES_PER_BYTE = 8


class ManifestGone(InvalidRequest):
    """A manifest was deleted: the snapshot that references it has expired."""


class ManifestStore:
    """Reads and writes manifests; safe to share between threads.

    Decoded files are in a cache that tables share.

    Attributes:
        cache: Cache of decoded files and of live files.
        root: Root directory of the table.
    """

    def __init__(
        self, file_io: FileIO, paths: TablePaths, *, cache: MetadataCache | None = None
    ) -> None:
        """Create a store.

        Args:
            file_io: Storage.
            paths: Paths of the table.
            cache: Cache shared with other tables; None: the store has one of its own.
        """
        self._file_io = file_io
        self._paths = paths
        self.cache = cache or MetadataCache()
        self.root = paths.root

    def read_manifest(self, name: str) -> tuple[ManifestEntry, ...]:
        """Return the entries of a manifest, in file order.

        Raises:
            ManifestGone: The file is absent.
            CorruptData: The file cannot be read.
            UnsupportedFeature: The manifest references files that this version does not support.
        """
        return self._read(name, lambda data: tuple(decode_manifest(data)), entries_bytes)

    def read_manifests(self, names: Sequence[str]) -> Iterator[tuple[ManifestEntry, ...]]:
        """Yield the entries of several manifests, in the order of their names.

        On a store with high latency several are read concurrently.

        Raises:
            As `read_manifest`.
        """
        at_once = min(len(names), self._file_io.parallel_reads)
        if at_once < 2:
            yield from map(self.read_manifest, names)
            return
        with ThreadPoolExecutor(at_once) as readers:
            yield from readers.map(self.read_manifest, names)

    def read_list(self, name: str) -> tuple[ManifestFileMeta, ...]:
        """Return the manifests of a list, in file order.

        Raises:
            ManifestGone: The file is absent.
            CorruptData: The file cannot be read.
        """
        return self._read(name, lambda data: tuple(decode_manifest_list(data)))

    def read_index_manifest(self, name: str) -> tuple[IndexManifestEntry, ...]:
        """Return the entries of an index manifest, in file order.

        Raises:
            ManifestGone: The file is absent.
            CorruptData: The file cannot be read.
        """
        return self._read(name, lambda data: tuple(decode_index_manifest(data)))

    def write_manifest(
        self,
        name: str,
        entries: Sequence[ManifestEntry],
        *,
        partition_fields: Sequence[DataField],
        compression: str,
    ) -> ManifestFileMeta:
        """Write one manifest, durable on return, and return its description for a manifest list."""
        data = encode_manifest(entries, compression)
        self._file_io.write_new(self._paths.manifest(name), data)
        self._remember(name, tuple(entries), entries_bytes(entries))
        return describe_manifest(name, len(data), entries, partition_fields)

    def write_list(
        self, name: str, manifests: Sequence[ManifestFileMeta], *, compression: str
    ) -> int:
        """Write one manifest list, durable on return, and return its size in bytes."""
        data = encode_manifest_list(manifests, compression)
        self._file_io.write_new(self._paths.manifest(name), data)
        self._remember(name, tuple(manifests), len(data) * _DECODED_BYTES_PER_BYTE)
        return len(data)

    def write_index_manifest(
        self, name: str, entries: Sequence[IndexManifestEntry], *, compression: str
    ) -> None:
        """Write one index manifest, durable on return."""
        data = encode_index_manifest(entries, compression)
        self._file_io.write_new(self._paths.manifest(name), data)
        self._remember(name, tuple(entries), len(data) * _DECODED_BYTES_PER_BYTE)

    def delete(self, name: str) -> bool:
        """Delete a manifest or list that no snapshot references; return whether it existed."""
        self.cache.remove(self._paths.manifest(name))
        return self._file_io.delete(self._paths.manifest(name))

    def _remember(self, name: str, value: object, size: int) -> None:
        self.cache.put(self._paths.manifest(name), value, size)

    def _read(
        self,
        name: str,
        decode: Callable[[bytes], T],
        size_of: Callable[[T], int] | None = None,
    ) -> T:
        known = self.cache.get(self._paths.manifest(name))
        if known is not None:
            return cast("T", known)
        try:
            data = self._file_io.read_bytes(self._paths.manifest(name))
        except FileNotFoundError as error:
            message = (
                f"manifest {self._paths.manifest(name)} is absent: the snapshot that references it "
                "has expired\nhint: read a newer snapshot"
            )
            raise ManifestGone(message) from error
        with corrupt_at(self._paths.manifest(name)):
            decoded = decode(data)
        size = len(data) * _DECODED_BYTES_PER_BYTE if size_of is None else size_of(decoded)
        self._remember(name, decoded, size)
        return decoded
