"""Readers of Kafka keys in Confluent's wire format: the id of a schema, then the key in the schema's language.

A column without a path is read from the whole key: a JSON value, or an Avro value of any type. A Protobuf key is always a
message with fields.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.avro.reader import AvroReader
from braid.formats.avro.schema import AvroType, parse_avro_schema
from braid.formats.dead_letter import DeadLetterReason
from braid.formats.fault import Fault, Faults
from braid.formats.json.key_reader import KeyReader
from braid.formats.mapped_column import MappedColumn
from braid.formats.mapping.times_reader import reader_with_times
from braid.formats.message_reader import MessageReader, ReadMessages
from braid.formats.readers import message_reader
from braid.formats.registered_reader import RegisteredReader
from braid.formats.schema_registry.schema_source import RegisteredSchema, SchemaKind, SchemaSource
from braid.formats.wire_format import read_schemas, split_headers
from braid.schemas import AvroFormat, ProtobufFormat

_WHOLE: Final = "key"
"""The field of the record that is made around an Avro key which is read as a whole."""


class RegisteredJsonKeys:
    """Reads keys in JSON behind the ids of their schemas."""

    def __init__(self, columns: Sequence[MappedColumn], schemas: SchemaSource) -> None:
        """Prepare to read.

        Args:
            columns: The columns that are read from the key.
            schemas: The registry of the ids.
        """
        self._keys = KeyReader(columns, is_json=True)
        self._schemas = schemas

    def read(self, keys: pa.BinaryArray) -> ReadMessages:
        """Return the columns of a batch of keys (see `RecordKeyReader.read`)."""
        framed = split_headers(keys)
        read_schemas(framed, self._schemas, SchemaKind.JSON)
        faults = _of_keys(framed.faults, len(keys))
        bodies = framed.bodies
        if len(faults):
            nothing = pa.scalar(None, bodies.type)
            bodies = pc.if_else(pa.array(faults.is_faulty), nothing, bodies)
        found = self._keys.read(bodies)
        faults.add_found(found.faults)
        return replace(found, faults=faults)


class RegisteredKeys:
    """Reads keys in Avro or Protobuf behind the ids of their schemas."""

    def __init__(
        self,
        columns: Sequence[MappedColumn],
        language: Literal["avro", "protobuf"],
        schemas: SchemaSource,
    ) -> None:
        """Prepare to read.

        Args:
            columns: The columns that are read from the key; of Protobuf with paths.
            language: The language of the schemas.
            schemas: The registry of the ids.
        """
        if any(column.path for column in columns):
            declared = AvroFormat() if language == "avro" else ProtobufFormat()
            self._keys = message_reader(declared, columns, schemas=schemas)
        else:
            assert language == "avro", "of a Protobuf key, fields are read"
            whole = [replace(column, path=(_WHOLE,)) for column in columns]
            self._keys = reader_with_times(whole, partial(_whole_keys, schemas=schemas))

    def read(self, keys: pa.BinaryArray) -> ReadMessages:
        """Return the columns of a batch of keys (see `RecordKeyReader.read`)."""
        found = self._keys.read(keys)
        return replace(found, faults=_of_keys(found.faults, len(keys)))


def _whole_keys(columns: Sequence[MappedColumn], schemas: SchemaSource) -> MessageReader:
    return RegisteredReader(
        columns,
        schemas,
        SchemaKind.AVRO,
        lambda schema: AvroReader(_record_around(schema), columns),
    )


def _record_around(schema: RegisteredSchema) -> AvroType:
    """Return a record whose only field is the key: Avro encodes it as it encodes the key."""
    try:
        key = json.loads(schema.text)
    except ValueError:
        key = schema.text.strip()  # a registry may hold the bare name of a primitive type
    fields = [{"name": _WHOLE, "type": key}]
    text = json.dumps({"type": "record", "name": "BraidKafkaKey", "fields": fields})
    return parse_avro_schema(text, list(schema.references.values()))


def _of_keys(found: Faults, count: int) -> Faults:
    """Return the faults of keys, which those of messages become."""
    faults = Faults(count)
    for row in found.rows:
        fault = found[row]
        is_large = fault.reason is DeadLetterReason.OUT_OF_RANGE
        reason = fault.reason if is_large else DeadLetterReason.MALFORMED_KEY
        faults.add(row, Fault(reason, f"the record's Kafka key: {fault.message}"))
    return faults
