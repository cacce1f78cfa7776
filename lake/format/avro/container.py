"""Avro object container files: a header, then blocks of records, compressed.

```
header   "Obj" 01, a map with `avro.schema` and `avro.codec`, 16 bytes of sync marker
block    record count, byte count, the records compressed, the sync marker     (repeated)
```

The header of a metadata file has exactly the schema text that Java writes. The codecs of this
engine take and return records as bytes. fastavro takes and returns them as dictionaries; it is used
for schemas that those codecs do not support. `EntryKind` reads a whole file of one kind: it checks
the version of the records and converts them to this engine's schema. Some writers put the records
into a union with null; a record that is null is an error.

Source: table-format 5; Apache Avro 1.11 specification, "Object Container Files".
"""

import hashlib
import io
import json
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar

import fastavro

from braid.lake.errors import CorruptData, InvalidRequest, UnsupportedFeature
from braid.lake.format.avro.binary import AvroDecoder, encode_bytes, encode_long
from braid.lake.format.avro.codecs import DECOMPRESSION_ERRORS, compress, decompress
from braid.lake.format.avro.resolution import Resolve, WrittenSchema, resolver, written_schema
from braid.lake.format.avro.schemas import AvroSchema

EntryT = TypeVar("EntryT")

SCHEMAS_KEPT: Final = 16
"""Parsed schemas in caches: a writer uses one schema for all files of a kind, and parsing it costs more than
decoding a small file."""

_MAGIC: Final = b"Obj\x01"
_SYNC_BYTES: Final = 16
# Size before compression: large enough to compress well, small enough to decode block by block, as in files of Java.
BLOCK_BYTES: Final = 1 << 16
# Bytes of each block that the sync marker depends on.
_DIGESTED_BYTES: Final = 1 << 10
_MANIFEST_CODECS: Final = ("zstandard", "deflate", "null")


@dataclass(frozen=True, slots=True, kw_only=True)
class AvroBlock:
    """One block of a container.

    Attributes:
        count: Number of records.
        compressed: The concatenated records, as in the file.
        codec: Name of the compression.
        offset: Where `compressed` begins in the file.
    """

    count: int
    compressed: bytes
    codec: str
    offset: int = 0

    def data(self, *, what: str) -> bytes:
        """Return the concatenated records, uncompressed.

        Raises:
            CorruptData: The bytes cannot be decompressed; the message names `what`, the kind of file.
            UnsupportedFeature: This version does not support the codec.
        """
        try:
            return decompress(self.compressed, self.codec)
        except DECOMPRESSION_ERRORS as error:
            text = (
                f"{what} has a block of {len(self.compressed)} bytes that cannot be read: {error}"
            )
            raise CorruptData(text) from error


def write_container(
    schema: AvroSchema,
    records: Iterable[bytes],
    compression: str = "zstandard",
    *,
    block_bytes: int | None = None,
) -> bytes:
    """Return the bytes of a container file.

    The same records always give the same bytes: the sync marker is a digest, not random.

    Args:
        schema: The schema, for the header; written as compact JSON, keys in the given order.
        records: The records, each encoded with that schema; may be empty.
        compression: `zstandard`, `deflate` or `null`.
        block_bytes: Size of a block before compression; None: `BLOCK_BYTES`.

    Raises:
        InvalidRequest: The compression is not one of these.
    """
    if compression not in _MANIFEST_CODECS:
        text = f"manifest compression `{compression}` is not one of {', '.join(_MANIFEST_CODECS)}"
        raise InvalidRequest(text)
    blocks = [
        (len(block), compress(b"".join(block), compression))
        for block in _blocks(records, block_bytes or BLOCK_BYTES)
    ]
    return join_blocks(schema, blocks, compression)


def join_blocks(schema: AvroSchema, blocks: Sequence[tuple[int, bytes]], compression: str) -> bytes:
    """Return the bytes of a container file of blocks that are compressed already.

    Args:
        schema: The schema of the records, for the header.
        blocks: Number of records and compressed bytes of each block.
        compression: Name of the compression.
    """
    # A digest of what the marker separates, which is unlikely to occur inside of the data.
    digest = hashlib.blake2b(_schema_text(schema), digest_size=_SYNC_BYTES)
    for _, data in blocks:
        digest.update(data[:_DIGESTED_BYTES])
    sync = digest.digest()
    out = [container_header(schema, compression, sync)]
    out += [container_block(count, data, sync) for count, data in blocks]
    return b"".join(out)


