"""Types of Protobuf messages by their indexes in a file, as messages in Confluent's wire format name them.

A list of numbers follows the id of the schema, as zigzag varints: the count, then the index of a message type in the file, then
the index of a type nested in that type, and so on. A count of 0 means the first message type of the file.
"""

from collections.abc import Mapping
from typing import Any, Final

from braid.formats.protobuf.errors import ProtobufSchemaError
from braid.formats.protobuf.schema import REGISTERED, MessageType, message_names, pool_of

_INDEXES_MAX: Final = 64
_VARINT_BYTES_MAX: Final = 5


class IndexedTypes:
    """The types of one file."""

    def __init__(self, files: Mapping[str, Any]) -> None:
        """Prepare the types.

        Args:
            files: The descriptors of the schema's file (`REGISTERED`) and of all that it imports, by name.

        Raises:
            ProtobufSchemaError: The files are wrong.
        """
        self._pool = pool_of(files)
        self._names = message_names(files[REGISTERED])

    def type_at(self, indexes: tuple[int, ...]) -> MessageType:
        """Return the type of the messages of some indexes.

        Raises:
            ProtobufSchemaError: The file has no such message.
        """
        name = self._names.get(indexes)
        if name is None:
            text = f"it has no message with the indexes {list(indexes)}"
            raise ProtobufSchemaError(text)
        return MessageType(self._pool.FindMessageTypeByName(name))


def split_indexes(payload: bytes) -> tuple[tuple[int, ...], bytes]:
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
    message = "the message ends within the indexes of its message type"
    raise ValueError(message)
