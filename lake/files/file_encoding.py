"""The encoding of a data file: format, codec and level of zstd; and the codecs of each format."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class FileFormat(StrEnum):
    """The formats of data files; the value is the suffix of their names."""

    PARQUET = "parquet"
    ORC = "orc"
    AVRO = "avro"


CODECS: Final[Mapping[FileFormat, tuple[str, ...]]] = {
    FileFormat.PARQUET: ("zstd", "lz4", "snappy", "gzip", "brotli", "none", "uncompressed"),
    FileFormat.ORC: ("zstd", "zlib", "lz4", "snappy", "none"),
    # Avro's snappy and xz need libraries that released readers of the format do not ship.
    FileFormat.AVRO: ("zstd", "zstandard", "deflate", "bzip2", "null"),
}
"""The codecs of each format, as the reference spells them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEncoding:
    """The encoding of one data file.

    Attributes:
        format: Format of the file.
        codec: Codec of the file, one of the `CODECS` of the format.
        zstd_level: Level of zstd, from 1 to 22; ignored by other codecs.
    """

    format: FileFormat
    codec: str = "zstd"
    zstd_level: int = 1
