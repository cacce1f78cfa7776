"""Avro file of a backfill: its records are decoded block by block, converted to JSON text (`json_text`) and read as JSON.

A file is refused if its compression needs a package that is not installed.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from itertools import islice
from typing import IO, Any, Final, cast

import fastavro
import numpy as np
import pyarrow as pa

from braid.backfill.files.damage import decoded, decoding
from braid.backfill.files.opened_file import ROWS_MAX, FileRows
from braid.backfill.files.text_payloads import TextPayloads
from braid.backfill.json_text import json_text
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import MessageReader
from braid.formats.readers import message_reader
from braid.lake import FileIO, FileStatus, InvalidRequest, Problem
from braid.schemas import JsonFormat

_PACKAGES: Final[Mapping[str, str]] = {"snappy": "cramjam", "lz4": "lz4"}
"""Packages by which fastavro decompresses, of codecs that need one that is not installed with it."""


class AvroFile(TextPayloads):
    """An Avro object container file (see `OpenedFile`)."""

    def __init__(self, file_io: FileIO, file: FileStatus) -> None:
        """Read the header.

        Raises:
            InvalidRequest: The file is no Avro file of records, or a package that decompresses it is not installed.
        """
        self._path, self._size = file.path, max(1, file.size)
        # All that is read of it is what `IO` has.
        self._input = cast(IO[bytes], file_io.open_input(file.path))
        with ExitStack() as failed:
            failed.callback(self._input.close)
            with decoding(file.path):
                self._blocks = fastavro.block_reader(self._input)
                schema: Any = self._blocks.writer_schema
                self._names = frozenset(field["name"] for field in schema["fields"])
                _check_codec(file.path, self._blocks.codec)
            failed.pop_all()

    def has_field(self, path: tuple[str, ...]) -> bool:
        """Return whether the records have a field (see `OpenedFile`); inside of a field, any may be there."""
        return path[0] in self._names

    def reader_of(self, columns: Sequence[MappedColumn]) -> MessageReader:
        """Return the reader of columns (see `OpenedFile`)."""
        return message_reader(JsonFormat(), columns)

    def rows(self, skipped: int) -> Iterator[FileRows]:
        """Yield the rows from one on (see `OpenedFile`)."""
        row = 0
        for block in decoded(self._path, self._blocks):
            left = max(0, skipped - row)
            row += block.num_records
            if left >= block.num_records:
                continue
            first = row - block.num_records + left
            records = decoded(self._path, islice(block, left, None))
            while texts := [_text(record) for record in islice(records, ROWS_MAX)]:
                yield FileRows(
                    first=first,
                    count=len(texts),
                    payloads=pa.array(texts, pa.binary()),
                    numbers=np.arange(first, first + len(texts)),
                    done=min(1.0, int(self._input.tell()) / self._size),
                )
                first += len(texts)

    def close(self) -> None:
        """Close the file."""
        self._input.close()


def _check_codec(path: str, codec: str | None) -> None:
    package = _PACKAGES.get(codec or "")
    if package is None or find_spec(package) is not None:
        return
    problem = Problem(
        field="--from",
        value=path,
        message=f"the file is compressed with {codec}, for which the package {package} is not installed",
        hint=f"pip install {package}, or write the file with another codec, such as deflate or zstandard",
    )
    message = f"{path} cannot be read"
    raise InvalidRequest(message, problems=[problem])


def _text(record: Any) -> bytes:
    return json_text(record).encode("utf-8", "surrogatepass")
