"""Reader of JSON messages in Confluent's wire format: the id of a JSON Schema, then the message.

The id has to be that of a JSON Schema in the stream's registry. The message is read by the columns' types, like JSON without an
id. It is not validated against the schema: producers do that before they send.
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.json.message_reader import JsonReader
from braid.formats.message_reader import ReadMessages
from braid.formats.schema_registry.schema_source import SchemaKind, SchemaSource
from braid.formats.wire_format import read_schemas, split_header, split_headers


class RegisteredJsonReader:
    """Reads JSON objects behind the ids of their schemas."""

    def __init__(self, messages: JsonReader, schemas: SchemaSource) -> None:
        """Prepare to read.

        Args:
            messages: Reads the messages without their ids.
            schemas: The registry of the ids.
        """
        self._messages = messages
        self._schemas = schemas

    def read(self, payloads: pa.BinaryArray) -> ReadMessages:
        """Return the columns of a batch of messages (see `MessageReader.read`).

        Raises:
            StorageUnavailable: The registry does not answer.
        """
        framed = split_headers(payloads)
        read_schemas(framed, self._schemas, SchemaKind.JSON)
        faults, bodies = framed.faults, framed.bodies
        if not len(faults):
            return self._messages.read(bodies)
        is_faulty = pa.array(faults.is_faulty)
        # To the inner reader a faulty message is none, so that it finds no second fault.
        found = self._messages.read(pc.if_else(is_faulty, pa.scalar(None, bodies.type), bodies))
        faults.add_found(found.faults)
        return ReadMessages(
            arrays=found.arrays,
            faults=faults,
            with_undeclared=found.with_undeclared,
            missing={name: pc.and_not(mask, is_faulty) for name, mask in found.missing.items()},
        )

    def tree(self, payload: bytes) -> Any:
        """Return a message as dicts, lists and scalars (see `MessageReader.tree`)."""
        _, body = split_header(payload)
        return self._messages.tree(body)
