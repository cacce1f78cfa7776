"""Compression and decompression of Avro blocks, in the codecs of `AVRO_CODECS`.

A block of `snappy` ends with the CRC-32 of its uncompressed bytes, big endian.

Source: Apache Avro 1.11 specification, "Required Codecs" and "Optional Codecs".
"""

import bz2
import lzma
import zlib
from typing import Final

import pyarrow as pa

from braid.lake.errors import UnsupportedFeature

AVRO_CODECS: Final = ("null", "deflate", "snappy", "bzip2", "xz", "zstandard")
"""Names of codecs as files have them."""

DECOMPRESSION_ERRORS: Final = (
    ValueError, IndexError, OSError, EOFError, zlib.error, lzma.LZMAError, pa.ArrowException,
)  # fmt: skip
"""Errors of `decompress` for bytes that it cannot decompress."""

_RAW_DEFLATE: Final = -15
_CRC_BYTES: Final = 4
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_ZSTD_HEADER_MIN: Final = 6
# Larger blocks are read as a stream: a damaged size would allocate memory for nothing.
_DECLARED_MAX: Final = 16 << 20


def compress(data: bytes, codec: str, *, level: int | None = None) -> bytes:
    """Return a compressed block.

    Args:
        data: Bytes of the block.
        codec: One of `AVRO_CODECS`.
        level: Level of zstandard; None means the library's default.
    """
    packed: bytes
    match codec:
        case "zstandard":
            packed = pa.Codec("zstd", compression_level=level).compress(data, asbytes=True)
        case "deflate":
            deflate = zlib.compressobj(wbits=_RAW_DEFLATE)
            packed = deflate.compress(data) + deflate.flush()
        case "snappy":
            packed = pa.compress(data, codec="snappy", asbytes=True) + _crc(data)
        case "bzip2":
            packed = bz2.compress(data)
        case "xz":
            packed = lzma.compress(data)
        case _:
            assert codec == "null", codec
            packed = data
    return packed


def decompress(data: bytes, codec: str) -> bytes:
    """Return the uncompressed bytes of a block.

    Raises:
        UnsupportedFeature: The codec is not one of `AVRO_CODECS`.
        Exception: One of `DECOMPRESSION_ERRORS` if the bytes are damaged; ValueError if the checksum is wrong.
    """
    match codec:
        case "zstandard":
            size = _declared_size(data)
            if size is not None:
                whole: bytes = pa.decompress(
                    data, decompressed_size=size, codec="zstd", asbytes=True
                )
                return whole
            # Java's frames do not declare their uncompressed size, so they are read as a stream.
            with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
                unpacked: bytes = stream.read()
                return unpacked
        case "deflate":
            return zlib.decompress(data, wbits=_RAW_DEFLATE)
        case "snappy":
            return _from_snappy(data)
        case "bzip2":
            return bz2.decompress(data)
        case "xz":
            return lzma.decompress(data)
        case "null":
            return data
        case _:
            text = f"Avro codec `{codec}` is not supported, only {', '.join(AVRO_CODECS)}"
            raise UnsupportedFeature(text)


def _declared_size(data: bytes) -> int | None:
    """Return the uncompressed size that a frame of zstandard declares; None if it declares none, or a suspicious one.

    Source: RFC 8878, 3.1.1.1.
    """
    if len(data) < _ZSTD_HEADER_MIN or not data.startswith(_ZSTD_MAGIC):
        return None
    descriptor = data[len(_ZSTD_MAGIC)]
    size_flag, is_single, dictionary_flag = descriptor >> 6, descriptor & 0x20, descriptor & 3
    size_bytes = (1 if is_single else 0, 2, 4, 8)[size_flag]
    start = len(_ZSTD_MAGIC) + 1 + (0 if is_single else 1) + (0, 1, 2, 4)[dictionary_flag]
    if not size_bytes or len(data) < start + size_bytes:
        return None
    size = int.from_bytes(data[start : start + size_bytes], "little")
    size += 256 if size_bytes == 2 else 0
    return size if size <= _DECLARED_MAX else None


def _from_snappy(data: bytes) -> bytes:
    packed, crc = data[:-_CRC_BYTES], data[-_CRC_BYTES:]
    size = shift = 0
    for byte in packed:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if size > _SNAPPY_FACTOR_MAX * len(packed):
        text = f"a block of {len(packed)} bytes cannot decompress to {size}"
        raise ValueError(text)
    unpacked: bytes = pa.decompress(packed, decompressed_size=size, codec="snappy", asbytes=True)
    if _crc(unpacked) != crc:
        text = "a block has a wrong checksum"
        raise ValueError(text)
    return unpacked


_SNAPPY_FACTOR_MAX: Final = 64
"""Bound of the ratio of uncompressed to compressed bytes: a copy element of snappy takes at least 2 bytes and
yields at most 64. A larger declared size is damage, and would allocate memory for nothing."""


def _crc(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(_CRC_BYTES, "big")
