"""Reader of the rows of unwrapped events, in which fields of the event are fields of the row, prefixed with two underscores.

A column can be read from such a field as from any other, but such a field is never reported as undeclared.
"""

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import MessageReader, ReadMessages

PREFIX: Final = "__"
"""Prefix of the names of an event's parts."""


class UnwrappedRowReader:
    """Reads rows; fields of the event around them are no fields that a stream could declare."""

    def __init__(self, columns: Sequence[MappedColumn], rows: MessageReader) -> None:
        """Prepare to read.

        Args:
            columns: The columns.
            rows: The reader of the columns.
        """
        self._read = frozenset(column.path[0] for column in columns)
        self._rows = rows

    def read(self, payloads: pa.BinaryArray) -> ReadMessages:
        """Return the columns of a batch of rows (see `MessageReader.read`)."""
        return self._rows.read(payloads)

    def tree(self, payload: bytes) -> Any:
        """Return a row as dicts, lists and scalars (see `MessageReader.tree`)."""
        found = self._rows.tree(payload)
        if isinstance(found, dict):
            for name in [name for name in found if name.startswith(PREFIX)]:
                if name not in self._read:
                    del found[name]
        return found
