"""Dynamic buckets: routing by the hash index of a snapshot, and the index files with new keys.

The hash index of a snapshot maps the hash of each key to its bucket, and rows are routed by it. New keys are added,
and the commit replaces the index files of the buckets that got new keys. Of two concurrent writers neither knows the
new keys of the other, so one key could get into two buckets. Therefore a commit is valid only while the table still
has the index by which its rows were routed. `CommitMessage.index_base` names that index, and
`braid.lake.commit.conflict` compares it. `partition_buckets` decides which bucket a new key gets.

Source: table-format 15.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from braid.lake.errors import CorruptData
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.bucket import Int32Array
from braid.lake.format.corruption import corrupt_at
from braid.lake.format.indexes.hash_index import decode_hash_index, encode_hash_index
from braid.lake.format.indexes.index_manifest import HASH_INDEX, IndexManifestEntry
from braid.lake.format.schema import TableSchema
from braid.lake.write.buckets.partition_buckets import PartitionBuckets


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingIndex:
    """The index of one partition, for its commit messages.

    Attributes:
        base: Names of the index files that the rows were routed by, sorted.
        new: By bucket, its new index file, which replaces the one that the bucket had, if any.
    """

    base: tuple[str, ...]
    new: Mapping[int, IndexManifestEntry]


class DynamicBuckets:
    """Assigns the rows of one writer to buckets; reads the index of a partition with its first row.

    Memory: 6 bytes for each key of the partitions written to.
    """

    def __init__(
        self,
        file_io: FileIO,
        paths: TablePaths,
        schema: TableSchema,
        indexes: Iterable[IndexManifestEntry],
    ) -> None:
        """Begin with the index of a snapshot.

        Args:
            file_io: Storage.
            paths: The table's paths.
            schema: The table's schema.
            indexes: All index files of the snapshot; others than hash indexes are ignored.
        """
        self._file_io = file_io
        self._paths = paths
        self._options = schema.table_options
        self._entries: dict[bytes, dict[int, IndexManifestEntry]] = {}
        for entry in indexes:
            if entry.index_type == HASH_INDEX:
                self._entries.setdefault(entry.partition, {})[entry.bucket] = entry
        self._partitions: dict[bytes, PartitionBuckets] = {}

    def assign(self, partition: bytes, hashes: Int32Array) -> Int32Array:
        """Return the bucket of each key of a partition, by its hash (see `PartitionBuckets`).

        Raises:
            CorruptData: An index file is absent or does not match its entry.
            LimitExceeded: The partition needs more buckets than the format can number.
        """
        buckets = self._partitions.get(partition)
        if buckets is None:
            buckets = self._partitions[partition] = PartitionBuckets(
                {
                    bucket: self._read(entry)
                    for bucket, entry in self._entries.get(partition, {}).items()
                },
                target_rows=self._options.dynamic_bucket_target_row_num,
                buckets_max=self._options.dynamic_bucket_max_buckets,
            )
        return buckets.assign(hashes)

    def write_indexes(
        self, partition: bytes, *, new_name: Callable[[], str], on_new_file: Callable[[str], None]
    ) -> RoutingIndex:
        """Write the indexes of the partition's buckets that got keys since the last call.

        Rows that are routed afterwards depend on these index files, so those rows are valid only if
        the files are committed first.

        Args:
            partition: A partition that rows were routed to.
            new_name: Returns a unique file name.
            on_new_file: Called with the path of each file before it is written, for cleaning up.
        """
        # The base is read before `entries` is updated: it names the files that the rows were routed by.
        entries = self._entries.setdefault(partition, {})
        base = tuple(sorted(entry.file_name for entry in entries.values()))
        new: dict[int, IndexManifestEntry] = {}
        assert partition in self._partitions, "rows of the partition were routed before"
        buckets = self._partitions[partition]
        for bucket, hashes in buckets.changed_hashes().items():
            name = new_name()
            path = self._paths.index(name)
            data = encode_hash_index(hashes)
            on_new_file(path)
            self._file_io.write_new(path, data)
            new[bucket] = IndexManifestEntry(
                partition=partition,
                bucket=bucket,
                index_type=HASH_INDEX,
                file_name=name,
                file_size=len(data),
                row_count=len(hashes),
            )
        # Only after all are written: if one write fails, the next call writes them all again.
        buckets.mark_written()
        entries.update(new)
        return RoutingIndex(base=base, new=new)

    def _read(self, entry: IndexManifestEntry) -> Int32Array:
        path = entry.external_path or self._paths.index(entry.file_name)
        try:
            data = self._file_io.read_bytes(path)
        except FileNotFoundError as error:
            message = (
                f"index file {path} does not exist, although a manifest lists it\n"
                "hint: its snapshot may have expired while the writer was opened; open it again"
            )
            raise CorruptData(message) from error
        with corrupt_at(path):
            hashes = decode_hash_index(data)
        if len(hashes) != entry.row_count:
            message = f"index file {path} has {len(hashes)} hashes, expected {entry.row_count}"
            raise CorruptData(message)
        return hashes
