"""Types of Protobuf messages, from the descriptors of their files.

| field | kind (`NativeKind`) |
|---|---|
| bool | boolean |
| int32, int64, uint32, uint64, sint32, sint64, fixed32, fixed64, sfixed32, sfixed64 | whole number |
| float, double | floating-point number |
| string, enum | text; for an enum, the name of its value |
| bytes | bytes |
| google.protobuf.Timestamp | moment |
| google.protobuf.Duration | unreadable: no column can be read from it |
| google.protobuf.StringValue, Int64Value and the other wrappers | as the type that they wrap; may be null |
| message, group | record |
| repeated | list |
| map | map; its keys become texts |
"""

from base64 import b64decode
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    message_factory,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError

from braid.formats.native.column_types import leaf_column_type
from braid.formats.native.kinds import NativeKind
from braid.formats.native.leaf_arrays import Leaf
from braid.formats.protobuf.errors import ProtobufSchemaError
from braid.formats.protobuf.proto_file import parse_proto_file
from braid.lake import DataType

_WELL_KNOWN: Final = {
    module.DESCRIPTOR.name: module.DESCRIPTOR
    for module in (
        any_pb2,
        duration_pb2,
        empty_pb2,
        field_mask_pb2,
        struct_pb2,
        timestamp_pb2,
        wrappers_pb2,
    )
}
"""Files that every compiler of Protobuf brings along, so that producers' descriptor sets may leave them out."""

REGISTERED: Final = "registered.proto"
"""The name of the file of a registered schema, which registries do not know."""
_ENTRY: Final = {1: "key", 2: "value"}
"""The fields of an entry of a map, by number."""
_IMPORTS_MAX: Final = 100
_SHOWN_MAX: Final = 10
_NAME_MAX: Final = 200
_TIMESTAMP: Final = "google.protobuf.Timestamp"
_DURATION: Final = "google.protobuf.Duration"
_WRAPPERS: Final = frozenset(
    message.full_name for message in wrappers_pb2.DESCRIPTOR.message_types_by_name.values()
)
_SPECIAL: Final = {
    message.full_name: message
    for file in (duration_pb2, timestamp_pb2, wrappers_pb2)
    for message in file.DESCRIPTOR.message_types_by_name.values()
}
"""The well-known types that are not read as records."""
_KINDS: Final = {
    FieldDescriptor.CPPTYPE_BOOL: NativeKind.BOOLEAN,
    FieldDescriptor.CPPTYPE_INT32: NativeKind.WHOLE,
    FieldDescriptor.CPPTYPE_INT64: NativeKind.WHOLE,
    FieldDescriptor.CPPTYPE_UINT32: NativeKind.WHOLE,
    FieldDescriptor.CPPTYPE_UINT64: NativeKind.WHOLE,
    FieldDescriptor.CPPTYPE_FLOAT: NativeKind.FLOAT,
    FieldDescriptor.CPPTYPE_DOUBLE: NativeKind.FLOAT,
    FieldDescriptor.CPPTYPE_ENUM: NativeKind.TEXT,
}

_SHORT: Final = (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_FLOAT)
_MICROS: Final = Leaf(NativeKind.MOMENT, 10**3)


class MessageType:
    """The type of a message; one that is recursive contains itself.

    Attributes:
        descriptor: The message's descriptor.
    """

    def __init__(self, descriptor: Descriptor) -> None:
        """Wrap the descriptor of a message."""
        self.descriptor = descriptor

    @property
    def possible(self) -> "Sequence[MessageType]":
        """The type itself."""
        return (self,)

    @property
    def native_kind(self) -> NativeKind:
        """The kind of its values."""
        return NativeKind.RECORD

    @property
    def column_type(self) -> None:
        """None: it has parts."""
        return None

    @property
    def item(self) -> "FieldType | None":
        """None: it is no list."""
        return None

    @cached_property
    def fields(self) -> "Mapping[str, FieldType]":
        """Its fields, by name."""
        return {field.name: FieldType(field) for field in self.descriptor.fields}

    @property
    def identity(self) -> str:
        """The full name of the message."""
        return str(self.descriptor.full_name)

    @cached_property
    def special_name(self) -> str | None:
        """The full name of the well-known type that it is, of those that are not read as records; else None.

        A file may declare a type of that name with other fields, which is a message like any other.
        """
        known = _SPECIAL.get(self.descriptor.full_name)
        is_known = known is not None and _shape(self.descriptor) == _shape(known)
        return self.descriptor.full_name if is_known else None

    @cached_property
    def message_class(self) -> Any:
        """The class of its messages."""
        return message_factory.GetMessageClass(self.descriptor)


