"""Unavailable values: placeholders of Debezium for large values that a change did not touch and the database did not send.

| type of the database | placeholder |
|---|---|
| texts, JSON, XML, LOBs of characters | the text that Debezium is configured with |
| bytes, LOBs of bytes | the bytes of that text; in JSON as base64 |
| arrays of texts or bytes | an array with one item: that text or its bytes |
| arrays of integers | an array of the bytes of that text |
| hstore | one entry, with that text as its key and as its value |

In JSON, such a field at the top level of a row is removed before the row is read, so the field is missing whatever the type of
its column is. A record in Avro always has all of its fields; there the values of the columns are compared with the placeholder.

Source: Debezium 3.4, "Toasted values" of its connector for PostgreSQL, and `UnchangedToastedPlaceholder`.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.arrays import replace_rows, rows_with
from braid.formats.json.message import JsonObject, json_text, read_message
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import MessageReader, ReadMessages

_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_ANY: Final = msgspec.json.Decoder().decode
_ENCODE: Final = msgspec.json.encode


class UnavailableValues:
    """The placeholders of one stream."""

    def __init__(self, text: str) -> None:
        """Prepare to find them.

        Args:
            text: The text that Debezium is configured with.
        """
        self._text = text
        self._bytes = text.encode()
        encoded = base64.b64encode(self._bytes).decode()
        codes = list(self._bytes)
        self._values: list[Any] = [text, encoded, [text], [encoded], codes, {text: text}]
        # Whatever else is in a row, one with a placeholder has one of these in it.
        first_codes = [mark.join(map(str, codes[:4])).encode() for mark in (",", ", ")]
        self._marks = [_ENCODE(text)[1:-1], encoded.encode(), *first_codes]
        self._length_max = max(len(_ENCODE(value)) for value in self._values) * 2

    def without(self, rows: pa.BinaryArray) -> pa.BinaryArray:
        """Return rows, as JSON objects, without the fields that have a placeholder.

        Args:
            rows: JSON texts; null is null.
        """
        candidates = rows_with(rows, self._marks)
        if not candidates:
            return rows
        texts = rows.take(pa.array(candidates)).to_pylist()
        return replace_rows(rows, candidates, [self._without(text) for text in texts])

    def are_in(self, values: pa.Array) -> pa.BooleanArray | None:
        """Return where a column's values are placeholders, without nulls; None: its type has none."""
        kind = values.type
        if pa.types.is_string(kind):
            return pc.equal(values, self._text).fill_null(False)
        if pa.types.is_binary(kind):
            return pc.equal(values, pa.scalar(self._bytes, kind)).fill_null(False)
        if pa.types.is_list(kind) or pa.types.is_map(kind):
            return self._are_nested(values)
        return None

    def _are_nested(self, values: pa.Array) -> pa.BooleanArray:
        sizes = np.diff(values.offsets.to_numpy(zero_copy_only=False))
        is_valid = values.is_valid().to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(is_valid & np.isin(sizes, [1, len(self._bytes)])).tolist()
        found = np.zeros(len(values), bool)
        wanted = ([self._text], [self._bytes], list(self._bytes), [(self._text, self._text)])
        for row, value in zip(
            rows, values.take(pa.array(rows, pa.int64())).to_pylist(), strict=True
        ):
            found[row] = value in wanted
        return pa.array(found)

    def _without(self, row: bytes) -> bytes:
        try:
            fields: Mapping[str, bytes] = {
                name: bytes(value) for name, value in _FIELDS(row).items()
            }
        except (ValueError, RecursionError):
            return self._without_exactly(row)
        left = {name: value for name, value in fields.items() if not self._is_placeholder(value)}
        if len(left) == len(fields):
            return row
        return b"{%s}" % b",".join(_ENCODE(name) + b":" + value for name, value in left.items())

    def _is_placeholder(self, value: bytes) -> bool:
        # A row may have other values that are much longer.
        if value[:1] not in (b'"', b"[", b"{") or len(value) > self._length_max:
            return False
        try:
            return _ANY(value) in self._values
        except (ValueError, RecursionError):
            return False

    def _without_exactly(self, row: bytes) -> bytes:
        """Return a row that only the exact reader understands, such as one with NaN."""
        try:
            found = read_message(row)
            if not isinstance(found, JsonObject):
                return row
            left = {name: value for name, value in found.items() if value not in self._values}
            return row if len(left) == len(found) else json_text(JsonObject(left)).encode()
        except (ValueError, OverflowError, RecursionError):
            return row  # the reader of rows finds the fault


class AvailableReader:
    """Reads messages, in which placeholders count as missing fields."""

    def __init__(
        self,
        columns: Sequence[MappedColumn],
        messages: MessageReader,
        unavailable: UnavailableValues,
    ) -> None:
        """Prepare to read.

        Args:
            columns: The columns.
            messages: The reader of the columns.
            unavailable: The placeholders.
        """
        self._columns = tuple(columns)
        self._messages = messages
        self._unavailable = unavailable

    def read(self, payloads: pa.BinaryArray) -> ReadMessages:
        """Return the columns of a batch of messages (see `MessageReader.read`)."""
        found = self._messages.read(payloads)
        arrays, missing = list(found.arrays), dict(found.missing)
        for index, column in enumerate(self._columns):
            are_in = self._unavailable.are_in(arrays[index])
            if are_in is None or not pc.any(are_in).as_py():
                continue
            arrays[index] = pc.if_else(are_in, pa.scalar(None, arrays[index].type), arrays[index])
            if column.finds_missing:
                missing[column.name] = pc.or_(missing[column.name], are_in)
        return replace(found, arrays=arrays, missing=missing)

    def tree(self, payload: bytes) -> Any:
        """Return a message as dicts, lists and scalars (see `MessageReader.tree`)."""
        return self._messages.tree(payload)
