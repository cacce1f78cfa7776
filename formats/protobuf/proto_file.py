"""Parser of Protobuf's `.proto` files, as schema registries store them: returns the parts of their descriptors that reading needs.

Messages, enums, groups, maps and oneofs of proto2 and proto3 are parsed. Services, extensions and options are skipped, because
none of them changes how a message is read. Only a group that is declared among extensions counts: it is a message type of the
file, or of the message around the extensions, and so shifts the indexes of the types after it. The parser is strict, because a
declaration that is parsed wrongly would give the values of other fields. Protobuf's own library resolves the names of types
afterwards.

Source: Protocol Buffers, "Language Specification" of proto2 and proto3.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, NoReturn

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto

from braid.formats.protobuf.errors import ProtobufSchemaError

_TOKEN: Final = re.compile(
    r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<name>\.?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)
    |(?P<number>0[xX][0-9a-fA-F]+|[0-9][0-9.]*(?:[eE][+-]?[0-9]+)?f?|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<mark>[-+{}\[\]()<>;=,:/])""",
    re.DOTALL | re.VERBOSE | re.ASCII,
)
_SCALARS: Final = {
    name.removeprefix("TYPE_").lower(): number
    for name, number in FieldDescriptorProto.Type.items()
    if name not in ("TYPE_MESSAGE", "TYPE_ENUM", "TYPE_GROUP")
}
_LABELS: Final = {
    "optional": FieldDescriptorProto.LABEL_OPTIONAL,
    "required": FieldDescriptorProto.LABEL_REQUIRED,
    "repeated": FieldDescriptorProto.LABEL_REPEATED,
}
_SYNTAXES: Final = ("proto2", "proto3")
_NESTING_MAX: Final = 64
_SHOWN_MAX: Final = 60
_CLOSING: Final = {"{": "}", "[": "]", "(": ")"}


def parse_proto_file(text: str, name: str) -> descriptor_pb2.FileDescriptorProto:
    """Return the descriptor of a file.

    Args:
        text: The file.
        name: The name by which other files import it.

    Raises:
        ProtobufSchemaError: The text is no such file, or of an edition.
    """
    return _Parser(text, name).file()


