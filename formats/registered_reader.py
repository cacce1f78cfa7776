"""Reader of Avro and Protobuf messages that name their schemas by id: each message is read by the schema that it was written with.

Producers may switch to another schema at any time, and old messages stay in the topic, so one batch may have messages of several
schemas. Each schema has its own reader, which looks up the columns in the schema. `json.registered_reader` reads JSON messages
with ids.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from braid.formats.fault import Fault, malformed
from braid.formats.joined_messages import ReadPart, joined_messages
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import MessageReader, ReadMessages
from braid.formats.schema_registry.recent_entries import RecentEntries
from braid.formats.schema_registry.schema_source import (
    RegisteredSchema,
    SchemaKind,
    SchemaSource,
    UnknownSchemaError,
)
from braid.formats.wire_format import read_schemas, split_header, split_headers

_READERS_MAX: Final = 256
_READER_CHARACTERS_MAX: Final = 16 << 20  # of the schemas that readers were made for
_SHOWN_MAX: Final = 300


class RegisteredReader:
    """Reads messages behind the ids of their schemas."""

    def __init__(
        self,
        columns: Sequence[MappedColumn],
        schemas: SchemaSource,
        kind: SchemaKind,
        reader_of: Callable[[RegisteredSchema], MessageReader],
    ) -> None:
        """Prepare to read.

        Args:
            columns: The columns, with their paths in the message.
            schemas: The registry of the ids.
            kind: The kind of schema that the messages have.
            reader_of: Returns the reader of the messages of a schema, for the same columns; raises ValueError
                if the schema cannot be read.
        """
        self._columns = tuple(columns)
        self._schemas = schemas
        self._kind = kind
        self._reader_of = reader_of
        self._readers = RecentEntries[int, MessageReader | Fault](
            count_max=_READERS_MAX, size_max=_READER_CHARACTERS_MAX
        )

    def read(self, payloads: pa.BinaryArray) -> ReadMessages:
        """Return the columns of a batch of messages (see `MessageReader.read`).

        Raises:
            StorageUnavailable: The registry does not answer.
        """
        framed = split_headers(payloads)
        parts = []
        for schema in read_schemas(framed, self._schemas, self._kind).values():
            rows = np.flatnonzero(framed.ids == schema.id)
            reader = self._reader(schema)
            if isinstance(reader, Fault):
                framed.faults.add_all(rows.tolist(), reader)
            else:
                parts.append(ReadPart(rows, reader.read(framed.bodies.take(pa.array(rows)))))
        return joined_messages(parts, self._columns, framed.faults)

    def tree(self, payload: bytes) -> Any:
        """Return a message as dicts, lists and scalars (see `MessageReader.tree`)."""
        schema_id, body = split_header(payload)
        try:
            reader = self._reader(self._schemas.schema(schema_id))
        except UnknownSchemaError as error:
            raise ValueError(str(error)) from error
        if not isinstance(reader, Fault):
            return reader.tree(body)
        raise ValueError(reader.message)

    def _reader(self, schema: RegisteredSchema) -> MessageReader | Fault:
        known = self._readers.get(schema.id)
        if known is not None:
            return known
        try:
            found: MessageReader | Fault = self._reader_of(schema)
        except ValueError as error:
            found = malformed(f"the schema of id {schema.id} cannot be read: {error}"[:_SHOWN_MAX])
        self._readers.put(schema.id, found, size=len(schema.text))
        return found
