"""Manifest lists: descriptions of manifests, as an Avro file.

A snapshot has a list of the manifests from before its commit, and a list of the manifests with its
own changes. If it has changelog files, it also has a list of the manifests of these files. The
description of a manifest has bounds of its entries, so that a reader can skip manifests that it
does not need; `describe_manifest` computes the description.

The lists of successive snapshots begin with the same descriptions, so blocks are small: a reader decodes those that
it has not seen.

Source: table-format 5.1.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from braid.lake.format.avro.container import (
    AvroBlock,
    EntryKind,
    read_blocks,
    record_encoder,
    write_container,
)
from braid.lake.format.avro.resolution import WrittenSchema
from braid.lake.format.avro.schemas import MANIFEST_LIST
from braid.lake.format.binary_row import decode_row, decode_rows
from braid.lake.format.data_file_codec import stats_of, stats_record
from braid.lake.format.data_types import DataField
from braid.lake.format.manifest import FileKind, ManifestEntry
from braid.lake.format.statistics import SimpleStats, collect_statistics

_VERSION: Final = 2
_ENCODED_MAX: Final = 1 << 13
"""Encoded descriptions that are kept, some 150 bytes each: the list of a commit has nearly all of the list before."""
_BLOCK_BYTES: Final = 1 << 12
_BLOCKS_MAX: Final = 256
_KEPT_BYTES_MAX: Final = 1 << 12
"""Compressed size up to which a decoded block is kept: a block of this engine has some forty descriptions in less than half of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestFileMeta:
    """The description of one manifest in a manifest list.

    Attributes:
        file_name: Name only, inside `manifest/`.
        file_size: Bytes.
        num_added_files: Number of entries of kind ADD.
        num_deleted_files: Number of entries of kind DELETE.
        partition_stats: Statistics of the partition columns over all entries.
        schema_id: Highest schema id of the entries.
        min_bucket: Lowest bucket of the entries; None when unknown.
        max_bucket: Highest bucket of the entries; None when unknown.
        min_level: Lowest level of the entries; None when unknown.
        max_level: Highest level of the entries; None when unknown.
    """

    file_name: str
    file_size: int
    num_added_files: int
    num_deleted_files: int
    partition_stats: SimpleStats
    schema_id: int
    min_bucket: int | None = None
    max_bucket: int | None = None
    min_level: int | None = None
    max_level: int | None = None


def describe_manifest(
    file_name: str,
    file_size: int,
    entries: Sequence[ManifestEntry],
    partition_fields: Sequence[DataField],
) -> ManifestFileMeta:
    """Return the description of a manifest that has `entries`, at least one."""
    assert entries, "a manifest without entries is not written"
    added = sum(entry.kind is FileKind.ADD for entry in entries)
    buckets = [entry.bucket for entry in entries]
    levels = [entry.file.level for entry in entries]
    return ManifestFileMeta(
        file_name=file_name,
        file_size=file_size,
        num_added_files=added,
        num_deleted_files=len(entries) - added,
        partition_stats=_partition_stats(entries, partition_fields),
        schema_id=max(entry.file.schema_id for entry in entries),
        min_bucket=min(buckets),
        max_bucket=max(buckets),
        min_level=min(levels),
        max_level=max(levels),
    )


def encode_manifest_list(
    manifests: Sequence[ManifestFileMeta], compression: str = "zstandard"
) -> bytes:
    """Return the bytes of a manifest list, which may be empty.

    Args:
        manifests: Descriptions of the manifests, in a base list the oldest first.
        compression: `zstandard`, `deflate` or `null`.

    Raises:
        InvalidRequest: The compression is not one of these.
    """
    records = map(_encode, manifests)
    return write_container(MANIFEST_LIST, records, compression, block_bytes=_BLOCK_BYTES)


def decode_manifest_list(data: bytes) -> list[ManifestFileMeta]:
    """Return the manifests of a list, in file order (oldest first in a base list).

    Raises:
        CorruptData: The bytes are not an Avro file, or it lacks fields of a manifest list.
        UnsupportedFeature: An entry has another version, or this version does not support the codec.
    """
    written, blocks = read_blocks(data, what=_ENTRIES.what)
    return [
        manifest
        for block in blocks
        for manifest in (
            _known_block(written, block.codec, block.count, block.compressed)
            if len(block.compressed) <= _KEPT_BYTES_MAX
            else _ENTRIES.decode(written, [block])
        )
    ]


@lru_cache(maxsize=_BLOCKS_MAX)
def _known_block(
    written: WrittenSchema, codec: str, count: int, compressed: bytes
) -> tuple[ManifestFileMeta, ...]:
    block = AvroBlock(count=count, compressed=compressed, codec=codec)
    return tuple(_ENTRIES.decode(written, [block]))


def _partition_stats(entries: Sequence[ManifestEntry], fields: Sequence[DataField]) -> SimpleStats:
    # Bounds are computed over the distinct partitions, which are far fewer than the entries.
    partitions = sorted({entry.partition for entry in entries})
    stats = collect_statistics(decode_rows(partitions, fields), fields, truncate=None)
    if not fields:
        return stats
    # Nulls are counted per entry and not per distinct partition, as by other writers.
    entry_counts = Counter(entry.partition for entry in entries)
    rows = [decode_row(partition, fields) for partition in partitions]
    weights = [entry_counts[partition] for partition in partitions]
    null_counts = tuple(
        sum(weight for row, weight in zip(rows, weights, strict=True) if row[index] is None)
        for index in range(len(fields))
    )
    return replace(stats, null_counts=null_counts)


_encode_record: Final = record_encoder(MANIFEST_LIST)


@lru_cache(maxsize=_ENCODED_MAX)
def _encode(manifest: ManifestFileMeta) -> bytes:
    return _encode_record(_record_of(manifest))


def _record_of(manifest: ManifestFileMeta) -> dict[str, object]:
    return {
        "_VERSION": _VERSION,
        "_FILE_NAME": manifest.file_name,
        "_FILE_SIZE": manifest.file_size,
        "_NUM_ADDED_FILES": manifest.num_added_files,
        "_NUM_DELETED_FILES": manifest.num_deleted_files,
        "_PARTITION_STATS": stats_record(manifest.partition_stats),
        "_SCHEMA_ID": manifest.schema_id,
        "_MIN_BUCKET": manifest.min_bucket,
        "_MAX_BUCKET": manifest.max_bucket,
        "_MIN_LEVEL": manifest.min_level,
        "_MAX_LEVEL": manifest.max_level,
        "_MIN_ROW_ID": None,
        "_MAX_ROW_ID": None,
    }


def _manifest_of(record: Mapping[str, Any]) -> ManifestFileMeta:
    return ManifestFileMeta(
        file_name=record["_FILE_NAME"],
        file_size=record["_FILE_SIZE"],
        num_added_files=record["_NUM_ADDED_FILES"],
        num_deleted_files=record["_NUM_DELETED_FILES"],
        partition_stats=stats_of(record["_PARTITION_STATS"]),
        schema_id=record["_SCHEMA_ID"],
        min_bucket=record["_MIN_BUCKET"],
        max_bucket=record["_MAX_BUCKET"],
        min_level=record["_MIN_LEVEL"],
        max_level=record["_MAX_LEVEL"],
    )


_ENTRIES: Final = EntryKind(
    what="manifest list", version=_VERSION, schema=MANIFEST_LIST, entry_of=_manifest_of
)
