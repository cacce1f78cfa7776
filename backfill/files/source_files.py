"""Files of a backfill: found at an address, with their format, which is declared or follows from their endings.

A digest of the files' paths, sizes, times and format, and of the options by which they are read, identifies them as a
source. The ending of a text file also names its compression (`compression_of`).
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import orjson

from braid.lake import FileIO, FileStatus, InvalidRequest, Problem, file_io_for, path_for

FILES_MAX: Final = 100_000
_DEPTH_MAX: Final = 16
_HIDDEN: Final = ("_", ".")
_COMPRESSIONS: Final[Mapping[str, str]] = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
_MESSAGE: Final = "there is nothing to backfill from"


class FileFormat(StrEnum):
    """Format of the files."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"
    AVRO = "avro"


_ENDINGS: Final[Mapping[str, FileFormat]] = {
    ".parquet": FileFormat.PARQUET,
    ".csv": FileFormat.CSV,
    ".json": FileFormat.JSON,
    ".jsonl": FileFormat.JSON,
    ".ndjson": FileFormat.JSON,
    ".avro": FileFormat.AVRO,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFiles:
    """The files at an address.

    Attributes:
        address: The address, absolute.
        file_io: Their storage.
        files: The files, in the order of their paths.
        format: Their format.
    """

    address: str
    file_io: FileIO
    files: tuple[FileStatus, ...]
    format: FileFormat

    def digest(self, *options: object) -> str:
        """Return what tells these files, read with some options, from any others.

        Args:
            options: What decides how rows are read, as JSON values.
        """
        found = hashlib.sha256(orjson.dumps([self.format.value, *options]))
        for file in self.files:
            found.update(orjson.dumps([file.path, file.size, file.modified_ms]))
        return found.hexdigest()[:32]


def compression_of(path: str) -> str | None:
    """Return Arrow's name of the compression of a text file by its ending; None: it is not compressed."""
    return next((name for ending, name in _COMPRESSIONS.items() if path.endswith(ending)), None)


def source_address(text: str) -> str:
    """Return the absolute path or the address of what `--from` names.

    Args:
        text: A path, relative to the working directory or absolute, or an address such as `s3://…`.

    Raises:
        InvalidRequest: It is no such address.
    """
    has_scheme = "://" in text or text.startswith("file:")
    return path_for(text if has_scheme else str(Path(text).absolute()))


def find_files(
    address: str,
    *,
    declared: FileFormat | None = None,
    environment: Mapping[str, str] = os.environ,
) -> SourceFiles:
    """Return the files at an address: a file, a folder with its subfolders, or a pattern such as `/data/*.csv`.

    In folders, names that begin with `_` or `.` are left out.

    Args:
        address: A path, relative to the working directory or absolute, or an address such as `s3://…`.
        declared: The format; None: that of the files' endings.
        environment: Settings of object stores.

    Raises:
        InvalidRequest: There are no files, too many, folders nested too deep, or files whose common format does not
            follow from their endings.
        StorageUnavailable: Storage does not answer.
    """
    path = source_address(address)
    parent, _, name = path.rpartition("/")
    if parent.endswith(":/"):  # the root of a bucket
        parent, name = path, ""
    file_io = file_io_for(parent or "/", environment=environment)
    files = tuple(_bounded(_matching(file_io, parent, name), path))
    if not files:
        raise _refused(path, "there are no files", "names that begin with `_` or `.` are left out")
    return SourceFiles(
        address=path, file_io=file_io, files=files, format=declared or _common_format(path, files)
    )


def _matching(file_io: FileIO, parent: str, name: str) -> Iterator[FileStatus]:
    if not name:
        yield from _below(file_io, parent, 0)
        return
    for entry in file_io.list(parent or "/"):
        if not entry.is_directory and (
            entry.name == name or ("*" in name and fnmatchcase(entry.name, name))
        ):
            yield entry
        elif entry.is_directory and entry.name == name:
            yield from _below(file_io, entry.path, 0)


def _below(file_io: FileIO, folder: str, depth: int) -> Iterator[FileStatus]:
    if depth > _DEPTH_MAX:
        raise _refused(
            folder,
            f"folders are nested more than {_DEPTH_MAX} levels deep",
            "name one of the folders",
        )
    for entry in file_io.list(folder):
        if entry.name.startswith(_HIDDEN):
            continue
        if entry.is_directory:
            yield from _below(file_io, entry.path, depth + 1)
        else:
            yield entry


def _bounded(found: Iterator[FileStatus], path: str) -> list[FileStatus]:
    files = []
    for file in found:
        files.append(file)
        if len(files) > FILES_MAX:
            raise _refused(
                path, f"there are more than {FILES_MAX} files", "begin a backfill for each folder"
            )
    return sorted(files, key=lambda file: file.path)


def _common_format(path: str, files: tuple[FileStatus, ...]) -> FileFormat:
    formats = {_format_of(file.name) for file in files}
    (first, *others) = formats
    if first is None or others:
        shown = ", ".join(file.name for file in files[:3])
        raise _refused(
            path,
            f"the names of the files do not tell one common format: {shown}",
            f"give it: --format {'|'.join(FileFormat)}",
        )
    return first


def _format_of(name: str) -> FileFormat | None:
    plain = name.lower()
    for ending in _COMPRESSIONS:
        plain = plain.removesuffix(ending)
    return next((found for ending, found in _ENDINGS.items() if plain.endswith(ending)), None)


def _refused(path: str, message: str, hint: str) -> InvalidRequest:
    problem = Problem(field="--from", value=path, message=message, hint=hint)
    return InvalidRequest(_MESSAGE, problems=[problem])
