"""Reader of Debezium's events in JSON, with or without schema envelopes; also of unwrapped events.

The row of a delete without `before` consists of the fields of the Kafka key. An event of MongoDB has its document as a text,
which is parsed as JSON.
"""

import json
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.arrays import replace_rows
from braid.formats.change_capture.changes import Bools, Ints, ReadChanges
from braid.formats.change_capture.connect_types import (
    DECIMAL,
    NO_TYPE,
    ConnectType,
    parse_connect_schema,
    typed_reader,
)
from braid.formats.change_capture.debezium_events import (
    AFTER,
    BEFORE,
    EventFields,
)
from braid.formats.change_capture.envelopes import KnownSchemas, OpenedMessages, open_envelopes
from braid.formats.change_capture.event_columns import EventColumns, json_field
from braid.formats.change_capture.json_rows import JsonRowReader, framed_rows
from braid.formats.change_capture.row_types import JsonRowTypes
from braid.formats.change_capture.unavailable_values import UnavailableValues
from braid.formats.change_capture.unwrapped_rows import UnwrappedRowReader
from braid.formats.fault import Faults
from braid.formats.json.message_reader import JsonReader
from braid.formats.mapped_column import MappedColumn
from braid.formats.mapping.times_reader import reader_with_times
from braid.formats.message_reader import MessageReader
from braid.formats.message_types import MessageTypes
from braid.lake import TypeRoot
from braid.schemas import DebeziumFormat, DecimalForm, SourceDatabase

_TEXT_OF: Final = msgspec.json.Decoder(str).decode
_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class DebeziumJsonReader:
    """Reads the events of one stream."""

    def __init__(
        self, declared: DebeziumFormat, columns: Sequence[MappedColumn], *, has_position: bool
    ) -> None:
        """Prepare to read.

        Args:
            declared: The format.
            columns: The columns that are read from the events.
            has_position: Whether the positions of the changes are read.
        """
        self._declared = declared
        self._known = KnownSchemas()
        self._fields = EventFields(declared, has_position=has_position)
        images = () if declared.unwrapped else (BEFORE, AFTER)
        self._field_reader = EventColumns(
            [*self._fields.columns, *map(json_field, images)], JsonReader
        )
        self._column_reader = EventColumns(columns, self.parts)
        self._unavailable = UnavailableValues(declared.unavailable_value)

    def open(self, messages: pa.BinaryArray) -> OpenedMessages:
        """Return the events of a batch of messages (see `ChangeReader.open`)."""
        self._known.begin()
        return open_envelopes(messages, self._known)

    def parts(self, fields: Sequence[MappedColumn]) -> MessageReader:
        """Return the reader of fields of opened events."""
        return reader_with_times(fields, JsonReader)

    def read(self, opened: OpenedMessages, keys: pa.BinaryArray) -> ReadChanges:
        """Return what a batch of opened events says (see `ChangeReader.read`)."""
        payloads = opened.payloads
        faults = Faults(len(payloads))
        fields = self._field_reader.read(payloads, faults)
        is_there: Bools = payloads.is_valid().to_numpy(zero_copy_only=False)
        is_upsert, is_delete = self._fields.kinds(fields, is_there, faults)
        rows = payloads
        if not self._declared.unwrapped:
            rows = self._rows(fields, is_upsert, is_delete, keys)
            self._fields.refuse_without_row(rows, is_upsert, faults)
        is_read = pa.array(is_upsert | is_delete)
        rows = pc.if_else(is_read, rows, pa.scalar(None, rows.type))
        rows = self._unavailable.without(rows)
        return ReadChanges(
            rows=framed_rows(rows, opened.schemas),
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
        paths_of_other_streams: Sequence[tuple[str, ...]] = (),
        finds_undeclared: bool = False,
    ) -> MessageReader:
        """Return the reader of rows (see `ChangeReader.rows`)."""
        others = list(paths_of_other_streams)
        if self._declared.unwrapped:
            others += [(name,) for name in self._fields.names]

        def plain(some: Sequence[MappedColumn]) -> MessageReader:
            reader = JsonReader(
                some, paths_of_other_streams=others, finds_undeclared=finds_undeclared
            )
            return UnwrappedRowReader(some, reader) if self._declared.unwrapped else reader

        def reader_of(schema: bytes | None) -> MessageReader:
            if schema is None:
                return typed_reader(columns, self._undeclared_type, plain, has_unscaled=True)
            image = () if self._declared.unwrapped else (BEFORE if of_deletes else AFTER,)
            row = parse_connect_schema(schema).at(image)
            return typed_reader(
                columns, lambda column: row.at(column.path), plain, has_unscaled=True
            )

        return JsonRowReader(columns, self._known, reader_of)

    def row_types(self) -> MessageTypes:
        """Return the types of rows whose events have a schema (see `ChangeReader.row_types`)."""
        return JsonRowTypes(self._declared, self._known)

    def _undeclared_type(self, column: MappedColumn) -> ConnectType:
        """Return the type of a field in messages without a schema."""
        is_decimal = column.type.root is TypeRoot.DECIMAL
        if is_decimal and self._declared.decimals is DecimalForm.BASE64:
            return ConnectType(DECIMAL, column.type.scale or 0)
        return NO_TYPE

    def _rows(
        self,
        fields: dict[str, pa.Array],
        is_upsert: Bools,
        is_delete: Bools,
        keys: pa.BinaryArray,
    ) -> pa.BinaryArray:
        """Return the row of each event: before a delete, after all other changes."""
        rows = fields[AFTER]
        deletes = np.flatnonzero(is_delete)
        if len(deletes):
            rows = pc.if_else(pa.array(is_delete), fields[BEFORE], rows)
        if self._declared.database is SourceDatabase.MONGODB:
            rows = _unquoted(rows)
        if len(deletes) and rows.null_count:
            is_null = rows.is_null().to_numpy(zero_copy_only=False)
            rows = self._with_keys(rows, deletes[is_null[deletes]], keys)
        return rows

    def _with_keys(
        self, rows: pa.BinaryArray, places: Ints, keys: pa.BinaryArray
    ) -> pa.BinaryArray:
        """Return rows, those of deletes without a row made of the fields of their Kafka keys."""
        if not len(places):
            return rows
        opened = open_envelopes(keys.take(pa.array(places))).payloads.to_pylist()
        is_document = self._declared.database is SourceDatabase.MONGODB
        return replace_rows(
            rows,
            places.tolist(),
            [_document_key(key) if is_document else _object(key) for key in opened],
        )


def _object(key: bytes | None) -> bytes | None:
    """Return a key that is a JSON object; None for any other."""
    return key if key is not None and key.lstrip()[:1] == b"{" else None


def _document_key(key: bytes | None) -> bytes | None:
    """Return the document that has only the id of a key of MongoDB, which is the JSON text of the id."""
    try:
        found = _OBJECT(key or b"")
        text = _TEXT_OF(found["id"]) if "id" in found else None
    except (ValueError, RecursionError):
        return None
    return None if text is None else b'{"_id":%s}' % text.encode()


def _unquoted(rows: pa.BinaryArray) -> pa.BinaryArray:
    """Return documents of MongoDB, which are texts of JSON inside of JSON."""
    is_text = pc.starts_with(rows, b'"').fill_null(False)
    if not pc.any(is_text).as_py():
        return rows
    found = [_text_of(row) for row in rows.to_pylist()]
    return pa.array(found, rows.type)


def _text_of(row: bytes | None) -> bytes | None:
    if row is None or row[:1] != b'"':
        return row
    text = json.loads(row)
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else row
