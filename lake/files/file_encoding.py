"""How the bytes of a data file are made: format, codec and level."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class FileFormat(StrEnum):
    """The formats of data files; each is the suffix of its files' names."""

    PARQUET = "parquet"
    ORC = "orc"
    AVRO = "avro"


CODECS: Final[Mapping[FileFormat, tuple[str, ...]]] = {
    FileFormat.PARQUET: ("zstd", "lz4", "snappy", "gzip", "brotli", "none", "uncompressed"),
    FileFormat.ORC: ("zstd", "zlib", "lz4", "snappy", "none"),
    # Its snappy and xz take libraries that released readers do not bring.
    FileFormat.AVRO: ("zstd", "zstandard", "deflate", "bzip2", "null"),
}
"""Compressions that files of a format can have, as the format's reference spells them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEncoding:
    """How one data file is encoded.

    Attributes:
        format: Of the file.
        codec: One of the format's `CODECS`.
        zstd_level: From 1 to 22; other codecs have no level.
    """

    format: FileFormat
    codec: str = "zstd"
    zstd_level: int = 1
