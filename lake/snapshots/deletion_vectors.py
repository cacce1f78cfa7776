"""Deletion vectors of buckets, which mark rows of data files as deleted: read from and written to index files.

A snapshot has one index file for each bucket with marked rows; the file holds the vectors of all data files of the
bucket. A compaction that changes any vector of a bucket writes all vectors of the bucket into a new file, which
replaces the old file in the same commit (`VectorsChange`).

Source: table-format 14, merge-semantics 6.6.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from pyroaring import AbstractBitMap, FrozenBitMap

from braid.lake.errors import CorruptData, UnsupportedFeature
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.commit_message import VectorsChange
from braid.lake.format.corruption import corrupt_at
from braid.lake.format.indexes.deletion_vector import (
    decode_deletion_vectors,
    encode_deletion_vectors,
)
from braid.lake.format.indexes.index_manifest import (
    DELETION_VECTORS_INDEX,
    DeletionVectorRange,
    IndexManifestEntry,
)
from braid.lake.snapshots.lru_cache import LruCache

CACHE_BYTES: Final = 64 << 20
"""Approximate bound of the cached vectors, in bytes of their index files."""

Vectors = Mapping[str, FrozenBitMap]
"""Positions of marked rows, 0-based in file order, by data file name; none of them empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketVectors:
    """The deletion vectors of one bucket at one snapshot.

    Attributes:
        entry: The index file that holds the vectors; None for a bucket without marked rows.
        vectors: Positions of marked rows, by data file name.
    """

    entry: IndexManifestEntry | None = None
    vectors: Vectors = field(default_factory=dict)

    @property
    def base(self) -> str | None:
        """Return the name of the index file, by which commits detect a conflict; None without a file."""
        return None if self.entry is None else self.entry.file_name


NO_VECTORS: Final = BucketVectors()


def vector_entries(
    indexes: Iterable[IndexManifestEntry],
) -> dict[tuple[bytes, int], IndexManifestEntry]:
    """Return the index files with deletion vectors by partition and bucket.

    Args:
        indexes: All index files of a snapshot.

    Raises:
        UnsupportedFeature: A bucket has several files, which happens only without a primary key.
    """
    found: dict[tuple[bytes, int], IndexManifestEntry] = {}
    for entry in indexes:
        if entry.index_type != DELETION_VECTORS_INDEX:
            continue
        bucket_id = entry.partition, entry.bucket
        if bucket_id in found:
            text = (
                f"bucket {entry.bucket} has deletion vectors in {found[bucket_id].file_name} and in "
                f"{entry.file_name}, expected one file"
            )
            raise UnsupportedFeature(text)
        found[bucket_id] = entry
    return found


def change_vectors(
    before: Vectors, deleted: Mapping[str, AbstractBitMap], removed_files: Collection[str]
) -> dict[str, FrozenBitMap]:
    """Return the vectors of a bucket after more rows were marked and files were removed.

    Args:
        before: The vectors before the change.
        deleted: Positions to mark, by data file name; may include positions that are marked already.
        removed_files: Names of files that are no longer live; a file that only changes its level
            keeps its vector.

    Returns:
        New vectors, none of them empty; the arguments are not changed.
    """
    after = dict(before)
    for name, positions in deleted.items():
        # `union` returns a new vector: cached ones are shared between readers.
        after[name] = after.get(name, FrozenBitMap()).union(positions)
    # A vector of a removed file would mark rows that do not exist, and an empty one must not be written.
    return {name: vector for name, vector in after.items() if vector and name not in removed_files}


