"""A descriptor set is parsed with what it imports; one that lacks something is refused by name."""

from base64 import b64encode

import pytest
from google.protobuf import descriptor_pb2

from braid.formats.native.kinds import NativeKind
from braid.formats.protobuf.errors import ProtobufSchemaError
from braid.formats.protobuf.schema import parse_descriptor_set
from tests.unit.formats.protobuf.orders import NAME, order_file, order_set, order_type, type_of


def set_of(*files: descriptor_pb2.FileDescriptorProto) -> str:
    """Return a descriptor set in base64."""
    return b64encode(descriptor_pb2.FileDescriptorSet(file=files).SerializeToString()).decode()


def test_kinds_of_fields() -> None:
    kinds = {name: part.native_kind for name, part in order_type().fields.items()}

    assert kinds["f_uint64"] is NativeKind.WHOLE
    assert kinds["f_bytes"] is NativeKind.BYTES
    assert kinds["state"] is kinds["note"] is NativeKind.TEXT
    assert kinds["item"] is NativeKind.RECORD
    assert (kinds["items"], kinds["texts"]) == (NativeKind.LIST, NativeKind.MAP)
    assert (kinds["at"], kinds["took"]) == (NativeKind.MOMENT, NativeKind.UNREADABLE)


IN_PACKAGE = 'syntax = "proto3"; package google.protobuf; '


@pytest.mark.parametrize(
    ("name", "body", "kind"),
    [
        ("Timestamp", "int64 seconds = 1; int32 nanos = 2;", NativeKind.MOMENT),
        ("Timestamp", "string seconds = 1; string nanos = 2;", NativeKind.RECORD),
        ("Timestamp", "repeated int64 seconds = 1; int32 nanos = 2;", NativeKind.RECORD),
        ("Timestamp", "int64 seconds = 2; int32 nanos = 1;", NativeKind.RECORD),
        ("Timestamp", "int64 seconds = 1;", NativeKind.RECORD),
        ("Duration", "int64 seconds = 1; int32 nanos = 2;", NativeKind.UNREADABLE),
        ("Duration", "int64 millis = 1;", NativeKind.RECORD),
        ("StringValue", "string value = 1;", NativeKind.TEXT),
        ("StringValue", "bytes value = 1;", NativeKind.RECORD),
        ("StringValue", "string x = 1;", NativeKind.RECORD),
        ("StringValue", "", NativeKind.RECORD),
        ("StringValue", "StringValue value = 1;", NativeKind.RECORD),
        ("StringValue", "repeated StringValue value = 1;", NativeKind.RECORD),
    ],
)
def test_a_well_known_type_has_the_well_known_fields(
    name: str, body: str, kind: NativeKind
) -> None:
    declared = type_of(
        f'syntax = "proto3"; import "own.proto"; message M {{ google.protobuf.{name} one = 1;'
        f" repeated google.protobuf.{name} list = 2; }}",
        own=f"{IN_PACKAGE} message {name} {{ {body} }}",
    )
    item = declared.fields["list"].item

    assert declared.fields["one"].native_kind is kind
    assert item is not None
    assert item.native_kind is kind


def test_files_may_stand_in_any_order() -> None:
    part = descriptor_pb2.FileDescriptorProto(name="part.proto")
    part.message_type.add(name="Part")
    order = order_file()
    order.dependency.append("part.proto")

    assert parse_descriptor_set(set_of(order, part), NAME).descriptor.full_name == NAME


@pytest.mark.parametrize(
    ("text", "message", "why"),
    [
        ("%", NAME, "not a FileDescriptorSet in base64"),
        ("/////w==", NAME, "not a FileDescriptorSet in base64"),
        (order_set(), "shop.Ordr", "no message shop.Ordr, found shop.Item, shop.Order"),
        ("", NAME, "no message shop.Order, found none"),
    ],
)
def test_a_text_without_the_message_is_refused(text: str, message: str, why: str) -> None:
    with pytest.raises(ProtobufSchemaError, match=why):
        parse_descriptor_set(text, message)


def test_a_set_without_an_import_is_refused() -> None:
    order = order_file()
    order.dependency.append("part.proto")
    with pytest.raises(ProtobufSchemaError, match=r"part\.proto is imported but missing"):
        parse_descriptor_set(set_of(order), NAME)


def test_files_that_import_each_other_are_refused() -> None:
    files = [
        descriptor_pb2.FileDescriptorProto(name=name, dependency=[other])
        for name, other in (("a", "b"), ("b", "a"))
    ]
    with pytest.raises(ProtobufSchemaError, match="the file a imports itself"):
        parse_descriptor_set(set_of(*files), NAME)


def test_a_file_that_no_compiler_writes_is_refused() -> None:
    order = order_file()
    order.message_type[1].field[0].number = 2
    with pytest.raises(ProtobufSchemaError, match=r"the file shop/order\.proto cannot be used"):
        parse_descriptor_set(set_of(order), NAME)


@pytest.mark.parametrize("fields", [{1: "x", 2: "y"}, {3: "key", 2: "value"}, {1: "key"}, {}])
def test_an_entry_of_a_map_has_key_and_value(fields: dict[int, str]) -> None:
    order = order_file()
    entry = order.message_type[1].nested_type[0]
    del entry.field[:]
    for number, name in fields.items():
        entry.field.add(
            number=number, name=name, type=descriptor_pb2.FieldDescriptorProto.TYPE_INT32
        )
    with pytest.raises(
        ProtobufSchemaError, match=r"TextsEntry has .*, expected key = 1, value = 2"
    ):
        parse_descriptor_set(set_of(order), NAME)
