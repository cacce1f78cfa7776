"""Exact decoder: returns one Avro message as native values, or the reason why its bytes are no message of the schema.

A message that is nested too deeply is treated as invalid, and so is a message with too many values of zero bytes.

Source: Apache Avro 1.12 specification, "Binary Encoding".
"""

import struct
import uuid
from collections.abc import Iterator
from decimal import Context, Decimal
from typing import Any, Final

import numpy as np

from braid.formats.avro.schema import EMPTY_VALUES_MAX, NESTING_MAX, AvroKind, AvroType
from braid.formats.json.message import json_object
from braid.formats.native.kinds import NativeKind
from braid.formats.native.values import Unreadable

_VARINT_BYTES_MAX: Final = 10
_DECIMAL_BYTES_MAX: Final = 256
_WIDE: Final = Context(prec=1_000)


class AvroValueError(ValueError):
    """Bytes are no message of a schema."""


def decode_avro(payload: bytes, record: AvroType) -> dict[str, Any]:
    """Return a message as a dict of native values (`native.values`).

    Args:
        payload: The bytes of one record and nothing else.
        record: Its type.

    Raises:
        AvroValueError: The bytes are no message of that type.
    """
    decoder = _Decoder(payload, EMPTY_VALUES_MAX - record.empty_values)
    found: dict[str, Any] = decoder.value(record, 0)
    left = len(payload) - decoder.position
    if left:
        message = f"{left} bytes follow the record"
        raise AvroValueError(message)
    return found


class _Decoder:
    def __init__(self, data: bytes, empty_left: int) -> None:
        self._data = data
        self._empty_left = empty_left
        self.position = 0

    def value(self, declared: AvroType, depth: int) -> Any:
        if depth > NESTING_MAX:
            message = f"nested more than {NESTING_MAX} levels deep"
            raise AvroValueError(message)
        match declared.kind:
            case AvroKind.UNION:
                index = self._index(len(declared.branches), "branch of a union")
                branch = declared.branches[index]
                self._count_empty(branch.empty_parts)
                return self.value(branch, depth)
            case AvroKind.RECORD:
                return {name: self.value(part, depth + 1) for name, part in declared.fields.items()}
            case AvroKind.ARRAY:
                assert declared.item is not None, "an array has a type of items"
                return self._list(declared.item, depth + 1)
            case AvroKind.MAP:
                assert declared.item is not None, "a map has a type of values"
                return self._map(declared.item, depth + 1)
            case _:
                return self._leaf(declared)

    def _leaf(self, declared: AvroType) -> Any:
        assert declared.leaf is not None, "a type without parts is a leaf"
        leaf = declared.leaf
        match declared.kind:
            case AvroKind.NULL:
                return None
            case AvroKind.BOOLEAN:
                return self._boolean()
            case AvroKind.INT | AvroKind.LONG:
                return leaf.native(self._long(32 if declared.kind is AvroKind.INT else 64))
            case AvroKind.FLOAT:
                return np.float32(struct.unpack("<f", self._take(4))[0])
            case AvroKind.DOUBLE:
                return struct.unpack("<d", self._take(8))[0]
            case AvroKind.STRING:
                return self._text()
            case AvroKind.ENUM:
                return declared.symbols[self._index(len(declared.symbols), "symbol of an enum")]
            case _:
                size = declared.size if declared.kind is AvroKind.FIXED else self._length()
                return _of_bytes(self._take(size), declared)

    def _list(self, item: AvroType, depth: int) -> list[Any]:
        found: list[Any] = []
        for count in self._blocks():
            self._count_empty(count * item.empty_values)
            if item.is_empty:  # all alike, and none costs a step
                found += [self.value(item, depth)] * count
            else:
                found += [self.value(item, depth) for _ in range(count)]
        return found

    def _map(self, item: AvroType, depth: int) -> dict[str, Any]:
        pairs: list[tuple[str, Any]] = []
        for count in self._blocks():
            self._count_empty(count * item.empty_parts)
            pairs += [(self._text(), self.value(item, depth)) for _ in range(count)]
        return json_object(pairs)

    def _blocks(self) -> Iterator[int]:
        """Yield the number of items of each block, whose bytes the caller takes."""
        while count := self._long(64):
            if count < 0:
                self._length()  # the block's size in bytes
            yield abs(count)

    def _count_empty(self, values: int) -> None:
        self._empty_left -= values
        if self._empty_left < 0:
            message = f"more than {EMPTY_VALUES_MAX} values that take no bytes"
            raise AvroValueError(message)

    def _text(self) -> str:
        data = self._take(self._length())
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            message = f"a text is not UTF-8: {error.reason} at byte {self.position - len(data) + error.start}"
            raise AvroValueError(message) from error

    def _boolean(self) -> bool:
        byte = self._take(1)[0]
        if byte > 1:
            message = f"found {byte} at byte {self.position - 1}, expected 0 or 1 for a boolean"
            raise AvroValueError(message)
        return byte == 1

    def _index(self, count: int, what: str) -> int:
        at = self.position
        index = self._long(64)
        if not 0 <= index < count:
            message = f"found {index} at byte {at}, expected a {what}, 0 to {count - 1}"
            raise AvroValueError(message)
        return index

    def _length(self) -> int:
        at = self.position
        length = self._long(64)
        if length < 0:
            message = f"the length at byte {at} is negative"
            raise AvroValueError(message)
        return length

    def _take(self, size: int) -> bytes:
        found = self._data[self.position : self.position + size]
        if len(found) < size:
            message = f"the message ends {size - len(found)} bytes too early"
            raise AvroValueError(message)
        self.position += size
        return found

    def _long(self, bits: int) -> int:
        at, number, shift = self.position, 0, 0
        # Most lengths, branches and numbers have one byte.
        byte = self._data[at] if at < len(self._data) else 0x80
        if byte < 0x80:
            self.position = at + 1
            return (byte >> 1) ^ -(byte & 1)
        while True:
            byte = self._take(1)[0]
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
            if shift == 7 * _VARINT_BYTES_MAX:
                break
        if byte >= 0x80 or number >> bits:
            message = f"the number at byte {at} has more than {bits} bits"
            raise AvroValueError(message)
        return (number >> 1) ^ -(number & 1)


def _of_bytes(data: bytes, declared: AvroType) -> Any:
    """Return the native value of a type that is encoded as bytes."""
    assert declared.leaf is not None, "a type without parts is a leaf"
    match declared.leaf.kind:
        case NativeKind.DECIMAL if len(data) > _DECIMAL_BYTES_MAX:
            return Unreadable(f"a decimal of {len(data)} bytes")
        case NativeKind.DECIMAL:
            unscaled = Decimal(int.from_bytes(data, "big", signed=True))
            return _WIDE.scaleb(unscaled, -declared.scale)
        case NativeKind.TEXT:
            return str(uuid.UUID(bytes=data))
        case _:
            return declared.leaf.native(data)
