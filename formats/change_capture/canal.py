"""Reader of Canal's flat messages: `data` has the rows of one statement, and `old` the values that an update replaced in each row.

| message | meaning; the first line that applies decides |
|---|---|
| `type` is `TRUNCATE` | refused |
| no `type` | refused |
| `isDdl` is true | changes no row |
| `type` is `INSERT` or `UPDATE` | rows after the change |
| `type` is `DELETE` | rows before the delete |
| another `type`, and no `data` | changes no row |
| any other | refused |

All values are texts as MySQL writes them. An update whose `old` has a field of the key is a delete of the old key and an
upsert of the new key. A column that the stream adds to the table gets its type from the message (`mysqlType`).

Source: Canal 1.1, `FlatMessage` and `MQMessageUtils`.
"""

import base64
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.change_capture.canal_types import CanalRowTypes
from braid.formats.change_capture.changes import TRUNCATE, ReadChanges
from braid.formats.change_capture.envelopes import (
    NO_SCHEMA,
    KnownSchemas,
    OpenedMessages,
    bare_messages,
)
from braid.formats.change_capture.event_columns import (
    TEXT,
    EventColumns,
    json_field,
    unknown_kind,
)
from braid.formats.change_capture.json_rows import JsonRowReader, framed_rows
from braid.formats.change_capture.row_texts import has_field, overlaid, row_texts
from braid.formats.change_capture.unscaled_decimals import replace_value
from braid.formats.dead_letter import DeadLetterReason
from braid.formats.fault import Fault, Faults, malformed
from braid.formats.json.exact_values import NUMBER_TEXT, shown
from braid.formats.json.message import written_number
from braid.formats.json.message_reader import TOO_DEEP, JsonReader
from braid.formats.mapped_column import MappedColumn
from braid.formats.mapping.times_reader import reader_with_times
from braid.formats.message_reader import MessageReader, ReadMessages
from braid.formats.raw_reader import raw_column
from braid.formats.text_values import meant_value, text_column
from braid.formats.type_bounds import INTEGER_BOUND
from braid.lake import DataType, TypeRoot, parse_type

_UPSERTS: Final = ("INSERT", "UPDATE")
_UPDATE, _DELETE, _TRUNCATE = "UPDATE", "DELETE", "TRUNCATE"
_BINARIES: Final = (TypeRoot.BINARY, TypeRoot.VARBINARY)
_FIELDS: Final = (
    MappedColumn(name="type", path=("type",), type=TEXT),
    MappedColumn(name="isDdl", path=("isDdl",), type=parse_type("BOOLEAN")),
    *map(json_field, ("data", "old")),
)
_TYPES: Final = json_field("mysqlType")
_BOOLEANS: Final = {"1": True, "0": False}