class _Parser:
    def __init__(self, text: str, name: str) -> None:
        self._name = name
        self._rest = self._split(text)
        self._next = next(self._rest)
        self._is_proto3 = False

    def file(self) -> descriptor_pb2.FileDescriptorProto:
        file = descriptor_pb2.FileDescriptorProto(name=self._name, syntax="proto2")
        while self._next:
            match self._take():
                case "syntax":
                    self._expect("=")
                    file.syntax = self._text()
                    self._is_proto3 = file.syntax == "proto3"
                    if file.syntax not in _SYNTAXES:
                        self._fail(file.syntax, "proto2 or proto3")
                    self._expect(";")
                case "package":
                    file.package = self._take_name()
                    self._expect(";")
                case "import":
                    if self._next in ("public", "weak"):
                        self._take()
                    file.dependency.append(self._text())
                    self._expect(";")
                case "message":
                    self._message(file.message_type.add(), 0)
                case "enum":
                    self._enum(file.enum_type.add())
                case "option":
                    self._pass_statement()
                case "service":
                    self._take_name()
                    self._pass_block()
                case "extend":
                    self._extend(file.message_type, -1)
                case ";":
                    pass
                case other:
                    self._fail(other, "a declaration of a file of proto2 or proto3")
        return file

    def _message(self, message: Any, depth: int) -> None:
        message.name = self._take_name()
        self._body(message, depth)

    def _body(self, message: Any, depth: int) -> None:
        """Read what stands between the braces of a message."""
        if depth > _NESTING_MAX:
            self._fail(message.name, f"messages nested at most {_NESTING_MAX} levels deep")
        self._expect("{")
        entries: list[Any] = []
        optional: list[Any] = []
        while self._next != "}":
            match self._take():
                case "message":
                    self._message(message.nested_type.add(), depth + 1)
                case "enum":
                    self._enum(message.enum_type.add())
                case "oneof":
                    self._oneof(message, depth)
                case "map" if self._next == "<":
                    entries.append(self._map(message))
                case "option" | "reserved" | "extensions":
                    self._pass_statement()
                case "extend":
                    self._extend(message.nested_type, depth)
                case ";":
                    pass
                case label if label in _LABELS:
                    field = self._field(message, self._take_name(), depth, label=_LABELS[label])
                    if label == "optional" and self._is_proto3:
                        optional.append(field)
                case kind:
                    self._field(message, kind, depth)
        self._expect("}")
        # Behind the declared ones: messages are told by their place among these, oneofs by theirs.
        message.nested_type.extend(entries)
        for field in optional:
            field.proto3_optional = True
            field.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{field.name}")

    def _extend(self, messages: Any, depth: int) -> None:
        """Read extensions, and add the messages of their groups to those around them; the fields are passed over."""
        self._take_name()
        self._expect("{")
        passed = descriptor_pb2.DescriptorProto()
        while self._next != "}":
            match self._take():
                case ";":
                    pass
                case label if label in _LABELS:
                    self._field(passed, self._take_name(), depth, label=_LABELS[label])
                case kind:
                    self._field(passed, kind, depth)
        self._expect("}")
        messages.extend(passed.nested_type)

    def _oneof(self, message: Any, depth: int) -> None:
        index = len(message.oneof_decl)
        message.oneof_decl.add(name=self._take_name())
        self._expect("{")
        while self._next != "}":
            kind = self._take()
            if kind == "option":
                self._pass_statement()
            elif kind != ";":
                self._field(message, kind, depth).oneof_index = index
        self._expect("}")

    def _field(
        self,
        message: Any,
        kind: str,
        depth: int,
        *,
        label: int = FieldDescriptorProto.LABEL_OPTIONAL,
    ) -> Any:
        if kind == "group":
            return self._group(message, depth, label)
        if not _is_name(kind):
            self._fail(kind, "a field")
        field = message.field.add(name=self._take_name(), label=label)
        _set_type(field, kind)
        self._finish(field)
        return field

    def _group(self, message: Any, depth: int, label: int) -> Any:
        inner = message.nested_type.add(name=self._take_name())
        field = message.field.add(name=inner.name.lower(), label=label, type_name=inner.name)
        field.type = FieldDescriptorProto.TYPE_GROUP
        self._expect("=")
        field.number = self._number()
        if self._next == "[":
            self._pass_block()
        self._body(inner, depth + 1)
        return field

    def _map(self, message: Any) -> Any:
        """Read a map, which is a repeated message of key and value; return the type of that message."""
        self._expect("<")
        key = self._take_name()
        self._expect(",")
        value = self._take_name()
        self._expect(">")
        field = message.field.add(name=self._take_name(), label=FieldDescriptorProto.LABEL_REPEATED)
        parts = (part for part in re.split("_", field.name) if part)
        entry = descriptor_pb2.DescriptorProto(
            name="".join(part[0].upper() + part[1:] for part in parts) + "Entry"
        )
        entry.options.map_entry = True
        for number, (name, kind) in enumerate((("key", key), ("value", value)), 1):
            part = entry.field.add(
                name=name, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL
            )
            _set_type(part, kind)
        field.type_name = entry.name
        self._finish(field)
        return entry

    def _finish(self, field: Any) -> None:
        """Read what stands behind the name of a field."""
        self._expect("=")
        field.number = self._number()
        if self._next == "[":
            self._pass_block()
        self._expect(";")

    def _enum(self, enum: Any) -> None:
        enum.name = self._take_name()
        self._expect("{")
        numbers: set[int] = set()
        while self._next != "}":
            match self._take():
                case "option" | "reserved" if self._next != "=":
                    self._pass_statement()
                case ";":
                    pass
                case name:
                    value = enum.value.add(name=name)
                    self._finish(value)
                    if value.number in numbers:
                        enum.options.allow_alias = True
                    numbers.add(value.number)
        self._expect("}")

    def _number(self) -> int:
        sign = self._take() if self._next == "-" else ""
        text = self._take()
        try:
            # A zero before other digits means base 8.
            is_octal = text.isdigit() and text.startswith("0") and len(text) > 1
            number = int(text, 8 if is_octal else 0)
        except ValueError:
            self._fail(text, "a number")
        if number >= 2**31:
            self._fail(text, "a number of 32 bits")
        return -number if sign else number

    def _text(self) -> str:
        found = self._take()
        if found[:1] not in ("'", '"') or "\\" in found:
            self._fail(found, "a text in quotes")
        return found[1:-1]

    def _take_name(self) -> str:
        found = self._take()
        if not _is_name(found):
            self._fail(found, "a name")
        return found

    def _pass_statement(self) -> None:
        """Pass over everything up to the next semicolon outside of brackets."""
        while self._next != ";":
            if self._next in _CLOSING:
                self._pass_block()
            elif not self._next or self._next in _CLOSING.values():
                self._fail(self._next, ";")
            else:
                self._take()
        self._expect(";")

    def _pass_block(self) -> None:
        """Pass over everything between a bracket and the one that closes it."""
        open_brackets: list[str] = []
        while True:
            token = self._take()
            if token in _CLOSING:
                open_brackets.append(_CLOSING[token])
            elif not token or not open_brackets:
                self._fail(token, "a block in brackets")
            elif token in _CLOSING.values() and token != open_brackets.pop():
                self._fail(token, "brackets in pairs")
            if not open_brackets:
                return

    def _expect(self, wanted: str) -> None:
        found = self._take()
        if found != wanted:
            self._fail(found, wanted)

    def _take(self) -> str:
        found = self._next
        if found:
            self._next = next(self._rest)
        return found

    def _split(self, text: str) -> Iterator[str]:
        """Yield the tokens of a file, and empty texts behind the last one."""
        position = 0
        while position < len(text):
            found = _TOKEN.match(text, position)
            if found is None:
                self._fail(text[position:], "a file of Protobuf")
            position = found.end()
            if found["blank"] is None:
                yield found[0]
        while True:
            yield ""

    def _fail(self, found: str, expected: str) -> NoReturn:
        shown = f"`{found[:_SHOWN_MAX]}`" if found else "the end"
        message = f"in the file {self._name}: found {shown}, expected {expected}"
        raise ProtobufSchemaError(message)


def _is_name(token: str) -> bool:
    return bool(token) and (token[0] in "._" or token[0].isalpha())


def _set_type(field: Any, kind: str) -> None:
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        # Message or enum: the library finds the name as its language does, from the inside out.
        field.type_name = kind
