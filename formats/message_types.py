"""Types of messages in Avro and Protobuf: the types that a message's schema declares for its fields, independent of their values.

For captured changes they are the types of the rows, which `formats.change_capture` finds. Messages of other formats have no
types.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

from braid.formats.avro.schema import AvroType, parse_avro_schema
from braid.formats.native.native_types import NativeType
from braid.formats.protobuf.indexed_types import IndexedTypes, split_indexes
from braid.formats.protobuf.schema import parse_descriptor_set, registered_files
from braid.formats.schema_registry.recent_entries import RecentEntries
from braid.formats.schema_registry.schema_source import (
    RegisteredSchema,
    SchemaSource,
    UnknownSchemaError,
)
from braid.formats.wire_format import split_header
from braid.schemas import AvroFormat, MessageFormat, ProtobufFormat

_SCHEMAS_MAX: Final = 256
_CHARACTERS_MAX: Final = 16 << 20
_TYPES_MAX: Final = 256


class MessageTypes(Protocol):
    """Finds the types of messages."""

    @property
    def is_whole(self) -> bool:
        """Whether no message has a field that its type does not have."""
        ...

    def type_of(self, payload: bytes) -> NativeType | None:
        """Return the type of a message, mostly the same object for messages of one type; None: no schema tells it.

        Raises:
            ValueError: The message does not name a type that can be read.
            StorageUnavailable: The schema registry does not answer.
        """
        ...

    def of_column(self, declared: NativeType) -> NativeType:
        """Return the type as which a column of its own reads the values of a type; mostly the type itself."""
        ...


def message_types(declared: MessageFormat, schemas: SchemaSource | None) -> MessageTypes | None:
    """Return the types of a stream's messages; None where no schema tells them.

    Args:
        declared: The stream's format; one whose messages are rows.
        schemas: The registry that the format names; None if it names none.
    """
    match declared:
        case AvroFormat(schema_text=str() as text):
            return _OneType(parse_avro_schema(text))
        case AvroFormat():
            assert schemas is not None, "the registry that a format names is given"
            return _RegisteredTypes(schemas, _avro_types)
        case ProtobufFormat(descriptor_set=str() as files, message=str() as name):
            return _OneType(parse_descriptor_set(files, name))
        case ProtobufFormat():
            assert schemas is not None, "the registry that a format names is given"
            return _RegisteredTypes(schemas, _protobuf_types)
        case _:
            return None


class _OneType:
    """The type of all messages."""

    is_whole = True

    def __init__(self, declared: NativeType) -> None:
        self._declared = declared

    def type_of(self, payload: bytes) -> NativeType:
        """Return the type (see `MessageTypes.type_of`)."""
        del payload
        return self._declared

    def of_column(self, declared: NativeType) -> NativeType:
        """Return the type (see `MessageTypes.of_column`)."""
        return declared


class _RegisteredTypes:
    """The types of messages that name their schema by id."""

    is_whole = True

    def __init__(
        self,
        schemas: SchemaSource,
        types_of: Callable[[RegisteredSchema], Callable[[bytes], NativeType]],
    ) -> None:
        self._schemas = schemas
        self._types_of = types_of
        self._known = RecentEntries[int, Callable[[bytes], NativeType]](
            count_max=_SCHEMAS_MAX, size_max=_CHARACTERS_MAX
        )

    def type_of(self, payload: bytes) -> NativeType:
        """Return the type of the message's schema (see `MessageTypes.type_of`)."""
        schema_id, body = split_header(payload)
        found = self._known.get(schema_id)
        if found is None:
            try:
                schema = self._schemas.schema(schema_id)
            except UnknownSchemaError as error:
                raise ValueError(str(error)) from error
            found = self._types_of(schema)
            self._known.put(schema_id, found, size=len(schema.text))
        return found(body)

    def of_column(self, declared: NativeType) -> NativeType:
        """Return the type (see `MessageTypes.of_column`)."""
        return declared


def _avro_types(schema: RegisteredSchema) -> Callable[[bytes], AvroType]:
    record = parse_avro_schema(schema.text, list(schema.references.values()))
    return lambda _: record


def _protobuf_types(schema: RegisteredSchema) -> Callable[[bytes], NativeType]:
    types = IndexedTypes(registered_files(schema.text, schema.references))
    known = RecentEntries[tuple[int, ...], NativeType](count_max=_TYPES_MAX, size_max=_TYPES_MAX)
    return partial(_indexed_type, types, known)


def _indexed_type(
    types: IndexedTypes, known: RecentEntries[tuple[int, ...], NativeType], body: bytes
) -> NativeType:
    indexes, _ = split_indexes(body)
    found = known.get(indexes)
    if found is None:
        found = types.type_at(indexes)
        known.put(indexes, found, size=1)
    return found
