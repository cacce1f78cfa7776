"""Reader of Debezium's events in Avro, which have either one declared schema or the ids of schemas in a registry.

Rows are not taken out of their events. A column `id` is read from `after.id`, from `before.id` in a delete, and from `id` in
an unwrapped event. A delete without `before` has no key: unlike the JSON reader, this reader does not use the Kafka key.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from braid.formats.avro.reader import AvroReader
from braid.formats.avro.schema import AvroType, parse_avro_schema
from braid.formats.change_capture.changes import Bools, ReadChanges
from braid.formats.change_capture.connect_types import NO_TYPE, ConnectType, typed_reader
from braid.formats.change_capture.debezium_events import AFTER, BEFORE, EventFields
from braid.formats.change_capture.envelopes import OpenedMessages, bare_messages
from braid.formats.change_capture.event_columns import EventColumns
from braid.formats.change_capture.row_types import AvroRowTypes
from braid.formats.change_capture.unavailable_values import AvailableReader, UnavailableValues
from braid.formats.change_capture.unwrapped_rows import UnwrappedRowReader
from braid.formats.fault import Faults
from braid.formats.mapped_column import MappedColumn
from braid.formats.mapping.times_reader import reader_with_times
from braid.formats.message_reader import MessageReader, ReadMessages
from braid.formats.message_types import MessageTypes, message_types
from braid.formats.native.kinds import NativeKind
from braid.formats.native.native_types import NativeType, types_at
from braid.formats.registered_reader import RegisteredReader
from braid.formats.schema_registry.schema_source import RegisteredSchema, SchemaKind, SchemaSource
from braid.schemas import AvroFormat, DebeziumFormat

_Paths = Sequence[tuple[str, ...]]
_NO_PATHS: Final[_Paths] = ()


class DebeziumAvroReader:
    """Reads the events of one stream."""

    def __init__(
        self,
        declared: DebeziumFormat,
        columns: Sequence[MappedColumn],
        *,
        has_position: bool,
        schemas: SchemaSource | None,
    ) -> None:
        """Prepare to read.

        Args:
            declared: The format; its messages are Avro.
            columns: The columns that are read from the events.
            has_position: Whether the positions of the changes are read.
            schemas: The registry that the format names; None if it names none.
        """
        assert isinstance(declared.messages, AvroFormat), "the messages are Avro"
        self._declared = declared
        self._schema_text = declared.messages.schema_text
        self._schemas = schemas
        self._fields = EventFields(declared, has_position=has_position)
        self._field_reader = EventColumns(self._fields.columns, self._reader_of)
        self._column_reader = EventColumns(columns, self.parts)
        self._unavailable = UnavailableValues(declared.unavailable_value)

    def open(self, messages: pa.BinaryArray) -> OpenedMessages:
        """Return the messages, which have no envelopes (see `ChangeReader.open`)."""
        return bare_messages(messages)

    def parts(self, fields: Sequence[MappedColumn]) -> MessageReader:
        """Return the reader of fields of events."""
        return reader_with_times(fields, self._reader_of)

    def read(self, opened: OpenedMessages, keys: pa.BinaryArray) -> ReadChanges:
        """Return what a batch of events says (see `ChangeReader.read`)."""
        del keys  # the event has the key
        payloads = opened.payloads
        faults = Faults(len(payloads))
        fields = self._field_reader.read(payloads, faults)
        is_there: Bools = payloads.is_valid().to_numpy(zero_copy_only=False)
        _, is_delete = self._fields.kinds(fields, is_there, faults)
        return ReadChanges(
            rows=payloads,
            is_delete=is_delete,
            is_ignored=np.zeros(len(payloads), bool),
            faults=faults,
            positions=self._fields.positions(fields),
            columns=self._column_reader.read(payloads, faults),
        )

    def rows(
        self,
        columns: Sequence[MappedColumn],
        *,
        of_deletes: bool = False,
        paths_of_other_streams: _Paths = (),
        finds_undeclared: bool = False,
    ) -> MessageReader:
        """Return the reader of rows (see `ChangeReader.rows`)."""
        image = () if self._declared.unwrapped else (BEFORE if of_deletes else AFTER,)
        inside = [replace(column, path=(*image, *column.path)) for column in columns]
        others = [(*image, *path) for path in paths_of_other_streams]
        if self._declared.unwrapped:
            others += [(name,) for name in self._fields.names]
        reader = reader_with_times(
            inside,
            lambda plain: self._reader_of(
                plain, paths_of_other_streams=others, finds_undeclared=finds_undeclared
            ),
        )
        available = AvailableReader(inside, reader, self._unavailable)
        return _ImageReader(available, image) if image else UnwrappedRowReader(columns, available)

    def row_types(self) -> MessageTypes:
        """Return the types of rows (see `ChangeReader.row_types`)."""
        assert isinstance(self._declared.messages, AvroFormat), "the messages are Avro"
        events = message_types(self._declared.messages, self._schemas)
        assert events is not None, "a schema tells the types of messages in Avro"
        return AvroRowTypes(self._declared, events)

    def _reader_of(
        self,
        columns: Sequence[MappedColumn],
        *,
        paths_of_other_streams: _Paths = _NO_PATHS,
        finds_undeclared: bool = False,
    ) -> MessageReader:
        def of_record(record: AvroType) -> MessageReader:
            return typed_reader(
                columns,
                lambda column: connect_type(types_at(record, column.path)),
                lambda plain: AvroReader(
                    record,
                    plain,
                    paths_of_other_streams=paths_of_other_streams,
                    finds_undeclared=finds_undeclared,
                ),
                has_unscaled=False,
            )

        def of_schema(schema: RegisteredSchema) -> MessageReader:
            return of_record(parse_avro_schema(schema.text, list(schema.references.values())))

        if self._schema_text is not None:
            return of_record(parse_avro_schema(self._schema_text))
        assert self._schemas is not None, "the registry that a format names is given"
        return RegisteredReader(columns, self._schemas, SchemaKind.AVRO, of_schema)


class _ImageReader:
    """Reads rows inside of events."""

    def __init__(self, events: MessageReader, image: Sequence[str]) -> None:
        self._events = events
        self._image = image

    def read(self, payloads: pa.BinaryArray) -> ReadMessages:
        """Return the columns of a batch of rows (see `MessageReader.read`)."""
        return self._events.read(payloads)

    def tree(self, payload: bytes) -> Any:
        """Return a row as dicts, lists and scalars (see `MessageReader.tree`)."""
        found = self._events.tree(payload)
        for name in self._image:
            found = found.get(name) if isinstance(found, dict) else None
        return found


def connect_type(declared: Sequence[NativeType]) -> ConnectType:
    """Return the type that Kafka Connect names for a field of these types.

    A date or time that is one for Avro (`logicalType`) is no number any more, and is read as it is.
    """
    names = [
        one.connect_name
        for one in declared
        if isinstance(one, AvroType) and one.native_kind is NativeKind.WHOLE
    ]
    return next((ConnectType(name) for name in names if name), NO_TYPE)
