"""Reader of CSV messages: each message is one record of separated values; a quoted value may have line breaks."""

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from braid.formats.fault import Fault, Faults, malformed, not_utf8
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import ReadMessages
from braid.formats.text_values import text_column
from braid.schemas import CsvFormat

_VALUE_CHARACTERS_MAX: Final = (1 << 31) - 1


class CsvReader:
    """Reads lines of separated values."""

    def __init__(self, columns: Sequence[MappedColumn], declared: CsvFormat) -> None:
        """Prepare to read.

        Args:
            columns: The columns; the path of each names one of the format's fields.
            declared: The format as declared.
        """
        self._columns = tuple(columns)
        self._format = declared
        # The parser's own bound of a quoted value is 128 KiB; the length of messages is bounded by the stream.
        csv.field_size_limit(_VALUE_CHARACTERS_MAX)
        self._indexes = [declared.fields.index(column.address) for column in columns]

    def read(self, payloads: pa.BinaryArray) -> ReadMessages:
        """Return the columns of a batch of messages (see `MessageReader.read`)."""
        faults = Faults(len(payloads))
        texts: list[list[str | None]] = [[None] * len(payloads) for _ in self._columns]
        null = self._format.null_text
        for row, payload in enumerate(payloads.to_pylist()):
            if payload is None:
                continue
            found = self._values(payload)
            if isinstance(found, Fault):
                faults.add(row, found)
                continue
            for values, index in zip(texts, self._indexes, strict=True):
                values[row] = None if found[index] == null else found[index]
        arrays = [
            text_column(values, column, faults, subject=f"field {column.address}")
            for values, column in zip(texts, self._columns, strict=True)
        ]
        return ReadMessages(arrays=arrays, faults=faults, with_undeclared=[])

    def tree(self, payload: bytes) -> Any:
        """Return a message as a dict of texts (see `MessageReader.tree`)."""
        found = self._values(payload)
        if not isinstance(found, Fault):
            return dict(zip(self._format.fields, found, strict=True))
        raise ValueError(found.message)

    def _values(self, payload: bytes) -> list[str] | Fault:
        """Return the values of one line, one for each field, or the fault."""
        try:
            text = payload.decode()
        except UnicodeDecodeError as error:
            return not_utf8(error)
        text = text.removesuffix("\n").removesuffix("\r")
        is_plain = self._format.quote not in text and "\n" not in text and "\r" not in text
        try:
            # Each message by itself: an open quote must not take the next message in.
            lines = (
                [text.split(self._format.delimiter)]
                if is_plain and text
                else list(self._parsed(text))
            )
        except csv.Error as error:
            return malformed(f"not CSV: {error}")
        if len(lines) != 1:
            return malformed(f"found {len(lines)} lines, expected one")
        (values,) = lines
        if len(values) != len(self._format.fields):
            return malformed(f"found {len(values)} values, expected {len(self._format.fields)}")
        return values

    def _parsed(self, text: str) -> Iterator[list[str]]:
        return csv.reader(
            io.StringIO(text, newline=""),
            delimiter=self._format.delimiter,
            quotechar=self._format.quote,
            strict=True,
        )