class FieldType:
    """The type of a field.

    Attributes:
        descriptor: The field's descriptor.
        is_item: Whether it is the type of one item of a repeated field.
    """

    def __init__(self, descriptor: FieldDescriptor, *, is_item: bool = False) -> None:
        """Wrap the descriptor of a field."""
        self.descriptor = descriptor
        self.is_item = is_item

    @property
    def possible(self) -> "Sequence[FieldType]":
        """The type itself."""
        return (self,)

    @cached_property
    def message(self) -> MessageType | None:
        """The type of the messages in it; None if it holds none."""
        inner = self.descriptor.message_type
        return None if inner is None else MessageType(inner)

    @cached_property
    def wrapped(self) -> "FieldType | None":
        """The field inside of a wrapper; None if it is none, such as a list of wrappers."""
        is_list = self.descriptor.is_repeated and not self.is_item
        if is_list or self.message is None or self.message.special_name not in _WRAPPERS:
            return None
        return self.message.fields["value"]

    @cached_property
    def native_kind(self) -> NativeKind:
        """The kind of its values."""
        if self.descriptor.is_repeated and not self.is_item:
            is_map = self.message is not None and self.message.descriptor.GetOptions().map_entry
            return NativeKind.MAP if is_map else NativeKind.LIST
        if self.wrapped is not None:
            return self.wrapped.native_kind
        if self.message is not None:
            match self.message.special_name:
                case name if name == _TIMESTAMP:
                    return NativeKind.MOMENT
                case name if name == _DURATION:
                    return NativeKind.UNREADABLE
                case _:
                    return NativeKind.RECORD
        if self.descriptor.type == FieldDescriptor.TYPE_BYTES:
            return NativeKind.BYTES
        return _KINDS.get(self.descriptor.cpp_type, NativeKind.TEXT)

    @property
    def column_type(self) -> DataType | None:
        """The type of a column that holds each of its values; None of types with parts, and of durations.

        Digits of a Timestamp behind the microsecond are dropped: a TIMESTAMP(9) has too few years.
        """
        if self.wrapped is not None:
            return self.wrapped.column_type
        leaf = _MICROS if self.native_kind is NativeKind.MOMENT else Leaf(self.native_kind)
        cpp_type = self.descriptor.cpp_type
        return leaf_column_type(
            leaf,
            is_short=cpp_type in _SHORT,
            is_unsigned=cpp_type == FieldDescriptor.CPPTYPE_UINT64,
        )

    @cached_property
    def item(self) -> "FieldType | None":
        """The type of the items of a list, or of the values of a map."""
        match self.native_kind:
            case NativeKind.LIST:
                return FieldType(self.descriptor, is_item=True)
            case NativeKind.MAP:
                assert self.message is not None, "a map has messages as its entries"
                return self.message.fields["value"]
            case _:
                return None

    @property
    def identity(self) -> str:
        """The full name of the message in it, or of the field."""
        inner = self.descriptor if self.message is None else self.message.descriptor
        return str(inner.full_name)

    @property
    def fields(self) -> "Mapping[str, FieldType]":
        """The fields of a record, by name."""
        is_record = self.native_kind is NativeKind.RECORD and self.message is not None
        return self.message.fields if is_record and self.message is not None else {}


def _shape(message: Descriptor) -> list[tuple[str, int, int, bool]]:
    """Return the fields of a message without parts, as far as they decide how it is read."""
    return [(field.name, field.number, field.type, field.is_repeated) for field in message.fields]


def parse_descriptor_set(text: str, message: str) -> MessageType:
    """Return the type of a message.

    Args:
        text: A `FileDescriptorSet` in base64, with all files that the message's file imports; those of Google's
            well-known types may be left out.
        message: The full name of the message.

    Raises:
        ProtobufSchemaError: The text is no such set, a file or the message is missing.
    """
    try:
        files = descriptor_pb2.FileDescriptorSet.FromString(b64decode(text, validate=True)).file
    except (ValueError, DecodeError) as error:
        why = "not a FileDescriptorSet in base64"
        raise ProtobufSchemaError(why) from error
    return find_message({file.name: file for file in files}, message)


