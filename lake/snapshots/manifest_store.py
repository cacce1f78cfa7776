"""Manifests, manifest lists and index manifests on storage; immutable, so cached by name."""

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar, cast

from braid.lake.errors import CorruptData, InvalidRequest
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
from braid.lake.format.manifest import ManifestEntry, decode_manifest
from braid.lake.format.manifest_index import ManifestIndex, index_of
from braid.lake.format.manifest_list import (
    ManifestFileMeta,
    decode_manifest_list,
    describe_manifest,
    encode_manifest_list,
)
from braid.lake.format.manifest_records import (
    ManifestRecord,
    new_records,
    read_records,
    write_records,
)
from braid.lake.format.statistics import ReducedStats
from braid.lake.snapshots.metadata_cache import METADATA_BYTES, MetadataCache, entries_bytes

T = TypeVar("T")

# Bytes of Python objects per encoded (compressed) byte of a list, measured on lists of wide tables.
_DECODED_BYTES_PER_BYTE = 8
# Decoded bytes up to which a manifest is cached when it is written.
_KEPT_BYTES_MAX = METADATA_BYTES // 32
# Behind the path of a manifest, in the cache: its entries with reduced statistics.
_REDUCED = "#reduced"
# The same: a mark that some of its entries were read.
_SEEN = "#seen"
_MARK_BYTES = 200
# The same: its index, with the approximate bytes of that and of each block in it; and, before a number, a block.
_INDEX = "#index"
_INDEX_BYTES, _PLACE_BYTES = 400, 300
_BLOCK = "#block-"


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

        Of a sorted manifest the blocks that may have them are decoded; these and the manifest's index are cached. The
        first time that another manifest is read so, its other entries are not decoded; later all are, and are cached.

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
        if known is None:
            found = self._search(name, buckets, is_reduced=is_reduced)
            if found is not None:
                return found
        if known is None and self.cache.get(path + _SEEN) is None:
            data = self._bytes(name)
            with corrupt_at(path):
                found = decode_manifest(data, buckets=buckets, is_reduced=is_reduced)
            self.cache.put(path + _SEEN, True, _MARK_BYTES)
            return found
        if known is None:
            known = self.read_manifest(name, is_reduced=is_reduced)
        return _of_buckets(cast("tuple[ManifestEntry, ...]", known), buckets)

    def _search(
        self, name: str, buckets: Collection[BucketId], *, is_reduced: bool, is_kept: bool = True
    ) -> list[ManifestEntry] | None:
        """Return the entries of some buckets in a sorted manifest; None if it is no such manifest."""
        if not is_sorted_manifest(name):
            return None
        path = self._paths.manifest(name)
        index, data = cast("ManifestIndex | None", self.cache.get(path + _INDEX)), None
        if index is None:
            data = self._bytes(name)
            with corrupt_at(path):
                index = index_of(data)
            if index is None:
                return None
            self.cache.put(path + _INDEX, index, _INDEX_BYTES + _PLACE_BYTES * len(index.blocks))

        def read(number: int) -> bytes:
            ((_, packed),) = self._blocks(name, index, [number], data)
            return packed

        try:
            if data and self._file_io.parallel_reads > 1:
                # Of a distant store each block would later be a request of its own.
                index.know_all(read)
            numbers = index.holding(buckets, read)
        except CorruptData as error:
            # Not `corrupt_at`: blocks are read meanwhile, and what storage raises is no damage.
            message = f"{path}: {error}"
            raise CorruptData(message) from error
        entries: dict[int, list[ManifestEntry]] = {}
        missing: list[int] = []
        for number in numbers:
            known = self.cache.get(_block_key(path, number, is_reduced=is_reduced))
            entries[number] = cast("list[ManifestEntry]", known or [])
            missing += [] if known else [number]
        for number, packed in self._blocks(name, index, missing, data):
            with corrupt_at(path):
                decoded = index.decode(number, packed, is_reduced=is_reduced)
            if is_kept:
                key = _block_key(path, number, is_reduced=is_reduced)
                self.cache.put(key, decoded, entries_bytes(decoded))
            entries[number] = decoded
        return [entry for block in entries.values() for entry in _of_buckets(block, buckets)]

    def _blocks(
        self, name: str, index: ManifestIndex, numbers: Sequence[int], data: bytes | None
    ) -> Iterator[tuple[int, bytes]]:
        """Yield some blocks of a manifest, compressed; `data` is the whole file, None: consecutive ones are read at once."""
        start = 0
        while start < len(numbers):
            end = start + 1
            while end < len(numbers) and numbers[end] == numbers[end - 1] + 1:
                end += 1
            places = [index.blocks[number] for number in numbers[start:end]]
            first = places[0].offset
            size = places[-1].offset + places[-1].size - first
            part = data[first : first + size] if data else self._range(name, first, size)
            for number, place in zip(numbers[start:end], places, strict=True):
                yield number, part[place.offset - first : place.offset - first + place.size]
            start = end

    def read_uncached(self, name: str, buckets: Collection[BucketId]) -> list[ManifestEntry]:
        """Return the entries of some buckets with whole statistics; entries that are not cached yet stay uncached.

        Raises:
            As `read_manifest`.
        """
        path = self._paths.manifest(name)
        known = cast("tuple[ManifestEntry, ...] | None", self.cache.get(path))
        if known is not None:
            return _of_buckets(known, buckets)
        found = self._search(name, buckets, is_reduced=False, is_kept=False)
        if found is not None:
            return found
        data = self._bytes(name)
        with corrupt_at(path):
            return decode_manifest(data, buckets=buckets)

    def read_records(self, name: str) -> list[ManifestRecord]:
        """Return the records of a manifest, in file order, to write them into others; they are not cached.

        Raises:
            As `read_manifest`.
        """
        path = self._paths.manifest(name)
        data = self._bytes(name)
        with corrupt_at(path):
            return read_records(data)

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
        """Write one manifest of new entries; as `write_records`."""
        return self.write_records(
            name,
            new_records(entries),
            partition_fields=partition_fields,
            compression=compression,
        )

    def write_records(
        self,
        name: str,
        records: Sequence[ManifestRecord],
        *,
        partition_fields: Sequence[DataField],
        compression: str,
    ) -> ManifestFileMeta:
        """Write one manifest, durable on return, and return its description for a manifest list.

        Large ones are not cached, because they would evict what readers need; nor are parts, which are not merged
        soon, and those whose statistics are reduced.
        """
        data = write_records(records, compression)
        self._file_io.write_new(self._paths.manifest(name), data)
        entries = tuple(record.entry for record in records)
        size = entries_bytes(entries)
        is_whole = not any(isinstance(e.file.value_stats, ReducedStats) for e in entries)
        if is_whole and size <= _KEPT_BYTES_MAX and not is_manifest_part(name):
            self._remember(name, entries, size)
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
        path = self._paths.manifest(name)
        index = cast("ManifestIndex | None", self.cache.get(path + _INDEX))
        for number in range(0 if index is None else len(index.blocks)):
            self.cache.remove(_block_key(path, number, is_reduced=False))
            self.cache.remove(_block_key(path, number, is_reduced=True))
        for part in ("", _REDUCED, _SEEN, _INDEX):
            self.cache.remove(path + part)
        return self._file_io.delete(path)

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
            raise _gone(path) from error

    def _range(self, name: str, offset: int, length: int) -> bytes:
        path = self._paths.manifest(name)
        try:
            return self._file_io.read_range(path, offset, length)
        except FileNotFoundError as error:
            raise _gone(path) from error


def _block_key(path: str, number: int, *, is_reduced: bool) -> str:
    return f"{path}{_BLOCK}{number}{_REDUCED if is_reduced else ''}"


def _of_buckets(
    entries: Sequence[ManifestEntry], buckets: Collection[BucketId]
) -> list[ManifestEntry]:
    return [entry for entry in entries if (entry.partition, entry.bucket) in buckets]


def _gone(path: str) -> ManifestGone:
    message = (
        f"manifest {path} is absent: the snapshot that references it "
        "has expired\nhint: read a newer snapshot"
    )
    return ManifestGone(message)
