"""JSON file of a backfill: each line is one JSON object."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from braid.backfill.files.opened_file import FileRows
from braid.backfill.files.text_file import TextFile
from braid.backfill.files.text_payloads import TextPayloads
from braid.backfill.files.text_records import line_records
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import MessageReader
from braid.formats.readers import message_reader
from braid.lake import FileIO, FileStatus
from braid.schemas import JsonFormat


class JsonFile(TextPayloads):
    """A file of JSON lines (see `OpenedFile`)."""

    has_field: Final = None

    def __init__(self, file_io: FileIO, file: FileStatus, *, record_bytes_max: int) -> None:
        """Open the file.

        Args:
            file_io: Its storage.
            file: The file.
            record_bytes_max: A longer line is cut, and its parts are refused.
        """
        self._text = TextFile(file_io, file)
        self._record_bytes_max = record_bytes_max

    def reader_of(self, columns: Sequence[MappedColumn]) -> MessageReader:
        """Return the reader of columns (see `OpenedFile`)."""
        return message_reader(JsonFormat(), columns)

    def rows(self, skipped: int) -> Iterator[FileRows]:
        """Yield the rows from one on (see `OpenedFile`)."""
        records_of = partial(line_records, record_bytes_max=self._record_bytes_max)
        yield from self._text.rows(records_of, skipped=skipped)

    def close(self) -> None:
        """Close the file."""
        self._text.close()
