"""Manifests, manifest lists and index manifests on storage; immutable, so cached by name."""

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar, cast

from braid.lake.errors import InvalidRequest
from braid.lake.files.paths import TablePaths, is_manifest_part, is_sorted_manifest
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.bucket import BucketId
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
from braid.lake.snapshots.metadata_cache import METADATA_BYTES, MetadataCache, entries_bytes

T = TypeVar("T")

# Bytes of Python objects per encoded (compressed) byte of a list, measured on lists of wide tables.
_DECODED_BYTES_PER_BYTE = 8
# Decoded bytes up to which a manifest is cached when it is written.
_KEPT_BYTES_MAX = METADATA_BYTES // 32
# Behind the path of a manifest, in the cache: its entries with reduced statistics.
_REDUCED = "#reduced"
# The same: how often some of its entries were read.
_SEEN = "#seen"
# Times that a sorted manifest is searched before it is decoded as a whole, which takes about as long as all of them.
_SEARCHES_MAX = 8
_MARK_BYTES = 200


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

    def read_manifest(self, name: str, *, is_reduced: bool = False) -> tuple[ManifestEntry, ...]:
        """Return the entries of a manifest, in file order.

        Args:
            name: Name of the manifest.
            is_reduced: Whether large value statistics are reduced (`ReducedStats`).

        Raises:
            ManifestGone: The file is absent.
            CorruptData: The file cannot be read.
            UnsupportedFeature: The manifest references files that this version does not support.
        """
        if not is_reduced:
            return self._read(name, lambda data: tuple(decode_manifest(data)), entries_bytes)
        return self._read(
            name,
            lambda data: tuple(decode_manifest(data, is_reduced=True)),
            entries_bytes,
            part=_REDUCED,
        )

    def read_manifests(
        self, names: Sequence[str], *, is_reduced: bool = False
    ) -> Iterator[tuple[ManifestEntry, ...]]:
        """Return the entries of several manifests, in the order of their names.

        On a store with high latency several are read concurrently.

        Raises:
            As `read_manifest`.
        """
        read = partial(self.read_manifest, is_reduced=is_reduced)
        return self._read_each(names, read)

    def read_some(
        self, names: Sequence[str], buckets: Collection[BucketId], *, is_reduced: bool
    ) -> Iterator[list[ManifestEntry]]:
        """Return the entries of some buckets in several manifests, in the order of their names.

        The first times a manifest is read so, its other entries are not decoded; later all are, and are cached. A
        sorted manifest is searched more often, because only a few of its blocks are decoded.

        Args:
            names: Names of the manifests.
            buckets: The buckets.
            is_reduced: Whether large value statistics are reduced.

        Raises:
            As `read_manifest`.
        """
        read = partial(self._read_some, buckets=buckets, is_reduced=is_reduced)
        return self._read_each(names, read)

    def _read_each(self, names: Sequence[str], read: Callable[[str], T]) -> Iterator[T]:
        at_once = min(len(names), self._file_io.parallel_reads)
        if at_once < 2:
            yield from map(read, names)
            return
        with ThreadPoolExecutor(at_once) as readers:
            yield from readers.map(read, names)

    def _read_some(
        self, name: str, *, buckets: Collection[BucketId], is_reduced: bool
    ) -> list[ManifestEntry]:
        path = self._paths.manifest(name)
        known = self.cache.get(path + _REDUCED if is_reduced else path) or self.cache.get(path)
        times = cast("int", self.cache.get(path + _SEEN) or 0)
        if known is None and times < (_SEARCHES_MAX if is_sorted_manifest(name) else 1):
            data = self._bytes(name)
            with corrupt_at(path):
                found = decode_manifest(
                    data,
                    buckets=buckets,
                    is_reduced=is_reduced,
                    is_sorted=is_sorted_manifest(name),
                )
            self.cache.put(path + _SEEN, times + 1, _MARK_BYTES)
            return found
        if known is None:
            known = self.read_manifest(name, is_reduced=is_reduced)
        entries = cast("tuple[ManifestEntry, ...]", known)
        return [entry for entry in entries if (entry.partition, entry.bucket) in buckets]

    def read_uncached(
        self, name: str, buckets: Collection[BucketId] | None = None
    ) -> list[ManifestEntry]:
        """Return the entries of some buckets with whole statistics; entries that are not cached yet stay uncached.

        Args:
            name: Name of the manifest.
            buckets: The buckets; None: all.

        Raises:
            As `read_manifest`.
        """
        known = cast("tuple[ManifestEntry, ...] | None", self.cache.get(self._paths.manifest(name)))
        if known is None:
            path = self._paths.manifest(name)
            data = self._bytes(name)
            with corrupt_at(path):
                return decode_manifest(data, buckets=buckets, is_sorted=is_sorted_manifest(name))
        return [
            entry
            for entry in known
            if buckets is None or (entry.partition, entry.bucket) in buckets
        ]

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
        """Write one manifest, durable on return, and return its description for a manifest list.

        Large ones are not cached, because they would evict what readers need; and neither are parts, which
        are not merged soon.
        """
        data = encode_manifest(entries, compression)
        self._file_io.write_new(self._paths.manifest(name), data)
        size = entries_bytes(entries)
        if size <= _KEPT_BYTES_MAX and not is_manifest_part(name):
            self._remember(name, tuple(entries), size)
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
        self.cache.remove(self._paths.manifest(name) + _REDUCED)
        self.cache.remove(self._paths.manifest(name) + _SEEN)
        return self._file_io.delete(self._paths.manifest(name))

    def _remember(self, name: str, value: object, size: int) -> None:
        self.cache.put(self._paths.manifest(name), value, size)

    def _read(
        self,
        name: str,
        decode: Callable[[bytes], T],
        size_of: Callable[[T], int] | None = None,
        *,
        part: str = "",
    ) -> T:
        path = self._paths.manifest(name)
        known = self.cache.get(path + part)
        if known is not None:
            return cast("T", known)
        data = self._bytes(name)
        with corrupt_at(path):
            decoded = decode(data)
        size = len(data) * _DECODED_BYTES_PER_BYTE if size_of is None else size_of(decoded)
        self.cache.put(path + part, decoded, size)
        return decoded

    def _bytes(self, name: str) -> bytes:
        path = self._paths.manifest(name)
        try:
            return self._file_io.read_bytes(path)
        except FileNotFoundError as error:
            message = (
                f"manifest {path} is absent: the snapshot that references it "
                "has expired\nhint: read a newer snapshot"
            )
            raise ManifestGone(message) from error
