"""Conversion of Protobuf messages to native values.

Fields with presence (message fields, `optional`, `oneof`, proto2) are left out if the message does not have them. Fields
without presence always have a value, which may be their default.
"""

from typing import Any

import numpy as np
from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor

from braid.formats.field_tree import FieldTree
from braid.formats.native.kinds import NativeKind
from braid.formats.native.values import Moment, Unreadable, key_text
from braid.formats.protobuf.schema import FieldType, MessageType

_SECOND_NS = 10**9


def native_record(
    message: Any, declared: MessageType, tree: FieldTree | None = None
) -> dict[str, Any]:
    """Return a message as a dict of native values (`native.values`).

    Args:
        message: The parsed message.
        declared: Its type.
        tree: The fields that are read; None: all.

    Raises:
        UnicodeDecodeError: A text is not UTF-8, which a parser of proto2 does not check.
    """
    # Of the class: an attribute of the message may be its field of that name.
    has_field = type(message).HasField
    found = {}
    for name, part in declared.fields.items():
        inner = None if tree is None else tree.objects.get(name)
        is_read = tree is None or inner is not None or name in tree.values
        if not is_read or (part.descriptor.has_presence and not has_field(message, name)):
            continue
        value = getattr(message, name)
        if inner is not None and part.native_kind is NativeKind.RECORD:
            assert part.message is not None, "a record is a message"
            found[name] = native_record(value, part.message, inner)
        else:
            found[name] = native_value_of(value, part)
    return found


def native_value_of(value: Any, declared: FieldType) -> Any:
    """Return the value of a field as a native value.

    Args:
        value: The value, which is present.
        declared: The field's type.

    Raises:
        UnicodeDecodeError: A text is not UTF-8.
    """
    match declared.native_kind:
        case NativeKind.LIST:
            assert declared.item is not None, "a list has a type of items"
            return [native_value_of(item, declared.item) for item in value]
        case NativeKind.MAP:
            assert declared.item is not None, "a map has a type of values"
            keys = sorted(checked_text(key) for key in value)
            return {key_text(key): native_value_of(value[key], declared.item) for key in keys}
        case NativeKind.UNREADABLE:
            return Unreadable(NativeKind.UNREADABLE.value)
        case NativeKind.MOMENT:
            return Moment(value.seconds * _SECOND_NS + value.nanos)
        case _ if declared.wrapped is not None:
            return native_value_of(value.value, declared.wrapped)
        case NativeKind.RECORD:
            assert declared.message is not None, "a record is a message"
            return native_record(value, declared.message)
        case NativeKind.FLOAT:
            is_short = declared.descriptor.cpp_type == FieldDescriptor.CPPTYPE_FLOAT
            return np.float32(value) if is_short else value
        case NativeKind.TEXT if declared.descriptor.enum_type is not None:
            return enum_name(value, declared.descriptor.enum_type)
        case NativeKind.TEXT:
            return checked_text(value)
        case _:
            return value


def checked_text(value: Any) -> Any:
    """Return a text, or the key of a map.

    Raises:
        UnicodeDecodeError: It is not UTF-8, so that the library gives its bytes.
    """
    return value.decode() if isinstance(value, bytes) else value


def enum_name(number: int, enum: EnumDescriptor) -> str:
    """Return the name of a value of an enum; of one that the enum does not have the number."""
    value = enum.values_by_number.get(number)
    return str(number) if value is None else value.name
