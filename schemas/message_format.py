"""Formats of messages and of their Kafka keys, as a stream declares them.

Each format of messages is a contract with its `type` and options. Functions at the end of the module return facts about
a format, such as its schema registry, and whether its messages are rows or changes of rows.
"""

from enum import StrEnum
from typing import Annotated, Any, Final, Literal, TypeAlias, assert_never, get_args

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    WrapSerializer,
)

from braid.schemas.contract import COLUMNS_MAX, Contract, StrictBool, at_most

SCHEMA_CHARACTERS_MAX: Final = 200_000
"""Longest schema in a declaration."""
_NAME_BYTES_MAX: Final = 256


RegistryName: TypeAlias = Annotated[str, Field(min_length=1, max_length=80, examples=["shop"])]
"""The name of a schema registry in the operators' file."""


class JsonFormat(Contract):
    """One JSON object per message; columns are read from its fields.

    Attributes:
        type: The kind of format.
        schema_registry: The schema registry, by its name in the operators' file, whose schemas messages name
            by id in their first five bytes (Confluent's wire format); None: messages are JSON alone.
    """

    type: Literal["json"] = "json"
    schema_registry: RegistryName | None = None


class CsvFormat(Contract):
    """One line of separated values per message, without a line of names.

    Attributes:
        type: The kind of format.
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
        type: The kind of format.
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
        type: The kind of format.
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
    """The message as a whole is one value, the field `value`.

    Attributes:
        type: The kind of format.
    """

    type: Literal["raw"] = "raw"


class SourceDatabase(StrEnum):
    """The database whose changes Debezium captures; it decides what the position of a change is."""

    POSTGRESQL = "postgresql"
    MYSQL = "mysql"
    SQLSERVER = "sqlserver"
    MONGODB = "mongodb"
    ORACLE = "oracle"

    @property
    def leaves_out_values(self) -> bool:
        """Whether a change can have a placeholder for a large value that it did not touch."""
        return self in (SourceDatabase.POSTGRESQL, SourceDatabase.ORACLE)


class DecimalForm(StrEnum):
    """The form of decimals in JSON without a schema.

    `plain` is a number, or the text of one (Debezium's `decimal.handling.mode` `double` and `string`).
    `base64` is the unscaled value in base64 (`precise`), whose scale is that of the column.
    """

    PLAIN = "plain"
    BASE64 = "base64"


class DebeziumFormat(Contract):
    """Changes of rows as Debezium sends them; columns are read from the row after the change.

    JSON may have its schema around it or not, message by message.

    Attributes:
        type: The kind of format.
        database: The database; `mysql` is MariaDB, too.
        messages: The format of the events: `json`, or Avro as in the format `avro`.
        unwrapped: Whether Debezium's ExtractNewRecordState has left only the row of each event, with fields such
            as `__op` and `__deleted`.
        unavailable_value: Debezium's `unavailable.value.placeholder`, for values that the database did not
            send because they are unchanged: such a field counts as missing.
        decimals: The form of decimals in JSON without a schema.
    """

    type: Literal["debezium"] = "debezium"
    database: SourceDatabase
    messages: Literal["json"] | AvroFormat = "json"
    unwrapped: StrictBool = False
    unavailable_value: str = Field(
        default="__debezium_unavailable_value", min_length=1, max_length=_NAME_BYTES_MAX
    )
    decimals: DecimalForm = DecimalForm.PLAIN


class MaxwellFormat(Contract):
    """Changes of rows of MySQL as Maxwell sends them, as JSON; columns are read from `data`.

    Attributes:
        type: The kind of format.
    """

    type: Literal["maxwell"] = "maxwell"


class CanalFormat(Contract):
    """Changes of rows of MySQL as Canal sends them, as flat messages; columns are read from the rows in `data`.

    Attributes:
        type: The kind of format.
    """

    type: Literal["canal"] = "canal"


ChangeFormat: TypeAlias = DebeziumFormat | MaxwellFormat | CanalFormat
"""A format whose messages are changes of rows."""


def _from_name(value: Any) -> Any:
    """Return the object for a format that is given by its name alone."""
    return {"type": value} if isinstance(value, str) else value


def _to_name(value: "MessageFormat", handler: SerializerFunctionWrapHandler) -> Any:
    """Return the name of plain JSON, which versions that know no other format read, and an object for the others."""
    return value.type if value == JsonFormat() else handler(value)


_Name: TypeAlias = Literal["json", "raw", "maxwell", "canal"]
RowFormat: TypeAlias = JsonFormat | CsvFormat | AvroFormat | ProtobufFormat | RawFormat
"""A format whose messages are rows."""

FORMAT_TYPES: Final = tuple(
    get_args(one.model_fields["type"].annotation)[0] for one in get_args(RowFormat | ChangeFormat)
)
"""The types of all formats."""

MessageFormat: TypeAlias = Annotated[
    Annotated[RowFormat | ChangeFormat, Field(discriminator="type")],
    BeforeValidator(_from_name, json_schema_input_type=_Name | RowFormat | ChangeFormat),
    WrapSerializer(_to_name),
]
"""The format of a message's value. A format that needs no options can be given by its name; plain JSON is stored so."""


class KeyFormat(Contract):
    """Kafka keys that begin with the id of their schema (Confluent's wire format).

    Attributes:
        type: The language of the schemas.
        schema_registry: The schema registry, by its name in the operators' file.
    """

    type: Literal["json", "avro", "protobuf"]
    schema_registry: RegistryName


def schema_registry_of(declared: MessageFormat) -> str | None:
    """Return the name of the schema registry that a format needs; None if it needs none."""
    match declared:
        case JsonFormat() | AvroFormat() | ProtobufFormat():
            return declared.schema_registry
        case DebeziumFormat():
            messages = declared.messages
            return messages.schema_registry if isinstance(messages, AvroFormat) else None
        case CsvFormat() | RawFormat() | MaxwellFormat() | CanalFormat():
            return None
        case _:
            assert_never(declared)


def captures_changes(declared: MessageFormat) -> bool:
    """Return whether messages are changes of rows, which say by themselves what is a delete."""
    return isinstance(declared, ChangeFormat)


def has_row_image(declared: MessageFormat) -> bool:
    """Return whether columns are read from a row inside of the message, and not from the message itself."""
    match declared:
        case DebeziumFormat():
            return not declared.unwrapped
        case MaxwellFormat() | CanalFormat():
            return True
        case _:
            return False


def may_yield_rows(declared: MessageFormat) -> bool:
    """Return whether one message may be several rows."""
    return isinstance(declared, MaxwellFormat | CanalFormat)