class CanalReader:
    """Reads the messages of one stream."""

    def __init__(
        self,
        columns: Sequence[MappedColumn],
        *,
        key_fields: frozenset[str],
        tells_types: bool = False,
    ) -> None:
        """Prepare to read.

        Args:
            columns: The columns that are read from the messages.
            key_fields: Fields of rows that the key is read from.
            tells_types: Whether the types of the rows are asked for.
        """
        self._key_fields = key_fields
        self._tells_types = tells_types
        self._known = KnownSchemas()
        fields = (*_FIELDS, _TYPES) if tells_types else _FIELDS
        self._field_reader = EventColumns(fields, JsonReader)
        self._column_reader = EventColumns(columns, self.parts)

    def open(self, messages: pa.BinaryArray) -> OpenedMessages:
        """Return the messages, which have no envelopes (see `ChangeReader.open`)."""
        self._known.begin()
        return bare_messages(messages)

    def parts(self, fields: Sequence[MappedColumn]) -> MessageReader:
        """Return the reader of fields of messages."""
        return reader_with_times(fields, JsonReader)

    def rows(
        self,
        columns: Sequence[MappedColumn],
        *,
        of_deletes: bool = False,
        paths_of_other_streams: Sequence[tuple[str, ...]] = (),
        finds_undeclared: bool = False,
    ) -> MessageReader:
        """Return the reader of rows (see `ChangeReader.rows`)."""
        del of_deletes  # rows look alike

        def reader_of(plain: Sequence[MappedColumn]) -> MessageReader:
            texts = [replace(column, type=TEXT, takes_scalars=False) for column in plain]
            reader = JsonReader(
                texts,
                paths_of_other_streams=paths_of_other_streams,
                finds_undeclared=finds_undeclared,
            )
            return _TextRowReader(plain, reader)

        reader = reader_with_times(columns, reader_of)
        return (
            JsonRowReader(columns, self._known, lambda _: reader) if self._tells_types else reader
        )

    def row_types(self) -> CanalRowTypes:
        """Return the types of rows whose messages name them (see `ChangeReader.row_types`)."""
        return CanalRowTypes(self._known)

    def read(self, opened: OpenedMessages, keys: pa.BinaryArray) -> ReadChanges:
        """Return what a batch of messages says (see `ChangeReader.read`)."""
        del keys  # the rows have the key
        messages = opened.payloads
        faults = Faults(len(messages))
        fields = self._field_reader.read(messages, faults)
        kinds, is_ddl, data, old = (fields[one.name].to_pylist() for one in _FIELDS)
        types = fields[_TYPES.name].to_pylist() if self._tells_types else [None] * len(messages)
        columns = self._column_reader.read(messages, faults)
        is_ignored = np.zeros(len(messages), bool)
        rows: list[bytes | None] = []
        events: list[int] = []
        deletes: list[bool] = []
        schemas: list[int] = []
        present = messages.is_valid().to_pylist()
        for event, kind in enumerate(kinds):
            changed: list[tuple[bytes | None, bool]] = []
            if present[event] and event not in faults:
                fault = self._fault(kind, is_ddl[event], data[event])
                if fault is not None:
                    faults.add(event, fault)
                elif kind in (*_UPSERTS, _DELETE) and not is_ddl[event]:
                    changed += self._changed(event, kind, data[event], old[event], faults)
                is_ignored[event] = not changed and event not in faults
            named = types[event] if changed else None
            schema = NO_SCHEMA if named is None else self._known.number(named)
            # A message without rows keeps its place by one that is null.
            for row, is_delete in changed or [(None, False)]:
                rows.append(row)
                events.append(event)
                deletes.append(is_delete)
                schemas.append(schema)
        return ReadChanges(
            rows=framed_rows(pa.array(rows, pa.binary()), np.array(schemas, np.int64)),
            events=np.array(events, np.int64) if len(events) > len(messages) else None,
            is_delete=np.array(deletes, bool),
            is_ignored=is_ignored,
            faults=faults,
            columns=columns,
        )

    def _fault(self, kind: str | None, is_ddl: bool | None, data: bytes | None) -> Fault | None:
        """Return why a message is refused for its type."""
        if kind == _TRUNCATE:
            return TRUNCATE
        if kind in (*_UPSERTS, _DELETE) or (kind is not None and (is_ddl or data is None)):
            return None
        return unknown_kind(kind, field="type", expected=(*_UPSERTS, _DELETE))

    def _changed(
        self, event: int, kind: str, data: bytes | None, old: bytes | None, faults: Faults
    ) -> list[tuple[bytes | None, bool]]:
        """Return the rows of a message, each with whether it is a delete; none if the message has a fault."""
        try:
            rows = row_texts(data) if data is not None else None
            replaced = row_texts(old) if old is not None and kind == _UPDATE else None
            if rows is None or (replaced is not None and len(replaced) != len(rows)):
                faults.add(
                    event,
                    malformed(
                        "`data` is missing or null, or `old` has another number of rows than `data`"
                    ),
                )
                return []
            changed: list[tuple[bytes | None, bool]] = []
            for index, row in enumerate(rows):
                before = None if replaced is None else replaced[index]
                if before is not None and has_field(before, self._key_fields):
                    changed.append((overlaid(row, before), True))
                changed.append((row, kind == _DELETE))
        except ValueError:
            faults.add(event, malformed("`data` or `old` is not a list of objects"))
            return []
        except RecursionError:
            faults.add(event, TOO_DEEP)
            return []
        return changed


