"""Files of Protobuf are read as their compiler reads them; what is no such file is refused where it stops being one."""

from typing import Any

import pytest
from google.protobuf import descriptor_pb2

from braid.formats.protobuf.errors import ProtobufSchemaError
from braid.formats.protobuf.proto_file import parse_proto_file
from braid.formats.protobuf.schema import find_message, message_names
from tests.unit.formats.protobuf.orders import order_file

ORDER = """
syntax = "proto3"; // comment
package shop;
import "google/protobuf/timestamp.proto";
import 'google/protobuf/duration.proto';
import "google/protobuf/wrappers.proto";
option java_package = "com.shop"; option (custom).part = { a: "}" b: [1, -2.5e3] };
/* a block
   message Wrong { */
enum State { NEW = 0; PAID = 0x1 [(custom) = { x: 1 }]; }
message Item { int64 article = 1 [json_name = "a;b", deprecated = true]; Item inner = 2; }
message Order {
  reserved 100, 200 to max; reserved "old";
  option deprecated = true;
  double f_double = 1; float f_float = 2; int32 f_int32 = 3; int64 f_int64 = 4; uint32 f_uint32 = 5;
  uint64 f_uint64 = 6; sint32 f_sint32 = 7; sint64 f_sint64 = 8; fixed32 f_fixed32 = 9;
  fixed64 f_fixed64 = 012; sfixed32 f_sfixed32 = 11; sfixed64 f_sfixed64 = 12; bool f_bool = 13;
  string f_string = 14; bytes f_bytes = 15;;
  State state = 16; .shop.Item item = 17; repeated Item items = 18; repeated int32 numbers = 19;
  google.protobuf.Timestamp at = 20; google.protobuf.Duration took = 21;
  google.protobuf.StringValue note = 22; optional int32 maybe = 23;
  oneof payment { option (x) = 1; string card = 24; int64 cash = 25; }
  map<string, string> texts = 26; map<int32, string> numbered = 27; map < bool, string > flags = 28;
}
service Shop { rpc Put (Order) returns (stream Order) { option (http) = { put: "/" }; } }
extend google.protobuf.MessageOptions { optional string custom = 50000; }
"""


def shape(message: Any) -> Any:
    """Return all that decides how a message is read."""
    return {
        field.name: (
            field.number,
            field.type,
            field.is_repeated,
            field.has_presence,
            field.message_type and field.message_type.full_name,
            field.enum_type and dict(field.enum_type.values_by_name.items()).keys(),
            field.containing_oneof and field.containing_oneof.name,
        )
        for field in message.fields
    }


def test_a_file_is_read_as_its_compiler_describes_it() -> None:
    file = parse_proto_file(ORDER, "order.proto")
    found = find_message({"order.proto": file}, "shop.Order").descriptor
    expected = find_message({"shop/order.proto": order_file()}, "shop.Order").descriptor

    assert shape(found) == shape(expected)
    assert [oneof.name for oneof in found.oneofs] == ["payment", "_maybe"]
    assert found.fields_by_name["texts"].message_type.GetOptions().map_entry


def test_proto2_has_presence_groups_and_extensions() -> None:
    text = """package p;
        message M {
          required int32 a = 1; optional string b = 2 [default = "x;"];
          repeated group Part = 3 { optional int32 x = 1; }
          extensions 100 to 199; extend M { optional int32 more = 100; }
          enum E { option allow_alias = true; A = 0; B = 0; C = -1; reserved 5; }
          optional E e = 4 [default = B];
          oneof one { group G = 5 { optional int32 y = 1; } }
        }"""
    found = find_message({"m": parse_proto_file(text, "m")}, "p.M")

    message = found.message_class.FromString(b"\x08\x01\x1b\x08\x07\x1c\x20\x00\x2b\x08\x09\x2c")

    assert (message.a, message.HasField("b"), message.part[0].x, message.e) == (1, False, 7, 0)
    assert message.g.y == 9


def test_a_group_among_extensions_counts_as_a_message_where_it_stands() -> None:
    text = """syntax = "proto2"; package p;
        message First { extensions 100 to 200; optional int32 a = 1; }
        extend First {
          repeated group Extra = 100 [deprecated = true] {
            optional string x = 1; optional group Deep = 2 { optional int32 y = 1; }
          }
          optional int32 more = 101 [default = 5];;
        }
        message Second {
          extend First { optional group Inner = 102 { optional bool z = 1; } }
          message After {}
        }"""

    # As protoc 35.1 numbers them.
    assert message_names(parse_proto_file(text, "m")) == {
        (0,): "p.First",
        (1,): "p.Extra",
        (1, 0): "p.Extra.Deep",
        (2,): "p.Second",
        (2, 0): "p.Second.Inner",
        (2, 1): "p.Second.After",
    }


def test_names_are_found_from_the_inside_out_and_through_public_imports() -> None:
    files = {
        "a": 'syntax = "proto3"; package p; import "b"; message M { message X { int32 i = 1; } X x = 1; q.Y y = 2; }',
        "b": 'import public "c";',
        "c": 'syntax = "proto3"; package p.q; message Y { bool b = 1; } message X { bool b = 1; }',
    }
    parsed = {name: parse_proto_file(text, name) for name, text in files.items()}

    found = find_message(parsed, "p.M").descriptor

    assert found.fields_by_name["x"].message_type.full_name == "p.M.X"
    assert found.fields_by_name["y"].message_type.full_name == "p.q.Y"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('syntax = "proto4";', "found `proto4`, expected proto2 or proto3"),
        ('edition = "2023";', "found `edition`, expected a declaration"),
        ("message M {", "found the end, expected a field"),
        ("message M { int32 a = 1 }", "found `}`, expected ;"),
        ("message M { int32 a = x; }", "found `x`, expected a number"),
        ("message M { int32 a = 99999999999; }", "expected a number of 32 bits"),
        ("message M { int32 1 = 1; }", "found `1`, expected a name"),
        ("message M { = 1; }", "found `=`, expected a field"),
        ("message M { option x = [1}; }", "found `}`, expected brackets in pairs"),
        ("message M { reserved 1", "found the end, expected ;"),
        ("enum E { A }", "found `}`, expected ="),
        ("message M { oneof o {", "found the end, expected a field"),
        ("service S { rpc", "found the end, expected a block in brackets"),
        ("extend M { int32 a = 1", "found the end, expected ;"),
        ('import "a', 'found `"a`, expected a file of Protobuf'),
        ("message M {" * 70, "expected messages nested at most 64 levels deep"),
        ("\0", "expected a file of Protobuf"),
    ],
)
def test_a_text_that_is_no_file_is_refused(text: str, why: str) -> None:
    with pytest.raises(ProtobufSchemaError) as refused:
        parse_proto_file(text.replace("message M {message", "message M { message"), "m.proto")

    assert why in str(refused.value)
    assert "in the file m.proto" in str(refused.value)


def test_a_type_that_no_file_declares_is_refused() -> None:
    file = parse_proto_file('syntax = "proto3"; message M { Unknown u = 1; }', "m.proto")

    assert isinstance(file, descriptor_pb2.FileDescriptorProto)
    with pytest.raises(ProtobufSchemaError, match=r"m\.proto cannot be used.*Unknown"):
        find_message({"m.proto": file}, "M")
