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


MANIFEST_KIND: Final = "manifest"
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
    return write_container(MANIFEST, map(encode_entry, entries), compression)


def decode_manifest(
    data: bytes,
    *,
    buckets: Collection[BucketId] | None = None,
    is_reduced: bool = False,
) -> list[ManifestEntry]:
    """Return the entries of a manifest file, in file order.

    Args:
        data: The file.
        buckets: Only entries of these buckets are decoded; None: all.
        is_reduced: Whether large value statistics are reduced (`ReducedStats`).

    Raises:
        CorruptData: The bytes are not an Avro file, or it lacks fields of a manifest.
        UnsupportedFeature: A file is outside the table, or belongs to a table with row
            tracking or data evolution; or this version does not support the version of an entry or
            the codec.
    """
    schema, blocks = read_blocks(data, what=MANIFEST_KIND)
    # The layout that this engine and Java write has its own codec, because the general codec spends most of its
    # time on decoding unions.
    field_count = data_file_field_count(schema)
    if field_count is None:
        entries = [
            _reduced(entry) if is_reduced else entry
            for entry in _ENTRIES.decode(schema, blocks)
            if buckets is None or (entry.partition, entry.bucket) in buckets
        ]
    else:
        try:
            entries = [
                entry
                for block in blocks
                for entry in _decode_block(
                    AvroDecoder(block.data(what=MANIFEST_KIND)),
                    block.count,
                    field_count,
                    buckets,
                    is_reduced=is_reduced,
                )
            ]
        except (IndexError, UnicodeDecodeError) as error:
            text = f"{MANIFEST_KIND} of {len(data)} bytes cannot be read: {error}"
            raise CorruptData(text) from error
    for entry in entries:
        check_supported(entry.file)
    return entries


def encode_entry(entry: ManifestEntry) -> bytes:
    """Return the record of an entry, with the layout of this engine."""
    out = [_ENCODED_VERSION, encode_long(entry.kind)]
    encode_bytes(out, entry.partition)
    out.append(encode_long(entry.bucket))
    out.append(encode_long(entry.total_buckets))
    encode_data_file(out, entry.file)
    return b"".join(out)


@lru_cache(maxsize=SCHEMAS_KEPT)
def data_file_field_count(schema: WrittenSchema) -> int | None:
    """Return how many of this engine's `_FILE` fields a manifest has, or None if its layout differs."""
    top, last = layout(schema.record)[1:-1], layout(schema.record)[-1]
    (_, *our_top, (our_name, our_file)) = layout(MANIFEST)
    if schema.null is not None or top != tuple(our_top) or last[0] != our_name:
        return None
    field_count = len(last[1]) - 1
    if field_count < FIELD_COUNT_MIN or last[1] != our_file[: len(last[1])]:
        return None
    return field_count


def _decode_block(
    decoder: AvroDecoder,
    count: int,
    field_count: int,
    buckets: Collection[BucketId] | None,
    *,
    is_reduced: bool,
) -> list[ManifestEntry]:
    entries: list[ManifestEntry] = []
    for _ in range(count):
        entry = decode_entry(decoder, field_count, buckets, is_reduced=is_reduced)
        if entry is not None:
            entries.append(entry)
    check_end(decoder, count)
    return entries


def first_bucket(decoder: AvroDecoder) -> BucketId:
    """Return the partition and bucket of the next entry, and advance into it; raises as `decode_entry`."""
    _ENTRIES.check_version(decoder.long())
    decoder.long()
    return decoder.byte_string(), decoder.long()


def check_end(decoder: AvroDecoder, count: int) -> None:
    """Raise IndexError unless the records of a block end with its bytes."""
    if not decoder.is_at_end:
        text = f"bytes are left after {count} entries"
        raise IndexError(text)


def decode_entry(
    decoder: AvroDecoder,
    field_count: int,
    buckets: Collection[BucketId] | None = None,
    *,
    is_reduced: bool = False,
    has_counts: bool = True,
) -> ManifestEntry | None:
    """Return the next entry; None if it is of none of the buckets.

    Args:
        decoder: At a record with the layout of this engine.
        field_count: Number of fields of its file (`data_file_field_count`).
        buckets: The buckets wanted; None: all.
        is_reduced: Whether large value statistics are reduced (`ReducedStats`).
        has_counts: Whether reduced statistics tell which columns hold only nulls.

    Raises:
        IndexError: The bytes end early.
        UnicodeDecodeError: A text is not UTF-8.
        CorruptData: The entry or its file is of an unknown kind.
        UnsupportedFeature: The entry has another version.
    """
    long = decoder.long
    _ENTRIES.check_version(long())
    kind, partition, bucket, total_buckets = long(), decoder.byte_string(), long(), long()
    if buckets is not None and (partition, bucket) not in buckets:
        skip_data_file(decoder, field_count)
        return None
    file = decode_data_file(decoder, field_count, is_reduced=is_reduced, has_counts=has_counts)
    return ManifestEntry(
        kind=_parse_kind(kind),
        partition=partition,
        bucket=bucket,
        total_buckets=total_buckets,
        file=file,
    )


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


_ENTRIES: Final = EntryKind(
    what=MANIFEST_KIND, version=_VERSION, schema=MANIFEST, entry_of=_entry_of
)


def _parse_kind(number: int) -> FileKind:
    kind = _KINDS.get(number)
    if kind is None:
        text = f"{MANIFEST_KIND} entry has the kind {number}, expected one of {list(_KINDS)}"
        raise CorruptData(text)
    return kind


def check_supported(file: DataFileMeta) -> None:
    """Raise `UnsupportedFeature` for a file outside of the table, or with row tracking or data evolution."""
    for name, value in (
        ("an external path", file.external_path),
        ("a first row id", file.first_row_id),
        ("a list of written columns", file.write_cols),
    ):
        if value is not None:
            text = f"data file {file.file_name} has {name}, which this version does not support"
            raise UnsupportedFeature(text)
