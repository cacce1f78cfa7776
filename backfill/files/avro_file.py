"""Avro file of a backfill: blocks of records, decoded one by one and read as JSON, which loses nothing (`json_text`)."""

from collections.abc import Iterator, Sequence
from itertools import islice
from types import TracebackType
from typing import IO, Any, Self, cast

import fastavro
import numpy as np
import pyarrow as pa

from braid.backfill.files.opened_file import ROWS_MAX, FileRows, damaged, shown_text
from braid.backfill.json_text import json_text
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import MessageReader
from braid.formats.readers import message_reader
from braid.lake import FileIO, FileStatus
from braid.schemas import JsonFormat


class AvroFile:
    """An Avro object container file (see `OpenedFile`)."""

    def __init__(self, file_io: FileIO, file: FileStatus) -> None:
        """Read the header.

        Raises:
            InvalidRequest: The file is no Avro file of records.
        """
        self._path, self._size = file.path, max(1, file.size)
        # All that is read of it is what `IO` has.
        self._input = cast(IO[bytes], file_io.open_input(file.path))
        try:
            self._blocks = fastavro.block_reader(self._input)
            schema: Any = self._blocks.writer_schema
            self._names = frozenset(field["name"] for field in schema["fields"])
        except (ValueError, KeyError, TypeError, EOFError) as error:
            self._input.close()
            raise damaged(file.path, error) from error

    def has_field(self, path: tuple[str, ...]) -> bool:
        """Return whether the records have a field (see `OpenedFile`); inside of a field, any may be there."""
        return path[0] in self._names

    def misfit(self, column: MappedColumn) -> str | None:
        """Return None: a union has values of several kinds."""
        del column
        return None

    def reader_of(self, columns: Sequence[MappedColumn]) -> MessageReader:
        """Return the reader of columns (see `OpenedFile`)."""
        return message_reader(JsonFormat(), columns)

    def rows(self, skipped: int) -> Iterator[FileRows]:
        """Yield the rows from one on (see `OpenedFile`)."""
        row = 0
        try:
            for block in self._blocks:
                left = max(0, skipped - row)
                row += block.num_records
                if left >= block.num_records:
                    continue
                first = row - block.num_records + left
                records = islice(block, left, None)
                while texts := [_text(record) for record in islice(records, ROWS_MAX)]:
                    yield FileRows(
                        first=first,
                        count=len(texts),
                        payloads=pa.array(texts, pa.binary()),
                        numbers=np.arange(first, first + len(texts)),
                        done=min(1.0, int(self._input.tell()) / self._size),
                    )
                    first += len(texts)
        except (ValueError, KeyError, IndexError, EOFError, ArithmeticError) as error:
            raise damaged(self._path, error) from error

    def shown(self, payload: bytes) -> dict[str, Any]:
        """Return the record as JSON (see `OpenedFile`)."""
        return shown_text(payload)

    def __enter__(self) -> Self:
        """Return the file."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self._input.close()


def _text(record: Any) -> bytes:
    return json_text(record).encode("utf-8", "surrogatepass")
