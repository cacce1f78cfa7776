"""Reader of rows of unwrapped events, in which parts of the event are fields of the row, with two underscores in front.

Such fields are read like all others, but are not found as new ones.
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
