"""Formats of messages, as a stream declares them."""

from typing import Annotated, Any, Final, Literal, TypeAlias, assert_never

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    WrapSerializer,
)

from braid.schemas.contract import COLUMNS_MAX, Contract, at_most

SCHEMA_CHARACTERS_MAX: Final = 200_000
"""Longest schema in a declaration."""
_NAME_BYTES_MAX: Final = 256


RegistryName: TypeAlias = Annotated[str, Field(min_length=1, max_length=80, examples=["shop"])]
"""The name of a schema registry in the operators' file."""


class JsonFormat(Contract):
    """One JSON object per message; columns are read from its fields.

    Attributes:
        schema_registry: The schema registry, by its name in the operators' file, whose schemas messages name
            by id in their first five bytes (Confluent's wire format); None: messages are JSON alone.
    """

    type: Literal["json"] = "json"
    schema_registry: RegistryName | None = None


class CsvFormat(Contract):
    """One line of separated values per message, without a line of names.

    Attributes:
        fields: Names of the values, in their order; columns are read from them.
        delimiter: The character between two values.
        quote: The character around values that contain the delimiter, a quote or a line break; doubled, it
            is the character itself.
        null_text: The unquoted or quoted text that stands for null.
    """

    type: Literal["csv"] = "csv"
    fields: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=_NAME_BYTES_MAX)], ...],
        at_most(COLUMNS_MAX),
    ] = Field(min_length=1, examples=[["id", "price"]])
    delimiter: str = Field(default=",", min_length=1, max_length=1)
    quote: str = Field(default='"', min_length=1, max_length=1)
    null_text: str = Field(default="", max_length=_NAME_BYTES_MAX)


class AvroFormat(Contract):
    """One Avro record per message, in the binary encoding without a header; columns are read from its fields.

    Either the schema or a registry is given.

    Attributes:
        schema_text: The schema of all messages, as JSON; `schema` in documents.
        schema_registry: The schema registry, by its name in the operators' file, whose schemas messages name
            by id in their first five bytes (Confluent's wire format).
    """

    model_config = ConfigDict(serialize_by_alias=True)

    type: Literal["avro"] = "avro"
    schema_text: str | None = Field(
        default=None, alias="schema", min_length=1, max_length=SCHEMA_CHARACTERS_MAX
    )
    schema_registry: RegistryName | None = None


class ProtobufFormat(Contract):
    """One Protobuf message per record; columns are read from its fields.

    Either the descriptors, with the name of the message, or a registry is given.

    Attributes:
        descriptor_set: The files that declare the message, with all that they import: a FileDescriptorSet in
            base64.
        message: The full name of the message.
        schema_registry: The schema registry, by its name in the operators' file, whose schemas messages name
            by id in their first bytes, with the message of the schema behind the id (Confluent's wire format).
    """

    type: Literal["protobuf"] = "protobuf"
    descriptor_set: str | None = Field(default=None, min_length=1, max_length=SCHEMA_CHARACTERS_MAX)
    message: str | None = Field(
        default=None, min_length=1, max_length=_NAME_BYTES_MAX, examples=["shop.Order"]
    )
    schema_registry: RegistryName | None = None


class RawFormat(Contract):
    """The message as a whole is one value, the field `value`."""

    type: Literal["raw"] = "raw"


def _from_name(value: Any) -> Any:
    """Return the object for a format that is given by its name alone."""
    return {"type": value} if isinstance(value, str) else value


def _to_name(value: "MessageFormat", handler: SerializerFunctionWrapHandler) -> Any:
    """Return the name of plain JSON, which versions that know no other format read, and an object for the others."""
    return value.type if value == JsonFormat() else handler(value)


_Name: TypeAlias = Literal["json", "raw"]

MessageFormat: TypeAlias = Annotated[
    Annotated[
        JsonFormat | CsvFormat | AvroFormat | ProtobufFormat | RawFormat,
        Field(discriminator="type"),
    ],
    BeforeValidator(
        _from_name,
        json_schema_input_type=_Name
        | JsonFormat
        | CsvFormat
        | AvroFormat
        | ProtobufFormat
        | RawFormat,
    ),
    WrapSerializer(_to_name),
]
"""The format of a message's value. A format without options can be given by its name, as `"json"` alone always is."""


def schema_registry_of(declared: MessageFormat) -> str | None:
    """Return the name of the schema registry that a format needs; None if it needs none."""
    match declared:
        case JsonFormat() | AvroFormat() | ProtobufFormat():
            return declared.schema_registry
        case CsvFormat() | RawFormat():
            return None
        case _:
            assert_never(declared)
