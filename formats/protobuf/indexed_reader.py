"""Reader of Protobuf messages that name their type by its place in their schema's file (Confluent's wire format).

Behind the id of the schema stands a list of numbers as zigzag varints: their count, then the index of a message
in the file, the index of one inside of it, and so on. A count of 0 stands for the first message of the file.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.fault import Faults, malformed
from braid.formats.joined_messages import ReadPart, joined_messages
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import ReadMessages
from braid.formats.protobuf.errors import ProtobufSchemaError
from braid.formats.protobuf.reader import ProtobufReader
from braid.formats.protobuf.schema import REGISTERED, MessageType, message_names, pool_of
from braid.formats.schema_registry.recent_entries import RecentEntries

_FIRST: Final = b"\x00"
_INDEXES_MAX: Final = 64
_VARINT_BYTES_MAX: Final = 5
_READERS_MAX: Final = 256


class IndexedProtobufReader:
    """Reads Protobuf messages of the types of one file."""

    def __init__(
        self,
        files: Mapping[str, Any],
        columns: Sequence[MappedColumn],
        *,
        paths_of_other_streams: Sequence[tuple[str, ...]] = (),
        finds_undeclared: bool = False,
    ) -> None:
        """Prepare to read.

        Args:
            files: The descriptors of the schema's file (`REGISTERED`) and of all that it imports, by name.
            columns: The columns, with their paths in the message.
            paths_of_other_streams: Paths that other streams of the table read from the same topic.
            finds_undeclared: Whether messages with fields from which no column is read are reported.

        Raises:
            ProtobufSchemaError: The files have no message, or are wrong.
        """
        self._pool = pool_of(files)
        self._names = message_names(files[REGISTERED])
        self._columns = tuple(columns)
        self._options: dict[str, Any] = {
            "paths_of_other_streams": paths_of_other_streams,
            "finds_undeclared": finds_undeclared,
        }
        self._readers = RecentEntries[tuple[int, ...], ProtobufReader](
            count_max=_READERS_MAX, size_max=_READERS_MAX
        )
        self._reader((0,))

    def read(self, payloads: pa.BinaryArray) -> ReadMessages:
        """Return the columns of a batch of messages (see `MessageReader.read`)."""
        if pc.all(pc.equal(pc.binary_slice(payloads, 0, 1), _FIRST)).as_py():
            # Not `binary_slice`: without an end it computes a negative size.
            return self._reader((0,)).read(pc.binary_replace_slice(payloads, 0, 1, b""))
        faults = Faults(len(payloads))
        found: dict[tuple[int, ...], tuple[list[int], list[bytes]]] = {}
        for row, payload in enumerate(payloads.to_pylist()):
            if payload is None:
                continue
            try:
                indexes, body = _split_indexes(payload)
            except ValueError as error:
                faults.add(row, malformed(str(error)))
                continue
            rows, bodies = found.setdefault(indexes, ([], []))
            rows.append(row)
            bodies.append(body)
        parts = []
        for indexes, (rows, bodies) in found.items():
            try:
                reader = self._reader(indexes)
            except ProtobufSchemaError as error:
                faults.add_all(rows, malformed(str(error)))
            else:
                messages = reader.read(pa.array(bodies, pa.binary()))
                parts.append(ReadPart(np.array(rows, np.int64), messages))
        return joined_messages(parts, self._columns, faults)

    def tree(self, payload: bytes) -> Any:
        """Return a message as dicts, lists and scalars (see `MessageReader.tree`)."""
        indexes, body = _split_indexes(payload)
        return self._reader(indexes).tree(body)

    def _reader(self, indexes: tuple[int, ...]) -> ProtobufReader:
        known = self._readers.get(indexes)
        if known is not None:
            return known
        name = self._names.get(indexes)
        if name is None:
            text = f"no message of the indexes {list(indexes)}"
            raise ProtobufSchemaError(text)
        message = MessageType(self._pool.FindMessageTypeByName(name))
        reader = ProtobufReader(message, self._columns, **self._options)
        self._readers.put(indexes, reader, size=1)
        return reader


def _split_indexes(payload: bytes) -> tuple[tuple[int, ...], bytes]:
    """Return the indexes of a message's type, and the message behind them.

    Raises:
        ValueError: It does not begin with indexes.
    """
    count, position = _varint(payload, 0)
    if not 0 <= count <= _INDEXES_MAX:
        message = f"found {count} indexes of a message type, expected at most {_INDEXES_MAX}"
        raise ValueError(message)
    indexes = []
    for _ in range(count):
        index, position = _varint(payload, position)
        indexes.append(index)
    return tuple(indexes) or (0,), payload[position:]


def _varint(payload: bytes, position: int) -> tuple[int, int]:
    """Return a zigzag varint, and the position behind it."""
    number = 0
    for place, byte in enumerate(payload[position : position + _VARINT_BYTES_MAX]):
        number |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), position + place + 1
    message = "ends within the indexes of its message type"
    raise ValueError(message)
