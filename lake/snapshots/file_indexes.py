"""The bloom filters in the indexes of data files, read and cached.

A small index is embedded in the manifest entry of its data file; a larger one is a file beside the data file,
which costs one read of storage.

Source: table-format 16.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

import numpy as np

from braid.lake.errors import CorruptData
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.corruption import corrupt_at
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.indexes.bloom_filter import BloomFilter, decode_bloom_filter
from braid.lake.format.indexes.file_index import BLOOM_FILTER, FILE_INDEX_SUFFIX, decode_file_index
from braid.lake.snapshots.lru_cache import LruCache

CACHE_BYTES: Final = 64 << 20
"""Approximate bound of the cached indexes, in bytes of their files."""

Filters = Mapping[str, BloomFilter]
"""Bloom filters by the names that columns had when the file was written."""

NO_FILTERS: Final[Filters] = MappingProxyType({})
# Without a set bit: excludes every value.
_NO_VALUES: Final = BloomFilter(functions=1, data=np.zeros(1, dtype=np.uint8))
_HINT: Final = "hint: `file-index.read.enabled` = false reads the table without its indexes"


def embedded_filters(file: DataFileMeta) -> Filters:
    """Return the filters that are embedded in a file's manifest entry.

    Raises:
        CorruptData: The bytes are not a file index.
    """
    if file.embedded_file_index is None:
        return NO_FILTERS
    return _decoded(file.embedded_file_index, f"the index of data file {file.file_name}")


class FileIndexStore:
    """Reads the filters of data files; safe to share between threads."""

    def __init__(self, file_io: FileIO, *, cache_bytes: int = CACHE_BYTES) -> None:
        """Create a store with an empty cache.

        Args:
            file_io: Storage.
            cache_bytes: Bound of the cache; the newest index is kept even if it alone is larger.
        """
        self._file_io = file_io
        self._cache = LruCache(cache_bytes)
        self._cache_bytes = cache_bytes

    def __reduce__(self) -> tuple[partial["FileIndexStore"], tuple[()]]:
        """Return a store for another process, with an empty cache."""
        return partial(FileIndexStore, self._file_io, cache_bytes=self._cache_bytes), ()

    def filters(self, path: str, file: DataFileMeta) -> Filters:
        """Return the filters of a file; empty if it has no index.

        Args:
            path: Path of the data file.
            file: Metadata of the data file, from its manifest entry.

        Raises:
            CorruptData: The index is absent or cannot be decoded.
            StorageUnavailable: Storage refused.
        """
        name = index_name(file)
        known: Filters | None = self._cache.get(path)
        if known is not None:
            return known
        if file.embedded_file_index is not None:
            found, size = embedded_filters(file), len(file.embedded_file_index)
        elif name is not None:
            found, size = self._read(f"{path.rpartition('/')[0]}/{name}")
        else:
            return NO_FILTERS
        self._cache.put(path, found, size)
        return found

    def _read(self, path: str) -> tuple[Filters, int]:
        try:
            data = self._file_io.read_bytes(path)
        except FileNotFoundError as error:
            message = f"file index {path} does not exist, although a manifest lists it\n{_HINT}"
            raise CorruptData(message) from error
        return _decoded(data, path), len(data)


def index_name(file: DataFileMeta) -> str | None:
    """Return the name of the index file beside a data file, or None if there is none.

    Raises:
        CorruptData: The data file has several index files.
    """
    names = [name for name in file.extra_files if name.endswith(FILE_INDEX_SUFFIX)]
    if len(names) > 1:
        message = f"data file {file.file_name} has several indexes: {', '.join(names)}"
        raise CorruptData(message)
    return names[0] if names else None


def _decoded(data: bytes, where: str) -> Filters:
    try:
        with corrupt_at(where):
            return {
                column: _NO_VALUES if body is None else decode_bloom_filter(body)
                for column, kinds in decode_file_index(data).items()
                for kind, body in kinds.items()
                if kind == BLOOM_FILTER
            }
    except CorruptData as error:
        message = f"{error}\n{_HINT}"
        raise CorruptData(message) from error
