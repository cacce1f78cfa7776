"""Manifests: data files added to and deleted from a table, as Avro files.

The state of a table is the set of added files, except files for which there is a delete entry with the same
identity. The order of the entries does not matter. Entries of files outside the table, and of tables with row
tracking or data evolution, are refused when they are read.

Source: table-format 5.2 and 6.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache
from typing import Any, Final

from braid.lake.errors import CorruptData, UnsupportedFeature
from braid.lake.format.avro.binary import AvroDecoder, encode_bytes, encode_long
from braid.lake.format.avro.container import (
    SCHEMAS_KEPT,
    EntryKind,
    read_blocks,
    write_container,
)
from braid.lake.format.avro.resolution import WrittenSchema
from braid.lake.format.avro.schemas import MANIFEST, layout
from braid.lake.format.bucket import BucketId
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.data_file_codec import (
    FIELD_COUNT_MIN,
    data_file_of,
    decode_data_file,
    encode_data_file,
    skip_data_file,
)
from braid.lake.format.statistics import reduced

# Partition, bucket, level, file name, extra files, embedded index, external path.
FileIdentity = tuple[bytes, int, int, str, tuple[str, ...], bytes | None, str | None]


class FileKind(IntEnum):
    """Whether an entry adds a file to the table or removes it."""

    ADD = 0
    DELETE = 1


_WHAT: Final = "manifest"
_VERSION: Final = 2
_ENCODED_VERSION: Final = encode_long(_VERSION)
_KINDS: Final = {kind.value: kind for kind in FileKind}


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestEntry:
    """The addition or deletion of one file.

    Attributes:
        kind: Whether the file is added or deleted.
        partition: Serialised binary row of the partition columns; `EMPTY_ROW` without any.
        bucket: 0 and up.
        total_buckets: Bucket count of the table when the file was written; -1 for dynamic buckets.
        file: The file.
    """

    kind: FileKind
    partition: bytes
    bucket: int
    total_buckets: int
    file: DataFileMeta

    @property
    def identity(self) -> FileIdentity:
        """Return the key by which an ADD and a DELETE cancel; it includes the level."""
        file = self.file
        return (
            self.partition,
            self.bucket,
            file.level,
            file.file_name,
            file.extra_files,
            file.embedded_file_index,
            file.external_path,
        )


def encode_manifest(entries: Sequence[ManifestEntry], compression: str = "zstandard") -> bytes:
    """Return the bytes of a manifest file with the entries in the given order.

    Args:
        entries: Any number, including none.
        compression: `zstandard`, `deflate` or `null`.

    Raises:
        InvalidRequest: The compression is not one of these.
    """
    return write_container(MANIFEST, map(_encode_entry, entries), compression)


def decode_manifest(
    data: bytes,
    *,
    buckets: Collection[BucketId] | None = None,
    is_reduced: bool = False,
    is_sorted: bool = False,
) -> list[ManifestEntry]:
    """Return the entries of a manifest file, in file order.

    Args:
        data: The file.
        buckets: Only entries of these buckets are decoded; None: all.
        is_reduced: Whether large value statistics are reduced (`ReducedStats`).
        is_sorted: Whether the entries of a partition are together, and sorted by bucket. Blocks that
            cannot have entries of `buckets` are not decoded then.

    Raises:
        CorruptData: The bytes are not an Avro file, or it lacks fields of a manifest.
        UnsupportedFeature: A file is outside the table, or belongs to a table with row
            tracking or data evolution; or this version does not support the version of an entry or
            the codec.
    """
    schema, blocks = read_blocks(data, what=_WHAT)
    # The layout that this engine and Java write has its own codec, because the general codec spends most of its
    # time on decoding unions.
    field_count = _data_file_field_count(schema)
    if field_count is None:
        entries = [
            _reduced(entry) if is_reduced else entry
            for entry in _ENTRIES.decode(schema, blocks)
            if buckets is None or (entry.partition, entry.bucket) in buckets
        ]
    else:
        try:
            decoders = [(block.count, AvroDecoder(block.data(what=_WHAT))) for block in blocks]
            if buckets is not None and is_sorted:
                decoders = _blocks_with(decoders, buckets)
            entries = [
                entry
                for count, decoder in decoders
                for entry in _decode_block(
                    decoder, count, field_count, buckets, is_reduced=is_reduced
                )
            ]
        except (IndexError, UnicodeDecodeError) as error:
            text = f"{_WHAT} of {len(data)} bytes cannot be read: {error}"
            raise CorruptData(text) from error
    for entry in entries:
        _check_supported(entry.file)
    return entries


def _encode_entry(entry: ManifestEntry) -> bytes:
    out = [_ENCODED_VERSION, encode_long(entry.kind)]
    encode_bytes(out, entry.partition)
    out.append(encode_long(entry.bucket))
    out.append(encode_long(entry.total_buckets))
    encode_data_file(out, entry.file)
    return b"".join(out)


@lru_cache(maxsize=SCHEMAS_KEPT)
def _data_file_field_count(schema: WrittenSchema) -> int | None:
    """Return how many of our `_FILE` fields the file has, or None if its layout differs."""
    top, last = layout(schema.record)[1:-1], layout(schema.record)[-1]
    (_, *our_top, (our_name, our_file)) = layout(MANIFEST)
    if schema.null is not None or top != tuple(our_top) or last[0] != our_name:
        return None
    field_count = len(last[1]) - 1
    if field_count < FIELD_COUNT_MIN or last[1] != our_file[: len(last[1])]:
        return None
    return field_count


def _blocks_with(
    decoders: Sequence[tuple[int, AvroDecoder]], buckets: Collection[BucketId]
) -> list[tuple[int, AvroDecoder]]:
    """Return the blocks of sorted entries that may have some of the buckets, by the first entry of each block."""
    firsts = [_first_bucket(decoder) for _, decoder in decoders]
    return [
        decoders[number]
        for number, first in enumerate(firsts)
        if _may_hold(first, firsts[number + 1] if number + 1 < len(firsts) else None, buckets)
    ]


def _first_bucket(decoder: AvroDecoder) -> BucketId:
    start = decoder.position
    _ENTRIES.check_version(decoder.long())
    decoder.long()
    found = decoder.byte_string(), decoder.long()
    decoder.position = start
    return found


def _may_hold(first: BucketId, following: BucketId | None, buckets: Collection[BucketId]) -> bool:
    """Return whether a block that begins with one bucket, before one that begins with another, may have some buckets."""
    for partition, bucket in buckets:
        is_before = partition == first[0] and bucket < first[1]
        is_behind = following is not None and partition == following[0] and bucket > following[1]
        # Between two entries of one partition there is no other partition.
        is_other = following is not None and first[0] == following[0] != partition
        if not (is_before or is_behind or is_other):
            return True
    return False


def _decode_block(
    decoder: AvroDecoder,
    count: int,
    field_count: int,
    buckets: Collection[BucketId] | None,
    *,
    is_reduced: bool,
) -> list[ManifestEntry]:
    long = decoder.long
    entries: list[ManifestEntry] = []
    for _ in range(count):
        _ENTRIES.check_version(long())
        kind, partition, bucket, total_buckets = long(), decoder.byte_string(), long(), long()
        if buckets is not None and (partition, bucket) not in buckets:
            skip_data_file(decoder, field_count)
            continue
        file = decode_data_file(decoder, field_count, is_reduced=is_reduced)
        entries.append(
            ManifestEntry(
                kind=_parse_kind(kind),
                partition=partition,
                bucket=bucket,
                total_buckets=total_buckets,
                file=file,
            )
        )
    if not decoder.is_at_end:
        text = f"bytes are left after {count} entries"
        raise IndexError(text)
    return entries


def _reduced(entry: ManifestEntry) -> ManifestEntry:
    stats = reduced(entry.file.value_stats, entry.file.row_count)
    return replace(entry, file=replace(entry.file, value_stats=stats))


def _entry_of(record: Mapping[str, Any]) -> ManifestEntry:
    return ManifestEntry(
        kind=_parse_kind(record["_KIND"]),
        partition=record["_PARTITION"],
        bucket=record["_BUCKET"],
        total_buckets=record["_TOTAL_BUCKETS"],
        file=data_file_of(record["_FILE"]),
    )


_ENTRIES: Final = EntryKind(what=_WHAT, version=_VERSION, schema=MANIFEST, entry_of=_entry_of)


def _parse_kind(number: int) -> FileKind:
    kind = _KINDS.get(number)
    if kind is None:
        text = f"{_WHAT} entry has the kind {number}, expected one of {list(_KINDS)}"
        raise CorruptData(text)
    return kind


def _check_supported(file: DataFileMeta) -> None:
    for name, value in (
        ("an external path", file.external_path),
        ("a first row id", file.first_row_id),
        ("a list of written columns", file.write_cols),
    ):
        if value is not None:
            text = f"data file {file.file_name} has {name}, which this version does not support"
            raise UnsupportedFeature(text)
