"""Thrift's compact protocol, as far as Parquet footers use it: parsed, changed, serialised.

```
struct  = (field)* 0x00
field   = 1 byte: delta of the field id << 4 | type      delta 0: the id follows as zigzag varint
list    = 1 byte: size << 4 | element type               size 15: the size follows as varint
i16/32/64 = zigzag varint      binary = varint length, bytes      double = 8 bytes
bool    = in a field: the type itself (1 true, 2 false); in a list: 1 byte
```

Footers have to declare types that Arrow's Parquet writer cannot declare (`braid.lake.files.parquet.int96`).
Values keep their wire types, so unchanged values are serialised as they were.
"""

from dataclasses import dataclass, field
from enum import IntEnum


class WireType(IntEnum):
    """Type codes of the compact protocol."""

    TRUE = 1
    FALSE = 2
    BYTE = 3
    I16 = 4
    I32 = 5
    I64 = 6
    DOUBLE = 7
    BINARY = 8
    LIST = 9
    SET = 10
    MAP = 11
    STRUCT = 12


@dataclass(slots=True)
class ThriftList:
    """A list and the wire type of its elements."""

    element: WireType
    items: "list[Value]" = field(default_factory=list)


@dataclass(slots=True)
class ThriftStruct:
    """A struct: wire type and value by field id."""

    fields: "dict[int, tuple[WireType, Value]]" = field(default_factory=dict)

    def integer(self, field_id: int) -> int:
        """Return an integer field."""
        value = self.fields[field_id][1]
        assert isinstance(value, int), f"field {field_id} is not an integer"
        return value

    def text(self, field_id: int) -> str:
        """Return a string field."""
        value = self.fields[field_id][1]
        assert isinstance(value, bytes), f"field {field_id} is not a string"
        return value.decode()

    def struct(self, field_id: int) -> "ThriftStruct":
        """Return a struct field."""
        value = self.fields[field_id][1]
        assert isinstance(value, ThriftStruct), f"field {field_id} is not a struct"
        return value

    def texts(self, field_id: int) -> list[str]:
        """Return a field that is a list of strings."""
        value = self.fields[field_id][1]
        assert isinstance(value, ThriftList), f"field {field_id} is not a list"
        return [item.decode() for item in value.items if isinstance(item, bytes)]

    def structs(self, field_id: int) -> "list[ThriftStruct]":
        """Return a field that is a list of structs."""
        value = self.fields[field_id][1]
        assert isinstance(value, ThriftList), f"field {field_id} is not a list"
        return [item for item in value.items if isinstance(item, ThriftStruct)]


Value = bool | int | bytes | ThriftList | ThriftStruct
"""A double is kept as its 8 bytes; nothing here computes with one."""


def parse_struct(data: bytes) -> ThriftStruct:
    """Parse one struct that starts at the first byte; bytes after its end are ignored."""
    return _Parser(data).struct()


def serialize_struct(struct: ThriftStruct) -> bytes:
    """Return the bytes of a struct."""
    out = bytearray()
    _write_struct(out, struct)
    return bytes(out)


class _Parser:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def struct(self) -> ThriftStruct:
        result = ThriftStruct()
        field_id = 0
        # A zero byte ends the struct: type code 0 is none of the types.
        while header := self._byte():
            delta, code = header >> 4, header & 0x0F
            # Ids are deltas to the previous field; where a delta is not from 1 to 15, the id itself follows.
            field_id = field_id + delta if delta else self._zigzag()
            wire_type = WireType(code)
            result.fields[field_id] = (wire_type, self._field_value(wire_type))
        return result

    def _field_value(self, wire_type: WireType) -> Value:
        # In a field the type code itself is the value of a boolean; no byte follows.
        if wire_type in (WireType.TRUE, WireType.FALSE):
            return wire_type is WireType.TRUE
        return self._value(wire_type)

    def _value(self, wire_type: WireType) -> Value:
        match wire_type:
            case WireType.TRUE | WireType.FALSE:
                # A boolean in a list takes one byte.
                return self._byte() == WireType.TRUE
            case WireType.BYTE:
                return self._byte()
            case WireType.I16 | WireType.I32 | WireType.I64:
                return self._zigzag()
            case WireType.DOUBLE:
                return self._take(8)
            case WireType.BINARY:
                return self._take(self._varint())
            case WireType.LIST | WireType.SET:
                return self._list()
            case WireType.STRUCT:
                return self.struct()
            case WireType.MAP:
                message = f"found a map at byte {self._position} of a Parquet footer, expected none"
                raise ValueError(message)

    def _list(self) -> ThriftList:
        header = self._byte()
        size = header >> 4
        if size == 15:  # four bits of ones: the size did not fit
            size = self._varint()
        element = WireType(header & 0x0F)
        return ThriftList(element, [self._value(element) for _ in range(size)])

    def _byte(self) -> int:
        value = self._data[self._position]
        self._position += 1
        return value

    def _take(self, count: int) -> bytes:
        value = self._data[self._position : self._position + count]
        if len(value) < count:
            message = f"a footer of {len(self._data)} bytes ends inside of a value of {count} bytes"
            raise ValueError(message)
        self._position += count
        return value

    def _varint(self) -> int:
        result = shift = 0
        while True:
            byte = self._byte()
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return result
            shift += 7

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)


def _write_struct(out: bytearray, struct: ThriftStruct) -> None:
    previous = 0
    # Ids ascend, as writers of Parquet order them: then nearly every delta fits into its four bits.
    for field_id in sorted(struct.fields):
        wire_type, value = struct.fields[field_id]
        if isinstance(value, bool):
            # A changed boolean changes its type code.
            wire_type = WireType.TRUE if value else WireType.FALSE
        delta = field_id - previous
        if 0 < delta <= 15:
            out.append(delta << 4 | wire_type)
        else:
            out.append(wire_type)
            _write_zigzag(out, field_id)
        previous = field_id
        if not isinstance(value, bool):
            _write_value(out, wire_type, value)
    out.append(0)


def _write_value(out: bytearray, wire_type: WireType, value: Value) -> None:
    match value:
        case bool():  # before `int()`, of which bool is a subclass
            out.append(WireType.TRUE if value else WireType.FALSE)
        case int() if wire_type is WireType.BYTE:
            out.append(value)
        case int():
            _write_zigzag(out, value)
        case bytes():
            # The 8 bytes of a double have no length before them.
            if wire_type is WireType.BINARY:
                _write_varint(out, len(value))
            out += value
        case ThriftList(element, items):
            size = len(items)
            out.append(min(size, 15) << 4 | element)
            if size >= 15:
                _write_varint(out, size)
            for item in items:
                _write_value(out, element, item)
        case ThriftStruct():
            _write_struct(out, value)


def _write_zigzag(out: bytearray, value: int) -> None:

    _write_varint(out, (value << 1) ^ (value >> 63))


def _write_varint(out: bytearray, value: int) -> None:
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
