"""CSV file of a backfill: the first line has the names of the fields, and each record after it is a row."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from pydantic import ValidationError

from braid.backfill.files.damage import damaged
from braid.backfill.files.opened_file import FileRows
from braid.backfill.files.present_fields import reader_of_present
from braid.backfill.files.text_file import TextFile
from braid.backfill.files.text_payloads import TextPayloads
from braid.backfill.files.text_records import csv_records
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import MessageReader
from braid.formats.readers import message_reader
from braid.lake import FileIO, FileStatus
from braid.schemas import CsvFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvOptions:
    """How CSV files are written.

    Attributes:
        delimiter: The character between two values.
        quote: The character around values.
        null_text: The text that stands for null.
    """

    delimiter: str = ","
    quote: str = '"'
    null_text: str = ""

    def values(self) -> list[str]:
        """Return the options, for a digest."""
        return [self.delimiter, self.quote, self.null_text]


class CsvFile(TextPayloads):
    """A CSV file (see `OpenedFile`)."""

    def __init__(
        self, file_io: FileIO, file: FileStatus, options: CsvOptions, *, record_bytes_max: int
    ) -> None:
        """Read the line of names.

        Args:
            file_io: Its storage.
            file: The file.
            options: How it is written.
            record_bytes_max: A longer record is cut, and its parts are refused.

        Raises:
            InvalidRequest: The file has no line of names.
        """
        self._records_of = partial(
            csv_records, quote=options.quote, record_bytes_max=record_bytes_max
        )
        names = _names(file_io, file, options, self._records_of)
        try:
            self._format = CsvFormat(
                fields=names,
                delimiter=options.delimiter,
                quote=options.quote,
                null_text=options.null_text,
            )
        except ValueError as error:
            why = f"the first line is not a line of column names: {_first_reason(error)}"
            raise damaged(file.path, why) from error
        self._text = TextFile(file_io, file)

    def has_field(self, path: tuple[str, ...]) -> bool:
        """Return whether the file has a field (see `OpenedFile`)."""
        return ".".join(path) in self._format.fields

    def reader_of(self, columns: Sequence[MappedColumn]) -> MessageReader:
        """Return the reader of columns (see `OpenedFile`)."""
        return reader_of_present(
            columns, partial(message_reader, self._format), has_field=self.has_field
        )

    def rows(self, skipped: int) -> Iterator[FileRows]:
        """Yield the rows from one on (see `OpenedFile`)."""
        yield from self._text.rows(self._records_of, skipped=skipped, names=1)

    def close(self) -> None:
        """Close the file."""
        self._text.close()


def _first_reason(error: ValueError) -> str:
    reasons = error.errors() if isinstance(error, ValidationError) else []
    return str(reasons[0]["msg"]) if reasons else str(error)


def _names(
    file_io: FileIO, file: FileStatus, options: CsvOptions, records_of: "partial[Any]"
) -> tuple[str, ...]:
    text = TextFile(file_io, file)
    try:
        first = next(islice(text.rows(records_of, skipped=0), 1), None)
    finally:
        text.close()
    try:
        is_there = first is not None and len(first.numbers) and first.numbers[0] == 0
        line = first.payloads[0].as_py().decode() if first is not None and is_there else ""
        (names,) = csv.reader(
            io.StringIO(line, newline=""), delimiter=options.delimiter, quotechar=options.quote
        )
    except (ValueError, csv.Error) as error:  # no line, not UTF-8, or a name that is too long
        raise damaged(file.path, "the first line is not a line of column names") from error
    unnamed = [name for name in names if not name.strip() or names.count(name) > 1]
    if unnamed:
        raise damaged(
            file.path,
            f"the first line has the column name {unnamed[0]!r}, which is empty or occurs twice",
        )
    return tuple(names)