def find_message(files: Mapping[str, Any], message: str) -> MessageType:
    """Return the type of a message from the descriptors of files, by their names.

    Raises:
        ProtobufSchemaError: A file or the message is missing, or a file is wrong.
    """
    pool = pool_of(files)
    try:
        return MessageType(pool.FindMessageTypeByName(message))
    except KeyError as error:
        names = sorted(
            ".".join(filter(None, (file.package, one.name)))
            for file in files.values()
            for one in file.message_type
        )
        shown = ", ".join(names[:_SHOWN_MAX]) + (" and more" if len(names) > _SHOWN_MAX else "")
        text = f"no message {message[:_NAME_MAX]}, found {shown or 'none'}"
        raise ProtobufSchemaError(text) from error


def pool_of(files: Mapping[str, Any]) -> Any:
    """Return a `DescriptorPool` with the descriptors of files, by their names, and of all that they import.

    Raises:
        ProtobufSchemaError: A file is missing or wrong.
    """
    pool = descriptor_pool.DescriptorPool()
    added: set[str] = set()
    for name in files:
        _add(name, files, pool, added, ())
    return pool


def registered_files(text: str, references: Mapping[str, str]) -> dict[str, Any]:
    """Return the descriptors of a registered schema's files by their names; the schema itself is `REGISTERED`.

    An import that is neither registered nor well-known is left out: it may be for options only, which are not read.

    Args:
        text: The schema's file.
        references: The files that it imports, by the names in its imports.

    Raises:
        ProtobufSchemaError: A text is no file of Protobuf.
    """
    files = {name: parse_proto_file(other, name) for name, other in references.items()}
    files[REGISTERED] = parse_proto_file(text, REGISTERED)
    for file in files.values():
        known = [name for name in file.dependency if name in files or name in _WELL_KNOWN]
        del file.dependency[:]
        file.dependency.extend(dict.fromkeys(known))
    return files


def message_names(file: Any) -> dict[tuple[int, ...], str]:
    """Return the full names of all messages of a file.

    Args:
        file: The file's descriptor.

    Returns:
        The names by the indexes of the message: its index in the file, or that of the message around it, and so
            on inwards. The messages of the entries of maps have none.
    """
    found: dict[tuple[int, ...], str] = {}
    todo: list[tuple[tuple[int, ...], str, Any]] = [((), file.package, file.message_type)]
    while todo:
        around, package, messages = todo.pop()
        declared = (one for one in messages if not one.options.map_entry)
        for index, one in enumerate(declared):
            indexes, name = (*around, index), f"{package}.{one.name}" if package else one.name
            found[indexes] = name
            todo.append((indexes, name, one.nested_type))
    return found


def _add(
    name: str, files: Mapping[str, Any], pool: Any, added: set[str], around: tuple[str, ...]
) -> None:
    """Add a file to the pool, behind those that it imports."""
    if name in added:
        return
    if name in around or len(around) > _IMPORTS_MAX:
        text = f"the file {name} imports itself, or imports are nested too deeply"
        raise ProtobufSchemaError(text)
    file = files.get(name)
    if file is None and name in _WELL_KNOWN:
        file = descriptor_pb2.FileDescriptorProto()
        _WELL_KNOWN[name].CopyToProto(file)
    if file is None:
        text = f"the file {name} is imported but missing"
        raise ProtobufSchemaError(text)
    for imported in file.dependency:
        _add(imported, files, pool, added, (*around, name))
    _check_entries(file)
    try:
        pool.Add(file)
    except TypeError as error:
        text = f"the file {name} cannot be used: {error}"
        raise ProtobufSchemaError(text) from error
    added.add(name)


def _check_entries(file: Any) -> None:
    """Check that the entries of maps are as compilers declare them: Protobuf's library does not check their names.

    Raises:
        ProtobufSchemaError: An entry has other fields.
    """
    todo = [*file.message_type]
    while todo:
        message = todo.pop()
        todo += message.nested_type
        fields = {field.number: field.name for field in message.field}
        if message.options.map_entry and fields != _ENTRY:
            found = ", ".join(f"{name} = {number}" for number, name in sorted(fields.items()))
            text = f"the file {file.name} cannot be used: the map entry {message.name[:_NAME_MAX]} has the fields "
            text += f"{found[:_NAME_MAX] or 'none'}, expected key = 1, value = 2"
            raise ProtobufSchemaError(text)
