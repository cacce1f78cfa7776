"""The rows of a bucket that are marked as deleted: read, changed, written anew.

A snapshot has one index file for each bucket with marked rows, and it holds the vectors of all data
files of that bucket. A compaction that changes any of them writes all of them into a new file, which
takes the place of the old one in the same commit (`VectorsChange`).

Source: table-format 14, merge-semantics 6.6.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from pyroaring import AbstractBitMap, FrozenBitMap

from lake.errors import CorruptData, UnsupportedFeature
from lake.files.paths import TablePaths
from lake.files.storage.file_io import FileIO
from lake.format.commit_message import VectorsChange
from lake.format.corruption import corrupt_at
from lake.format.indexes.deletion_vector import decode_deletion_vectors, encode_deletion_vectors
from lake.format.indexes.index_manifest import (
    DELETION_VECTORS_INDEX,
    DeletionVectorRange,
    IndexManifestEntry,
)
from lake.snapshots.lru_cache import LruCache

CACHE_BYTES: Final = 64 << 20
"""Bytes of index files whose vectors are kept, about."""

Vectors = Mapping[str, FrozenBitMap]
"""Positions of marked rows, 0-based in file order, by data file name; none of them empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketVectors:
    """The deletion vectors of one bucket at one snapshot.

    Attributes:
        entry: The index file they are in; None for a bucket without marked rows.
        vectors: Positions by data file name.
    """

    entry: IndexManifestEntry | None = None
    vectors: Vectors = field(default_factory=dict)

    @property
    def base(self) -> str | None:
        """Return the name of the index file, as commits compare it; None without one."""
        return None if self.entry is None else self.entry.file_name


NO_VECTORS: Final = BucketVectors()


def vector_entries(
    indexes: Iterable[IndexManifestEntry],
) -> dict[tuple[bytes, int], IndexManifestEntry]:
    """Return the index files with deletion vectors by partition and bucket.

    Args:
        indexes: All index files of a snapshot.

    Raises:
        UnsupportedFeature: A bucket has several, as only tables without a primary key have.
    """
    found: dict[tuple[bytes, int], IndexManifestEntry] = {}
    for entry in indexes:
        if entry.index_type != DELETION_VECTORS_INDEX:
            continue
        place = entry.partition, entry.bucket
        if place in found:
            text = (
                f"bucket {entry.bucket} has deletion vectors in {found[place].file_name} and in "
                f"{entry.file_name}, expected one file"
            )
            raise UnsupportedFeature(text)
        found[place] = entry
    return found


def change_vectors(
    before: Vectors, deleted: Mapping[str, AbstractBitMap], removed_files: Collection[str]
) -> dict[str, FrozenBitMap]:
    """Return the vectors of a bucket after more rows were marked and files went.

    Args:
        before: As they were.
        deleted: Further positions by data file name; those marked already may be among them.
        removed_files: Names of files that are no longer live; a file that only changes its level
            keeps its vector.

    Returns:
        New vectors, none of them empty; the arguments stay as they are.
    """
    after = dict(before)
    for name, positions in deleted.items():
        after[name] = after.get(name, FrozenBitMap()).union(positions)
    return {name: vector for name, vector in after.items() if vector and name not in removed_files}


class VectorStore:
    """Reads and writes the index files with deletion vectors; safe to share between threads.

    What was read once is kept, least recently used first to go, within `cache_bytes`.
    """

    def __init__(
        self, file_io: FileIO, paths: TablePaths, *, cache_bytes: int = CACHE_BYTES
    ) -> None:
        self._file_io = file_io
        self._paths = paths
        self._cache = LruCache(cache_bytes)
        self._cache_bytes = cache_bytes

    def __reduce__(self) -> tuple[partial["VectorStore"], tuple[()]]:
        """Return what another process needs; it reads anew."""
        anew = partial(VectorStore, self._file_io, self._paths, cache_bytes=self._cache_bytes)
        return anew, ()

    def read(self, entry: IndexManifestEntry | None) -> BucketVectors:
        """Return the vectors of one bucket.

        Args:
            entry: Of a snapshot's index manifest, of type `DELETION_VECTORS`; None for a bucket
                without one.

        Raises:
            CorruptData: The file is absent or is not what its entry says.
            UnsupportedFeature: Vectors of another version of the format.
        """
        if entry is None:
            return NO_VECTORS
        known: BucketVectors | None = self._cache.get(entry.file_name)
        if known is not None:
            return known
        path = self._path(entry)
        try:
            data = self._file_io.read_bytes(path)
        except FileNotFoundError as error:
            message = (
                f"index file {path} is listed but absent\n"
                "hint: was its snapshot expired while it was read"
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
            vectors: Positions by data file name, at least one, none of them empty.
            partition: Serialised partition row.
            bucket: Bucket number.
            name: Of the file; nobody else uses it.
            is_64_bit: Which form to write (`deletion-vectors.bitmap64`).

        Returns:
            The file's entry for the index manifest.

        Raises:
            StorageUnavailable: Storage refused; the file may be there or not.
        """
        assert vectors, "no vectors, no file"
        data, ranges = encode_deletion_vectors(vectors, is_64_bit=is_64_bit)
        self._file_io.write_new(self._paths.index(name), data)
        return IndexManifestEntry(
            partition=partition,
            bucket=bucket,
            index_type=DELETION_VECTORS_INDEX,
            file_name=name,
            file_size=len(data),
            row_count=len(ranges),
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
        """Write what has become of a bucket's vectors, if anything, and return what to commit.

        Args:
            before: As the compaction saw them.
            after: As they are to be, see `change_vectors`.
            partition: Serialised partition row.
            bucket: Bucket number.
            new_name: Gives a file name that nobody else uses; asked only when a file is written.
            on_new_file: Told the path of the file before it is written, for who cleans up.
            is_64_bit: Which form to write (`deletion-vectors.bitmap64`).

        Raises:
            StorageUnavailable: Storage refused; the file may be there or not.
        """
        if dict(after) == dict(before.vectors):
            return VectorsChange(base=before.base, new=before.entry)
        if not after:
            return VectorsChange(base=before.base, new=None)
        name = new_name()
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
