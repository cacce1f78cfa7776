"""A Protobuf message with a field of every kind, as a compiler would describe it."""

from base64 import b64encode
from typing import Any

from google.protobuf import descriptor_pb2

from braid.formats.protobuf.proto_file import parse_proto_file
from braid.formats.protobuf.schema import MessageType, find_message, parse_descriptor_set

F = descriptor_pb2.FieldDescriptorProto
NAME = "shop.Order"
_SCALARS = {
    "double": F.TYPE_DOUBLE,
    "float": F.TYPE_FLOAT,
    "int32": F.TYPE_INT32,
    "int64": F.TYPE_INT64,
    "uint32": F.TYPE_UINT32,
    "uint64": F.TYPE_UINT64,
    "sint32": F.TYPE_SINT32,
    "sint64": F.TYPE_SINT64,
    "fixed32": F.TYPE_FIXED32,
    "fixed64": F.TYPE_FIXED64,
    "sfixed32": F.TYPE_SFIXED32,
    "sfixed64": F.TYPE_SFIXED64,
    "bool": F.TYPE_BOOL,
    "string": F.TYPE_STRING,
    "bytes": F.TYPE_BYTES,
}


def _field(message: Any, name: str, kind: str, *, label: int = F.LABEL_OPTIONAL) -> Any:
    field = message.field.add(name=name, number=len(message.field) + 1, label=label)
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type = F.TYPE_ENUM if kind == ".shop.State" else F.TYPE_MESSAGE
        field.type_name = kind
    return field


def order_file() -> Any:
    """Return the descriptor of the file `shop/order.proto`."""
    google = "google/protobuf/"
    file = descriptor_pb2.FileDescriptorProto(
        name="shop/order.proto",
        package="shop",
        syntax="proto3",
        dependency=[f"{google}{name}.proto" for name in ("timestamp", "duration", "wrappers")],
    )
    state = file.enum_type.add(name="State")
    state.value.add(name="NEW", number=0)
    state.value.add(name="PAID", number=1)
    item = file.message_type.add(name="Item")
    _field(item, "article", "int64")
    _field(item, "inner", ".shop.Item")
    order = file.message_type.add(name="Order")
    for kind in _SCALARS:
        _field(order, f"f_{kind}", kind)
    _field(order, "state", ".shop.State")
    _field(order, "item", ".shop.Item")
    _field(order, "items", ".shop.Item", label=F.LABEL_REPEATED)
    _field(order, "numbers", "int32", label=F.LABEL_REPEATED)
    _field(order, "at", ".google.protobuf.Timestamp")
    _field(order, "took", ".google.protobuf.Duration")
    _field(order, "note", ".google.protobuf.StringValue")
    maybe = _field(order, "maybe", "int32")
    maybe.proto3_optional = True
    maybe.oneof_index = 1
    for name, kind in (("card", "string"), ("cash", "int64")):
        _field(order, name, kind).oneof_index = 0
    order.oneof_decl.add(name="payment")
    order.oneof_decl.add(name="_maybe")
    for name, key in (("texts", "string"), ("numbered", "int32"), ("flags", "bool")):
        entry = order.nested_type.add(name=f"{name.capitalize()}Entry")
        entry.options.map_entry = True
        _field(entry, "key", key)
        _field(entry, "value", "string")
        _field(order, name, f".shop.Order.{entry.name}", label=F.LABEL_REPEATED)
    return file


def order_set() -> str:
    """Return the descriptor set in base64, as a registration has it."""
    files = descriptor_pb2.FileDescriptorSet(file=[order_file()])
    return b64encode(files.SerializeToString()).decode()


def order_type() -> MessageType:
    """Return the type of the messages."""
    return parse_descriptor_set(order_set(), NAME)


def type_of(text: str, **imports: str) -> MessageType:
    """Return the type of the message `M` of a file; of imports the name has the ending `.proto` there."""
    texts = {"m.proto": text, **{f"{name}.proto": other for name, other in imports.items()}}
    return find_message({name: parse_proto_file(one, name) for name, one in texts.items()}, "M")
