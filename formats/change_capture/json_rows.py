"""Reader of rows that are JSON objects. If the event of a row had a schema, the row is read by that schema.

In Canal's messages the schema consists of the types that a message names for its rows; it does not change how the rows are read.

If the event of a row had a schema, the number of the schema precedes the row, in a frame like that of Confluent's wire format.
So rows stay plain arrays of bytes until they are read. A row without a schema is framed too if its first byte is the first byte
of a frame: the rows of MongoDB are texts from the event, so they may begin with any byte.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.change_capture.envelopes import NO_SCHEMA, KnownSchemas
from braid.formats.fault import Faults
from braid.formats.joined_messages import ReadPart, joined_messages
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import MessageReader, ReadMessages
from braid.formats.wire_format import split_header, split_headers

_FRAMED: Final = b"\x00"
_UNKNOWN: Final = 0xFFFFFFFF  # the number in the frame of a row without a schema
_READERS_MAX: Final = 100


def framed_rows(rows: pa.BinaryArray, schemas: np.ndarray) -> pa.BinaryArray:
    """Return rows with the numbers of their schemas in front.

    Args:
        rows: JSON texts.
        schemas: For each row the number of its schema, or `NO_SCHEMA`.
    """
    is_ambiguous = pc.starts_with(rows, _FRAMED).fill_null(False).to_numpy(zero_copy_only=False)
    if (schemas == NO_SCHEMA).all() and not is_ambiguous.any():
        return rows
    numbers = np.where(is_ambiguous & (schemas == NO_SCHEMA), _UNKNOWN, schemas)
    frames = [
        b"" if one == NO_SCHEMA else _FRAMED + one.to_bytes(4, "big") for one in numbers.tolist()
    ]
    nothing = pa.scalar(b"", pa.binary())
    return pc.binary_join_element_wise(pa.array(frames, pa.binary()), rows, nothing)


def schema_of_row(payload: bytes, known: KnownSchemas) -> bytes | None:
    """Return the JSON text of the schema of a row's event; None if it had none.

    Args:
        payload: The row, as `framed_rows` returns it.
        known: The schemas of the events that were opened last.
    """
    if not payload.startswith(_FRAMED):
        return None
    number, _ = split_header(payload)
    return None if number == _UNKNOWN else known.text(number)


class JsonRowReader:
    """Reads the rows of one stream."""

    def __init__(
        self,
        columns: Sequence[MappedColumn],
        known: KnownSchemas,
        reader_of: Callable[[bytes | None], MessageReader],
    ) -> None:
        """Prepare to read.

        Args:
            columns: The columns.
            known: The schemas of the events that were opened last.
            reader_of: Returns the reader of the rows of a schema, by its JSON text; None: of those without one.
        """
        self._columns = tuple(columns)
        self._known = known
        self._reader_of = reader_of
        self._plain = reader_of(None)
        self._readers: dict[bytes, MessageReader] = {}

    def read(self, payloads: pa.BinaryArray) -> ReadMessages:
        """Return the columns of a batch of rows (see `MessageReader.read`)."""
        is_framed = pc.starts_with(payloads, _FRAMED).fill_null(False)
        if not pc.any(is_framed).as_py():
            return self._plain.read(payloads)
        mask = is_framed.to_numpy(zero_copy_only=False)
        framed = split_headers(pc.if_else(is_framed, payloads, pa.scalar(None, payloads.type)))
        others = np.flatnonzero(~mask)
        parts = [ReadPart(others, self._plain.read(payloads.take(pa.array(others))))]
        for number in np.unique(framed.ids[mask]).tolist():
            rows = np.flatnonzero(framed.ids == number)
            bodies = framed.bodies.take(pa.array(rows))
            parts.append(ReadPart(rows, self._reader(number).read(bodies)))
        return joined_messages(parts, self._columns, Faults(len(payloads)))

    def tree(self, payload: bytes) -> Any:
        """Return a row as dicts, lists and scalars (see `MessageReader.tree`)."""
        if not payload.startswith(_FRAMED):
            return self._plain.tree(payload)
        number, body = split_header(payload)
        return self._reader(number).tree(body)

    def _reader(self, number: int) -> MessageReader:
        if number == _UNKNOWN:
            return self._plain
        text = self._known.text(number)
        found = self._readers.get(text)
        if found is None:
            if len(self._readers) >= _READERS_MAX:
                self._readers.clear()
            found = self._readers[text] = self._reader_of(text)
        return found