def sync_marker(schema: AvroSchema, salt: str) -> bytes:
    """Return a sync marker for a file whose records are not known yet.

    Args:
        schema: Schema of the file.
        salt: A text that is unique to the file, for example its name.
    """
    digest = hashlib.blake2b(_schema_text(schema), digest_size=_SYNC_BYTES)
    digest.update(salt.encode())
    return digest.digest()


def container_header(
    schema: AvroSchema, codec: str, sync: bytes, *, metadata: Mapping[str, str] | None = None
) -> bytes:
    """Return the header of a container.

    Args:
        schema: Schema of the records.
        codec: Name of the compression.
        sync: The marker between blocks, 16 bytes.
        metadata: Further entries of the header's map.
    """
    assert len(sync) == _SYNC_BYTES, "the sync marker has a fixed length"
    entries = {"avro.schema": _schema_text(schema), "avro.codec": codec.encode()}
    entries.update((key, value.encode()) for key, value in (metadata or {}).items())
    out = [_MAGIC, encode_long(len(entries))]
    for key, value in entries.items():
        encode_bytes(out, key.encode())
        encode_bytes(out, value)
    return b"".join([*out, encode_long(0), sync])


def container_block(count: int, compressed: bytes, sync: bytes) -> bytes:
    """Return the bytes of a block of `count` records."""
    assert count > 0, "a block has records"
    assert len(sync) == _SYNC_BYTES, "the sync marker has a fixed length"
    return b"".join([encode_long(count), encode_long(len(compressed)), compressed, sync])


def encode_records(schema: AvroSchema, records: Iterable[Mapping[str, object]]) -> Iterable[bytes]:
    """Yield each record encoded with the schema."""
    return map(record_encoder(schema), records)


def record_encoder(schema: AvroSchema) -> Callable[[Mapping[str, object]], bytes]:
    """Return a function that encodes a record with the schema."""
    parsed = fastavro.parse_schema(dict(schema))

    def encode(record: Mapping[str, object]) -> bytes:
        buffer = io.BytesIO()
        fastavro.schemaless_writer(buffer, parsed, record)
        return buffer.getvalue()

    return encode


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EntryKind(Generic[EntryT]):
    """A kind of file whose records are entries: manifests, for example.

    Attributes:
        what: Name of the kind, for messages.
        version: Value of the field `_VERSION` of every record.
        schema: Schema of the records that `entry_of` accepts; records of a file with another schema
            are converted to it (`braid.lake.format.avro.resolution`).
        entry_of: Returns the entry of a record.
    """

    what: str
    version: int
    schema: AvroSchema
    entry_of: Callable[[Mapping[str, Any]], EntryT]

    def read(self, data: bytes) -> list[EntryT]:
        """Return the entries of a container, in file order.

        Raises:
            CorruptData: The bytes are not a container, or end early; or the records do not fit the file's
                schema, or the file's schema cannot be resolved to `schema`.
            UnsupportedFeature: This version does not support the codec, or an entry has another version.
        """
        written, blocks = read_blocks(data, what=self.what)
        return self.decode(written, blocks)

    def decode(self, written: WrittenSchema, blocks: Iterable[AvroBlock]) -> list[EntryT]:
        """Return the entries of blocks, in their order; raises as `read`."""
        parsed = parsed_schema(written, what=self.what)
        records: Iterable[dict[str, Any]] = [
            record for block in blocks for record in decode_block(block, parsed, what=self.what)
        ]
        for record in records:  # checked first, because another version may have other fields
            self.check_version(record.get("_VERSION", self.version))
        try:
            resolve = _resolver_of(self, written)
            return [self.entry_of(r) for r in (map(resolve, records) if resolve else records)]
        except ValueError as error:
            text = f"{self.what} cannot be read: {error}"
            raise CorruptData(text) from error

    def check_version(self, version: int) -> None:
        """Raise `UnsupportedFeature` unless an entry has the version of this kind."""
        if version != self.version:
            text = f"{self.what} entry has version {version}, expected {self.version}"
            raise UnsupportedFeature(text)