class _TextRowReader:
    """Reads rows whose values are texts, as MySQL writes them."""

    def __init__(self, columns: Sequence[MappedColumn], texts: MessageReader) -> None:
        self._columns = tuple(columns)
        self._texts = texts
        # By path: two columns may be read from one field.
        self._types = {column.path: column.type for column in columns}

    def read(self, payloads: pa.BinaryArray) -> ReadMessages:
        """Return the columns of a batch of rows (see `MessageReader.read`)."""
        found = self._texts.read(payloads)
        arrays = [
            self._column(texts, column, found.faults)
            for texts, column in zip(found.arrays, self._columns, strict=True)
        ]
        return replace(found, arrays=arrays)

    def tree(self, payload: bytes) -> Any:
        """Return a row as dicts, lists and scalars (see `MessageReader.tree`).

        Texts of columns are the values that they stand for, without fields that a ROW does not have: in texts new fields
        are not searched for.
        """
        found = self._texts.tree(payload)
        for path, data_type in self._types.items():
            replace_value(found, path, partial(_meant, data_type=data_type))
        return found

    def _column(self, texts: pa.StringArray, column: MappedColumn, faults: Faults) -> pa.Array:
        if column.type.root in _BINARIES:
            return _bytes(texts, column, faults)
        if column.type.root is TypeRoot.BOOLEAN:
            texts = pc.if_else(pc.equal(texts, "1"), "true", texts)
            texts = pc.if_else(pc.equal(texts, "0"), "false", texts)
        return text_column(texts, column, faults, subject=f"field {column.address}")


def _meant(value: Any, data_type: DataType) -> Any:
    """Return the JSON value that a text stands for; a text that stands for none of its type stays as it is."""
    if not isinstance(value, str):
        return value
    try:
        if data_type.root in _BINARIES:
            return base64.b64encode(value.encode("latin-1")).decode()
        if data_type.root is TypeRoot.BOOLEAN and value in _BOOLEANS:
            return _BOOLEANS[value]
        if data_type.root in INTEGER_BOUND and "." in value and NUMBER_TEXT.fullmatch(value):
            return written_number(value)
        return _without_undeclared(meant_value(value, data_type), data_type)
    except (ValueError, RecursionError):
        return value


def _without_undeclared(value: Any, data_type: DataType) -> Any:
    """Return a value without the fields that its ROWs do not have."""
    if data_type.root is TypeRoot.ROW and isinstance(value, dict):
        return {
            one.name: _without_undeclared(value[one.name], one.type)
            for one in data_type.fields
            if one.name in value
        }
    if data_type.element is not None and isinstance(value, list):
        return [_without_undeclared(item, data_type.element) for item in value]
    if data_type.value is not None and isinstance(value, dict):
        for name in value:  # the object knows whether a name occurs twice, so it stays
            value[name] = _without_undeclared(value[name], data_type.value)
    return value


def _bytes(texts: pa.StringArray, column: MappedColumn, faults: Faults) -> pa.Array:
    """Return bytes, each of which is a character of the text."""
    values: list[bytes | None] = []
    for row, text in enumerate(texts.to_pylist()):
        try:
            value = None if text is None else text.encode("latin-1")
        except UnicodeEncodeError:
            value = None
            message = (
                f"field {column.address}: found {shown(text)}, expected {column.type.with_nullable(True)}, "
                f"written with one character for each byte, for {column.purpose}"
            )
            faults.add(row, Fault(DeadLetterReason.WRONG_TYPE, message))
        values.append(value)
    array = pa.array(values, pa.binary())
    return raw_column(array, column, faults, subject=f"field {column.address}")
