"""Encodings of files by the options of a table: format and codec, by level and for changelogs.

The first option in a row of this table that is set decides:

| | in changelog files only | for single levels | else |
|---|---|---|---|
| format | `changelog-file.format` | `file.format.per.level` | `file.format` |
| codec | `changelog-file.compression` | `file.compression.per.level` | `file.compression` |

`parquet.compression`, `orc.compress` and `avro.codec` set the codec of all files of their format and
override the others. `option_problems` finds formats and codecs that no file can be written with.

Source: table-format 12.5.
"""

from collections.abc import Iterator

from braid.lake.errors import Problem
from braid.lake.files.file_encoding import CODECS, FileEncoding, FileFormat
from braid.lake.options.table_options import ChangelogProducer, TableOptions

_FORMATS = ", ".join(FileFormat)


def file_encoding(options: TableOptions, *, level: int, is_changelog: bool) -> FileEncoding:
    """Return the encoding of a file.

    Args:
        options: The table's options.
        level: Level of the file.
        is_changelog: The file holds changelog rows.

    Requires:
        `option_problems` returns none.
    """
    _, name = _declared_format(options, level, is_changelog=is_changelog)
    _, codec = _declared_codec(options, name, level, is_changelog=is_changelog)
    return FileEncoding(format=FileFormat(name), codec=codec, zstd_level=options.zstd_level)


def formats_of(options: TableOptions) -> frozenset[str]:
    """Return the names of the formats that files of a table may get, known or not."""
    return frozenset(
        _declared_format(options, level, is_changelog=is_changelog)[1]
        for level, is_changelog in _kinds(options)
    )


def option_problems(options: TableOptions) -> list[Problem]:
    """Return the formats and codecs that no file can be written with, each once.

    Args:
        options: The table's options; options of changelog files are checked if it has such files.
    """
    found: dict[tuple[str, str], Problem] = {}
    for level, is_changelog in _kinds(options):
        key, name = _declared_format(options, level, is_changelog=is_changelog)
        if name not in list(FileFormat):
            found[key, name] = _problem(key, name, f"set one of {_FORMATS}")
            continue
        key, codec = _declared_codec(options, name, level, is_changelog=is_changelog)
        codecs = CODECS[FileFormat(name)]
        if codec not in codecs:
            hint = f"for {name} files set one of {', '.join(codecs)}"
            found[key, codec] = _problem(key, codec, hint)
    return list(found.values())


def _kinds(options: TableOptions) -> Iterator[tuple[int, bool]]:
    """Yield each kind of file that a table may get: its level, and whether it is a changelog file.

    One level represents all levels that have no encoding of their own.
    """
    declared = {
        level
        for level, _ in (*options.file_format_per_level, *options.file_compression_per_level)
        if level < options.num_levels
    }
    undeclared = next(level for level in range(options.num_levels + 1) if level not in declared)
    for level in sorted(declared | {undeclared}):
        yield level, False
        if options.changelog_producer is not ChangelogProducer.NONE:
            yield level, True


def _declared_format(options: TableOptions, level: int, *, is_changelog: bool) -> tuple[str, str]:
    """Return the option that sets the format of a file, and its value."""
    if is_changelog and options.changelog_file_format is not None:
        return "changelog-file.format", options.changelog_file_format
    is_by_level = level in dict(options.file_format_per_level)
    key = "file.format.per.level" if is_by_level else "file.format"
    return key, options.data_file_format(level)


def _declared_codec(
    options: TableOptions, name: str, level: int, *, is_changelog: bool
) -> tuple[str, str]:
    """Return the option that sets the codec of a file of some format, and its value."""
    of_format = {
        "parquet": ("parquet.compression", options.parquet_compression),
        "orc": ("orc.compress", options.orc_compress),
        "avro": ("avro.codec", options.avro_codec),
    }
    key, codec = of_format.get(name, ("", None))
    if codec is not None:
        return key, codec
    if is_changelog and options.changelog_file_compression is not None:
        return "changelog-file.compression", options.changelog_file_compression
    by_level = dict(options.file_compression_per_level)
    if level in by_level:
        return "file.compression.per.level", by_level[level]
    return "file.compression", options.file_compression


def _problem(key: str, value: str, hint: str) -> Problem:
    return Problem(
        field=key, value=value, message="no data file can be written with this value", hint=hint
    )
