"""Avro object container files: a header, then blocks of records, compressed.

```
header   "Obj" 01, a map with `avro.schema` and `avro.codec`, 16 bytes of sync marker
block    record count, byte count, the records compressed, the sync marker     (repeated)
```

Reading is fastavro's. Writing is ours: the header holds the very schema text that Java writes,
and records come as bytes already encoded.

Source: table-format 5; Apache Avro 1.11 specification, "Object Container Files".
"""

import hashlib
import io
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import fastavro
import pyarrow as pa

from lake.errors import CorruptData, InvalidRequest
from lake.format.avro_binary import encode_bytes, encode_long
from lake.format.avro_schemas import AvroSchema

_MAGIC: Final = b"Obj\x01"
_SYNC_BYTES: Final = 16
# Large enough to compress well, small enough to decode piece by piece.
_BLOCK_BYTES: Final = 1 << 18
_RAW_DEFLATE: Final = -15
_CODECS: Final = ("zstandard", "deflate", "null")


@dataclass(frozen=True, slots=True, kw_only=True)
class AvroBlock:
    """Some records of a container, decompressed.

    Attributes:
        count: Records.
        data: The records one after the other.
    """

    count: int
    data: bytes


def write_container(
    schema: AvroSchema, records: Iterable[bytes], compression: str = "zstandard"
) -> bytes:
    """Return the bytes of a container file.

    The same records always give the same bytes: the sync marker is a digest, not random.

    Args:
        schema: Written into the header as compact JSON, keys in the given order.
        records: Each encoded with that schema; none are a legal file.
        compression: `zstandard`, `deflate` or `null`.

    Raises:
        InvalidRequest: Another compression.
    """
    blocks = [(len(block), b"".join(block)) for block in _blocks(records)]
    schema_text = json.dumps(schema, separators=(",", ":")).encode()
    digest = hashlib.blake2b(schema_text, digest_size=_SYNC_BYTES)
    for _, data in blocks:
        digest.update(data)
    sync = digest.digest()
    out = [_MAGIC]
    _write_header(out, schema_text, compression)
    out.append(sync)
    for count, data in blocks:
        out.append(encode_long(count))
        encode_bytes(out, _compress(data, compression))
        out.append(sync)
    return b"".join(out)


def encode_records(schema: AvroSchema, records: Iterable[Mapping[str, object]]) -> Iterable[bytes]:
    """Yield each record encoded with the schema."""
    parsed = fastavro.parse_schema(dict(schema))
    for record in records:
        buffer = io.BytesIO()
        fastavro.schemaless_writer(buffer, parsed, record)
        yield buffer.getvalue()


def read_records(data: bytes, *, what: str) -> list[dict[str, Any]]:
    """Return the records of a container of any schema, in file order.

    Raises:
        CorruptData: The bytes are no container, or end early; `what` names the kind of file.
    """
    try:
        return list(fastavro.reader(io.BytesIO(data)))  # type: ignore[arg-type]
    except _AVRO_ERRORS as error:
        _refuse(what, data, error)


def read_blocks(data: bytes, *, what: str) -> tuple[AvroSchema, Sequence[AvroBlock]]:
    """Return the writer's schema and the blocks of a container, in file order.

    Raises:
        CorruptData: As in `read_records`.
    """
    try:
        reader = fastavro.block_reader(io.BytesIO(data))
        blocks = [_decompressed(block) for block in reader]
    except _AVRO_ERRORS as error:
        _refuse(what, data, error)
    schema = reader.writer_schema
    assert isinstance(schema, Mapping), "the root of every file of the format is a record"
    return schema, blocks


def _decompressed(block: Any) -> AvroBlock:
    # Documented by fastavro, missing from its type stubs.
    return AvroBlock(count=block.num_records, data=block.bytes_.read())


# fastavro reports damage with whatever the failing step raises.
_AVRO_ERRORS: Final = (
    ValueError, EOFError, StopIteration, KeyError, IndexError, TypeError, OverflowError,
    MemoryError, zlib.error, fastavro.schema.SchemaParseException,
)  # fmt: skip


def _refuse(what: str, data: bytes, error: BaseException) -> NoReturn:
    text = f"{what} of {len(data)} bytes is no whole Avro file: {error!r}"
    raise CorruptData(text) from error


def _blocks(records: Iterable[bytes]) -> Iterable[list[bytes]]:
    block: list[bytes] = []
    size = 0
    for record in records:
        block.append(record)
        size += len(record)
        if size >= _BLOCK_BYTES:
            yield block
            block, size = [], 0
    if block:
        yield block


def _write_header(out: list[bytes], schema_text: bytes, compression: str) -> None:
    if compression not in _CODECS:
        text = f"manifest compression `{compression}` is not one of {', '.join(_CODECS)}"
        raise InvalidRequest(text)
    out.append(encode_long(2))
    for key, value in (("avro.schema", schema_text), ("avro.codec", compression.encode())):
        encode_bytes(out, key.encode())
        encode_bytes(out, value)
    out.append(encode_long(0))


def _compress(data: bytes, compression: str) -> bytes:
    match compression:
        case "zstandard":
            compressed: bytes = pa.compress(data, codec="zstd", asbytes=True)
            return compressed
        case "deflate":
            deflate = zlib.compressobj(wbits=_RAW_DEFLATE)
            return deflate.compress(data) + deflate.flush()
        case _:
            return data