@lru_cache(maxsize=SCHEMAS_KEPT)
def _resolver_of(kind: EntryKind[Any], written: WrittenSchema) -> Resolve | None:
    return resolver(written.record, kind.schema)


def read_blocks(data: bytes, *, what: str) -> tuple[WrittenSchema, list[AvroBlock]]:
    """Return the writer's schema and the blocks of a container, in file order.

    Raises:
        CorruptData: The bytes are not a container, or end early; the message names `what`, the kind of
            file.
    """
    decoder = AvroDecoder(data)
    try:
        schema, codec = _read_header(decoder)
        sync = decoder.fixed(_SYNC_BYTES)
        blocks: list[AvroBlock] = []
        while not decoder.is_at_end:
            blocks.append(_read_block(decoder, sync, codec))
    except (ValueError, IndexError) as error:
        text = f"{what} of {len(data)} bytes is not a complete Avro file: {error}"
        raise CorruptData(text) from error
    return schema, blocks


# Errors of fastavro, which does not translate those of its own steps.
_DECODING_ERRORS: Final = (
    ValueError, EOFError, StopIteration, KeyError, IndexError, TypeError, OverflowError,
    struct.error, fastavro.schema.SchemaParseException,
)  # fmt: skip


def parsed_schema(schema: WrittenSchema, *, what: str) -> Any:
    """Return the schema in the form that `decode_block` needs.

    Raises:
        CorruptData: The schema is not an Avro schema; the message names `what`, the kind of file.
    """
    try:
        return fastavro.parse_schema(schema.declared)
    except _DECODING_ERRORS as error:
        text = f"{what} has a schema that cannot be read: {error!r}"
        raise CorruptData(text) from error


def decode_block(block: AvroBlock, schema: Any, *, what: str) -> list[dict[str, Any]]:
    """Return the records of a block.

    Args:
        block: A block of `read_blocks`.
        schema: Result of `parsed_schema`.
        what: The kind of file, for messages.

    Raises:
        CorruptData: The records do not fit the schema, or one is null.
        UnsupportedFeature: This version does not support the codec.
    """
    stream = io.BytesIO(block.data(what=what))
    read: Any = fastavro.schemaless_reader  # its stub requires arguments that are optional
    try:
        records = [read(stream, schema) for _ in range(block.count)]
    except _DECODING_ERRORS as error:
        text = f"{what} holds records that do not fit its schema: {error!r}"
        raise CorruptData(text) from error
    # A record can be null where the file has its records in a union with null.
    if None in records:
        text = f"{what} has a record that is null"
        raise CorruptData(text)
    return records


def _read_header(decoder: AvroDecoder) -> tuple[WrittenSchema, str]:
    if decoder.fixed(len(_MAGIC)) != _MAGIC:
        text = "it does not begin with the magic bytes of Avro"
        raise ValueError(text)
    metadata: dict[str, bytes] = {}
    while count := decoder.block_count():
        for _ in range(count):
            key = decoder.string()
            metadata[key] = decoder.byte_string()
    schema = _schema_of(metadata.get("avro.schema", b""))
    return schema, metadata.get("avro.codec", b"null").decode()


@lru_cache(maxsize=SCHEMAS_KEPT)
def _schema_of(text: bytes) -> WrittenSchema:
    declared = json.loads(text)
    try:
        return written_schema(declared)
    except (KeyError, TypeError, AttributeError) as error:
        message = f"its schema cannot be read: {error!r}"
        raise ValueError(message) from error


def _read_block(decoder: AvroDecoder, sync: bytes, codec: str) -> AvroBlock:
    count, compressed = decoder.long(), decoder.byte_string()
    offset = decoder.position - len(compressed)
    if decoder.fixed(_SYNC_BYTES) != sync:
        text = f"a block of {count} records does not end with the sync marker"
        raise ValueError(text)
    return AvroBlock(count=count, compressed=compressed, codec=codec, offset=offset)


def _blocks(records: Iterable[bytes], block_bytes: int) -> Iterable[list[bytes]]:
    block: list[bytes] = []
    size = 0
    for record in records:
        block.append(record)
        size += len(record)
        if size >= block_bytes:
            yield block
            block, size = [], 0
    if block:
        yield block


def _schema_text(schema: AvroSchema) -> bytes:
    return json.dumps(schema, separators=(",", ":")).encode()
