"""Commit messages: the files that a write, compaction or rescale added or replaced in one bucket.

Messages travel as bytes from Spark's executors to the driver, so writers and committers can run in
different processes. Only this engine has these bytes; a version of it with another layout refuses
them.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from braid.lake.errors import CorruptData
from braid.lake.format.avro.binary import AvroDecoder, encode_bytes, encode_long
from braid.lake.format.avro.schemas import DATA_FILE_FIELDS
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.data_file_codec import decode_data_file, encode_data_file
from braid.lake.format.indexes.index_manifest import (
    IndexManifestEntry,
    decode_index_manifest,
    encode_index_manifest,
)

# Magic of the messages; its last byte is the version of their layout.
_MAGIC: Final = b"BRCM\x03"
_FASTEST: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorsChange:
    """The deletion vectors of one bucket after a compaction or a rescale.

    The commit is valid only while the bucket still has the vectors that the compaction read.

    Attributes:
        base: Name of the index file with the vectors that the compaction read; None for no vectors.
        new: Entry of the index file that replaces `base`, or of `base` itself if nothing changed; None
            if no row is marked any more.
    """

    base: str | None
    new: IndexManifestEntry | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitMessage:
    """The files that one writer made, and replaced, in one bucket.

    Attributes:
        partition: Serialised binary row of the partition columns; `EMPTY_ROW` without any.
        bucket: 0 and up.
        total_buckets: Bucket count that the rows were routed with.
        schema_id: Schema that the rows were written under.
        new_files: Fresh files: of level 0, or of the highest level from a bulk writer.
        compact_before: Files that a compaction or a rescale replaces.
        compact_after: Files that replace those of `compact_before`; in a rescale, those of other buckets.
        changelog_files: Changelog of the new files, or of the compaction.
        new_index_files: Whole indexes of the bucket; each replaces the index of the same type.
        index_base: Names of all hash index files that the partition had when they routed the rows,
            sorted; None if no index routes rows. The commit is valid only while the partition still
            has exactly these.
        vectors: Change of the deletion vectors by a compaction or a rescale, in tables that have them; else None.
    """

    partition: bytes
    bucket: int
    total_buckets: int
    schema_id: int
    new_files: tuple[DataFileMeta, ...]
    compact_before: tuple[DataFileMeta, ...] = ()
    compact_after: tuple[DataFileMeta, ...] = ()
    changelog_files: tuple[DataFileMeta, ...] = ()
    new_index_files: tuple[IndexManifestEntry, ...] = ()
    index_base: tuple[str, ...] | None = None
    vectors: VectorsChange | None = None


def serialize_messages(messages: Sequence[CommitMessage]) -> bytes:
    """Return the messages as bytes, for another process of this version.

    A file takes a few hundred bytes: its manifest record, compressed.
    """
    out = [encode_long(len(messages))]
    for message in messages:
        encode_bytes(out, message.partition)
        out.append(encode_long(message.bucket))
        out.append(encode_long(message.total_buckets))
        out.append(encode_long(message.schema_id))
        for files in (
            message.new_files,
            message.compact_before,
            message.compact_after,
            message.changelog_files,
        ):
            out.append(encode_long(len(files)))
            for file in files:
                encode_data_file(out, file)
        _encode_index(out, message)
    return _MAGIC + zlib.compress(b"".join(out), level=_FASTEST)


def parse_messages(data: bytes) -> tuple[CommitMessage, ...]:
    """Return the messages in bytes of `serialize_messages`.

    Raises:
        CorruptData: The bytes are not commit messages of this version.
    """
    if not data.startswith(_MAGIC):
        text = f"{len(data)} bytes are not commit messages of this version"
        raise CorruptData(text)
    try:
        decoder = AvroDecoder(zlib.decompress(data[len(_MAGIC) :]))
        messages = tuple(_decode_message(decoder) for _ in range(decoder.long()))
    except (zlib.error, IndexError, UnicodeDecodeError) as error:
        text = f"{len(data)} bytes of commit messages cannot be read: {error}"
        raise CorruptData(text) from error
    if not decoder.is_at_end:
        text = f"{len(data)} bytes of commit messages continue after the last message"
        raise CorruptData(text)
    return messages


def _encode_index(out: list[bytes], message: CommitMessage) -> None:
    # Encoded as an index manifest, which has a codec already; few messages have indexes.
    indexes = message.new_index_files
    encode_bytes(out, encode_index_manifest(indexes, "null") if indexes else b"")
    base = message.index_base
    out.append(encode_long(-1 if base is None else len(base)))
    for name in base or ():
        encode_bytes(out, name.encode())
    vectors = message.vectors
    out.append(encode_long(0 if vectors is None else 1))
    if vectors is not None:
        encode_bytes(out, (vectors.base or "").encode())
        encode_bytes(out, encode_index_manifest([vectors.new], "null") if vectors.new else b"")


def _decode_message(decoder: AvroDecoder) -> CommitMessage:
    return CommitMessage(
        partition=decoder.byte_string(),
        bucket=decoder.long(),
        total_buckets=decoder.long(),
        schema_id=decoder.long(),
        new_files=_decode_files(decoder),
        compact_before=_decode_files(decoder),
        compact_after=_decode_files(decoder),
        changelog_files=_decode_files(decoder),
        new_index_files=_decode_indexes(decoder),
        index_base=_decode_names(decoder),
        vectors=_decode_vectors(decoder),
    )


def _decode_indexes(decoder: AvroDecoder) -> tuple[IndexManifestEntry, ...]:
    data = decoder.byte_string()
    return tuple(decode_index_manifest(data)) if data else ()


def _decode_names(decoder: AvroDecoder) -> tuple[str, ...] | None:
    count = decoder.long()
    return None if count < 0 else tuple(decoder.byte_string().decode() for _ in range(count))


def _decode_vectors(decoder: AvroDecoder) -> VectorsChange | None:
    if not decoder.long():
        return None
    base = decoder.byte_string().decode()
    return VectorsChange(base=base or None, new=next(iter(_decode_indexes(decoder)), None))


def _decode_files(decoder: AvroDecoder) -> tuple[DataFileMeta, ...]:
    field_count = len(DATA_FILE_FIELDS)
    return tuple(decode_data_file(decoder, field_count) for _ in range(decoder.long()))
