"""Format and codec of a file, by level and for changelogs."""

import pytest

from braid.lake.files.file_encoding import FileEncoding, FileFormat
from braid.lake.options.table_options import TableOptions
from braid.lake.write.files.file_encodings import file_encoding, formats_of

BY_LEVEL = {
    "file.format.per.level": " 3:ORC , 0:avro",
    "file.compression.per.level": "0:deflate,2:lz4",
    "file.compression.zstd-level": "7",
}


@pytest.mark.parametrize(
    ("options", "level", "is_changelog", "expected"),
    [
        ({}, 0, False, "parquet zstd 1"),
        ({"file.format": "ORC", "file.compression": "Zlib"}, 5, False, "orc zlib 1"),
        (BY_LEVEL, 0, False, "avro deflate 7"),
        (BY_LEVEL, 2, False, "parquet lz4 7"),
        (BY_LEVEL, 3, False, "orc zstd 7"),
        (BY_LEVEL, 0, True, "avro deflate 7"),
        ({**BY_LEVEL, "changelog-file.format": "orc"}, 0, True, "orc deflate 7"),
        ({**BY_LEVEL, "changelog-file.compression": "null"}, 0, True, "avro null 7"),
        ({"changelog-file.compression": "none"}, 0, False, "parquet zstd 1"),
        ({**BY_LEVEL, "orc.compress": "NONE"}, 3, False, "orc none 7"),
        ({**BY_LEVEL, "avro.codec": "bzip2"}, 0, True, "avro bzip2 7"),
        ({"parquet.compression": "gzip", "file.compression": "lz4"}, 1, False, "parquet gzip 1"),
    ],
)
def test_the_most_special_option_counts(
    options: dict[str, str], level: int, is_changelog: bool, expected: str
) -> None:
    found = file_encoding(TableOptions.parse(options), level=level, is_changelog=is_changelog)

    name, codec, zstd_level = expected.split()
    assert found == FileEncoding(format=FileFormat(name), codec=codec, zstd_level=int(zstd_level))


def test_formats_of_changelogs_count_where_there_are_any() -> None:
    options = {**BY_LEVEL, "changelog-file.format": "csv"}

    assert formats_of(TableOptions.parse(options)) == {"parquet", "avro", "orc"}
    producing = TableOptions.parse({**options, "changelog-producer": "input"})
    assert formats_of(producing) == {"parquet", "avro", "orc", "csv"}


def test_levels_that_no_file_reaches_do_not_count() -> None:
    assert formats_of(TableOptions.parse({"file.format.per.level": "9:csv"})) == {"parquet"}
