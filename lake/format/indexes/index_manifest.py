"""Index manifests: every live index file of a snapshot, as an Avro file.

A commit that changes index files writes a whole new index manifest. The entry of a new index file
replaces the entry of the same bucket and type; the entry of a removed index file is left out. All other
entries stay as they are, including those of types that this version does not build.

Source: table-format 5.3, 14 and 15.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from braid.lake.format.avro.container import EntryKind, encode_records, write_container
from braid.lake.format.avro.schemas import INDEX_MANIFEST

DELETION_VECTORS_INDEX: Final = "DELETION_VECTORS"
HASH_INDEX: Final = "HASH"
_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionVectorRange:
    """The range of one data file's deletion vector in an index file.

    Attributes:
        data_file_name: The file whose rows are deleted.
        offset: Position of the vector in the index file, in bytes.
        length: Bytes of the vector; for 64 bits with its size and checksum (`deletion_vector`).
        cardinality: Deleted rows; None when unknown.
    """

    data_file_name: str
    offset: int
    length: int
    cardinality: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalIndexMeta:
    """The part of an entry that only global indexes have.

    Attributes:
        row_range_start: First row id covered.
        row_range_end: Last row id covered.
        index_field_id: Id of the indexed column.
        extra_field_ids: Ids of further columns.
        index_meta: Bytes that this engine does not interpret.
        source_meta: Bytes that this engine does not interpret.
    """

    row_range_start: int
    row_range_end: int
    index_field_id: int
    extra_field_ids: tuple[int, ...] | None = None
    index_meta: bytes | None = None
    source_meta: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexManifestEntry:
    """One live index file.

    Attributes:
        kind: Always 0 in committed files.
        partition: Serialised binary row of the partition columns.
        bucket: 0 and up.
        index_type: `DELETION_VECTORS`, `HASH`, or the name of a global index.
        file_name: Name only, inside `index/`.
        file_size: Bytes.
        row_count: Number of deletion vectors or hashes in the file.
        deletion_vector_ranges: Ranges of the vectors, for `DELETION_VECTORS`; else None.
        external_path: Whole path of an index file outside the table.
        global_index: The part that only global indexes have; else None.
    """

    kind: int = 0
    partition: bytes
    bucket: int
    index_type: str
    file_name: str
    file_size: int
    row_count: int
    deletion_vector_ranges: tuple[DeletionVectorRange, ...] | None = None
    external_path: str | None = None
    global_index: GlobalIndexMeta | None = None


IndexKey: TypeAlias = tuple[bytes, int, str]
"""Serialised partition row, bucket number and index type."""


def index_key(entry: IndexManifestEntry) -> IndexKey:
    """Return the key of an index.

    A snapshot has at most one index of deletion vectors, and one hash index, per key.
    """
    return entry.partition, entry.bucket, entry.index_type


def replace_indexes(
    entries: Sequence[IndexManifestEntry],
    new: Sequence[IndexManifestEntry],
    removed: Collection[IndexKey] = (),
) -> tuple[IndexManifestEntry, ...]:
    """Return the entries, where each new entry replaces the one of the same key.

    Args:
        entries: Entries of the previous snapshot.
        new: Entries of new index files.
        removed: Keys of the indexes to remove.
    """
    replaced = {index_key(entry) for entry in new} | set(removed)
    return (*(entry for entry in entries if index_key(entry) not in replaced), *new)


def encode_index_manifest(
    entries: Sequence[IndexManifestEntry], compression: str = "zstandard"
) -> bytes:
    """Return the bytes of an index manifest with the entries in the given order.

    Raises:
        InvalidRequest: The compression is not `zstandard`, `deflate` or `null`.
    """
    records = encode_records(INDEX_MANIFEST, map(_record_of, entries))
    return write_container(INDEX_MANIFEST, records, compression)


def decode_index_manifest(data: bytes) -> list[IndexManifestEntry]:
    """Return the entries of an index manifest, in file order.

    Raises:
        CorruptData: The bytes are not an Avro file, or it lacks fields of an index manifest.
        UnsupportedFeature: An entry has another version, or this version does not support the codec.
    """
    return _ENTRIES.read(data)


def _record_of(entry: IndexManifestEntry) -> dict[str, object]:
    ranges = entry.deletion_vector_ranges
    return {
        "_VERSION": _VERSION,
        "_KIND": entry.kind,
        "_PARTITION": entry.partition,
        "_BUCKET": entry.bucket,
        "_INDEX_TYPE": entry.index_type,
        "_FILE_NAME": entry.file_name,
        "_FILE_SIZE": entry.file_size,
        "_ROW_COUNT": entry.row_count,
        "_DELETIONS_VECTORS_RANGES": (
            None if ranges is None else [_range_record(vector) for vector in ranges]
        ),
        "_EXTERNAL_PATH": entry.external_path,
        "_GLOBAL_INDEX": entry.global_index and _global_index_record(entry.global_index),
    }


def _range_record(vector: DeletionVectorRange) -> dict[str, object]:
    return {
        "f0": vector.data_file_name,
        "f1": vector.offset,
        "f2": vector.length,
        "_CARDINALITY": vector.cardinality,
    }


def _global_index_record(index: GlobalIndexMeta) -> dict[str, object]:
    extra = index.extra_field_ids
    return {
        "_ROW_RANGE_START": index.row_range_start,
        "_ROW_RANGE_END": index.row_range_end,
        "_INDEX_FIELD_ID": index.index_field_id,
        "_EXTRA_FIELD_IDS": None if extra is None else list(extra),
        "_INDEX_META": index.index_meta,
        "_SOURCE_META": index.source_meta,
    }


def _entry_of(record: Mapping[str, Any]) -> IndexManifestEntry:
    ranges = record["_DELETIONS_VECTORS_RANGES"]
    index = record["_GLOBAL_INDEX"]
    return IndexManifestEntry(
        kind=record["_KIND"],
        partition=record["_PARTITION"],
        bucket=record["_BUCKET"],
        index_type=record["_INDEX_TYPE"],
        file_name=record["_FILE_NAME"],
        file_size=record["_FILE_SIZE"],
        row_count=record["_ROW_COUNT"],
        deletion_vector_ranges=None if ranges is None else tuple(map(_range_of, ranges)),
        external_path=record["_EXTERNAL_PATH"],
        global_index=index and _global_index_of(index),
    )


def _range_of(record: Mapping[str, Any]) -> DeletionVectorRange:
    return DeletionVectorRange(
        data_file_name=record["f0"],
        offset=record["f1"],
        length=record["f2"],
        cardinality=record["_CARDINALITY"],
    )


def _global_index_of(record: Mapping[str, Any]) -> GlobalIndexMeta:
    extra = record["_EXTRA_FIELD_IDS"]
    return GlobalIndexMeta(
        row_range_start=record["_ROW_RANGE_START"],
        row_range_end=record["_ROW_RANGE_END"],
        index_field_id=record["_INDEX_FIELD_ID"],
        extra_field_ids=None if extra is None else tuple(extra),
        index_meta=record["_INDEX_META"],
        source_meta=record["_SOURCE_META"],
    )


_ENTRIES: Final = EntryKind(
    what="index manifest", version=_VERSION, schema=INDEX_MANIFEST, entry_of=_entry_of
)