class VectorStore:
    """Reads and writes the index files with deletion vectors; safe to share between threads.

    Keeps what it has read in an LRU cache of `cache_bytes`.
    """

    def __init__(
        self, file_io: FileIO, paths: TablePaths, *, cache_bytes: int = CACHE_BYTES
    ) -> None:
        self._file_io = file_io
        self._paths = paths
        self._cache = LruCache(cache_bytes)
        self._cache_bytes = cache_bytes

    def __reduce__(self) -> tuple[partial["VectorStore"], tuple[()]]:
        """Return a store for another process, with an empty cache."""
        empty = partial(VectorStore, self._file_io, self._paths, cache_bytes=self._cache_bytes)
        return empty, ()

    def read(self, entry: IndexManifestEntry | None) -> BucketVectors:
        """Return the vectors of one bucket.

        Args:
            entry: Entry of a snapshot's index manifest, of type `DELETION_VECTORS`; None for a bucket
                without such an entry.

        Raises:
            CorruptData: The file is absent or does not match its entry.
            UnsupportedFeature: The vectors are of another version of the format.
        """
        if entry is None:
            return NO_VECTORS
        assert entry.index_type == DELETION_VECTORS_INDEX, entry.index_type
        # Names are unique and files immutable, so the name is the whole key.
        known: BucketVectors | None = self._cache.get(entry.file_name)
        if known is not None:
            return known
        path = self._path(entry)
        try:
            data = self._file_io.read_bytes(path)
        except FileNotFoundError as error:
            message = (
                f"index file {path} does not exist, although a manifest lists it\n"
                "hint: its snapshot may have expired while it was read; read a newer one"
            )
            raise CorruptData(message) from error
        with corrupt_at(path):
            vectors = decode_deletion_vectors(data, _ranges(entry))
        read = BucketVectors(entry=entry, vectors=vectors)
        self._cache.put(entry.file_name, read, len(data))
        return read

    def write(
        self,
        vectors: Mapping[str, AbstractBitMap],
        *,
        partition: bytes,
        bucket: int,
        name: str,
        is_64_bit: bool,
    ) -> IndexManifestEntry:
        """Write all vectors of a bucket into a new file, durable on return.

        Args:
            vectors: Positions by data file name: at least one vector, and none of them empty.
            partition: Serialised partition row.
            bucket: Bucket number.
            name: Name of the file, unique.
            is_64_bit: Form of the bitmaps (`deletion-vectors.bitmap64`).

        Returns:
            The file's entry for the index manifest.

        Raises:
            StorageUnavailable: Storage refused; the file may or may not exist.
        """
        assert vectors, "a bucket without marked rows has no file"
        data, ranges = encode_deletion_vectors(vectors, is_64_bit=is_64_bit)
        assert len(ranges) == len(vectors), "one range per vector"
        self._file_io.write_new(self._paths.index(name), data)
        return IndexManifestEntry(
            partition=partition,
            bucket=bucket,
            index_type=DELETION_VECTORS_INDEX,
            file_name=name,
            file_size=len(data),
            row_count=len(ranges),  # in the format: number of vectors
            deletion_vector_ranges=ranges,
        )

    def write_change(
        self,
        before: BucketVectors,
        after: Mapping[str, AbstractBitMap],
        *,
        partition: bytes,
        bucket: int,
        new_name: Callable[[], str],
        on_new_file: Callable[[str], None],
        is_64_bit: bool,
    ) -> VectorsChange:
        """Write the vectors of a bucket if they have changed, and return the change to commit.

        Args:
            before: The vectors that the compaction read.
            after: The vectors after the compaction, from `change_vectors`.
            partition: Serialised partition row.
            bucket: Bucket number.
            new_name: Returns a unique file name; called only when a file is written.
            on_new_file: Called with the path of the file before it is written, for cleaning up.
            is_64_bit: Form of the bitmaps (`deletion-vectors.bitmap64`).

        Raises:
            StorageUnavailable: Storage refused; the file may or may not exist.
        """
        if dict(after) == dict(before.vectors):
            # Still a change to commit: its base makes a concurrent change of the vectors a conflict,
            # since the compacted files have left out the rows that were marked in `before`.
            return VectorsChange(base=before.base, new=before.entry)
        if not after:
            return VectorsChange(base=before.base, new=None)
        name = new_name()
        # Before the write: a write that fails may still have created the file.
        on_new_file(self._paths.index(name))
        entry = self.write(
            after, partition=partition, bucket=bucket, name=name, is_64_bit=is_64_bit
        )
        return VectorsChange(base=before.base, new=entry)

    def _path(self, entry: IndexManifestEntry) -> str:
        return entry.external_path or self._paths.index(entry.file_name)


def _ranges(entry: IndexManifestEntry) -> Iterable[DeletionVectorRange]:
    if entry.deletion_vector_ranges is None:
        message = f"index file {entry.file_name} has no ranges in its manifest entry"
        raise CorruptData(message)
    return entry.deletion_vector_ranges
