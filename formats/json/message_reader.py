"""Reader of JSON messages: reads the columns of a batch, usual messages by the fast decoder and all others by the exact reader."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from braid.formats.arrays import rows_not_utf8
from braid.formats.dead_letter import DeadLetterReason
from braid.formats.exact_rows import column_values, with_exact_rows
from braid.formats.fault import Fault, Faults, malformed, not_utf8
from braid.formats.json.exact_values import (
    ValueFault,
    exact_value,
    json_kind,
    shown,
    variant_of_text,
)
from braid.formats.json.message import items_of, json_text, read_message
from braid.formats.json.typed_columns import is_text
from braid.formats.json.typed_decoder import DecodedMessages, TypedDecoder
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import ReadMessages
from braid.lake import DataType, TypeRoot, to_arrow_type

_DECODE_TEXT: Final = msgspec.json.Decoder(str).decode
_REFUSED_MAX: Final = 0.02  # of a batch; more set off the search for a decoder that refuses fewer


class JsonReader:
    """Reads JSON objects."""

    def __init__(
        self,
        columns: Sequence[MappedColumn],
        *,
        paths_of_other_streams: Sequence[tuple[str, ...]] = (),
        finds_undeclared: bool = False,
    ) -> None:
        """Prepare to read.

        Args:
            columns: The columns, with their paths in the message.
            paths_of_other_streams: Paths that other streams of the table read from the same topic.
            finds_undeclared: Whether messages with fields from which no column is read are reported.
        """
        self._columns = tuple(columns)
        self._types = [to_arrow_type(column.type) for column in columns]
        self._finds_undeclared = finds_undeclared
        self._paths_of_other_streams = paths_of_other_streams
        self._decoder = _decoder(columns, paths_of_other_streams, finds_undeclared)

    def read(self, payloads: pa.BinaryArray) -> ReadMessages:
        """Return the columns of a batch of messages (see `MessageReader.read`)."""
        messages = payloads.to_pylist()
        faults, unknown = Faults(len(messages)), set[int]()
        if self._decoder is None:
            arrays = [pa.nulls(len(messages), data_type) for data_type in self._types]
            missing = {
                c.name: np.ones(len(messages), bool) for c in self._columns if c.finds_missing
            }
            odd, undecided = set(range(len(messages))), set(range(len(messages)))
        else:
            # The decoder does not check the text of what it skips, nor of what it keeps as it is written.
            not_utf8_rows = rows_not_utf8(payloads)
            decoder, decoded = self._decode(self._decoder, _without(messages, not_utf8_rows))
            missing = decoded.missing
            odd = {*decoded.refused, *not_utf8_rows}
            arrays, undecided = [], set(odd)
            for column, values in zip(self._columns, decoded.columns, strict=True):
                array, rows = decoder.typed[column.name].build(values)
                arrays.append(array)
                undecided.update(rows)
            if self._finds_undeclared:
                unknown.update(self._with_unknown_parts(decoder, decoded.columns))
        if undecided:
            rows = sorted(undecided)
            arrays = with_exact_rows(
                arrays,
                rows,
                (self._values(messages[row]) for row in rows),
                columns=self._columns,
                missing=missing,
                faults=faults,
            )
        with_undeclared = []
        if self._finds_undeclared:
            candidates = {row for row in odd if messages[row] is not None}
            with_undeclared = sorted(candidates | unknown)
        return ReadMessages(
            arrays=arrays,
            faults=faults,
            with_undeclared=with_undeclared,
            missing={name: pa.array(is_missing) for name, is_missing in missing.items()},
        )

    @cached_property
    def _raw_text_decoder(self) -> TypedDecoder | None:
        """The decoder for streams that send numbers or objects for columns of texts; None once it was tried."""
        if not any(is_text(column.type) for column in self._columns):
            return None
        return _decoder(
            self._columns,
            self._paths_of_other_streams,
            self._finds_undeclared,
            keeps_texts_raw=True,
        )

    def _decode(
        self, decoder: TypedDecoder, messages: Sequence[bytes | None]
    ) -> tuple[TypedDecoder, DecodedMessages]:
        decoded = decoder.decode(messages)
        if len(decoded.refused) <= len(messages) * _REFUSED_MAX:
            return decoder, decoded
        other = self._raw_text_decoder
        if other is None:
            return decoder, decoded
        # Reading exactly takes ten times as long. The other decoder takes a fifth longer for every message, so
        # it stays only if it helps.
        decoded_by_other = other.decode(messages)
        self._raw_text_decoder = None
        if len(decoded_by_other.refused) > len(decoded.refused) // 2:
            return decoder, decoded
        self._decoder = other
        return other, decoded_by_other

    def tree(self, payload: bytes) -> Any:
        """Return a message as dicts, lists and scalars (see `MessageReader.tree`)."""
        return read_message(payload)

    def _values(self, message: bytes | None) -> list[Any] | Fault | None:
        """Return the values of all columns, exactly, `MISSING` without a field; or the first fault."""
        if message is None:
            return None
        try:
            tree = read_message(message)
        except UnicodeDecodeError as error:
            return not_utf8(error)
        except ValueError as error:
            return malformed(f"not JSON: {error}")
        except RecursionError:
            return TOO_DEEP
        if not isinstance(tree, dict):
            return malformed(f"found {json_kind(tree)}, expected an object")
        try:
            return column_values(tree, self._columns, kind=json_kind, read=_exact_value)
        except RecursionError:
            return TOO_DEEP

    def _with_unknown_parts(
        self, decoder: TypedDecoder, columns: Sequence[Sequence[Any]]
    ) -> Iterable[int]:
        """Yield the rows in which a ROW, at any depth of a column, has a field that its type does not have."""
        for column, values in zip(self._columns, columns, strict=True):
            if column.name not in decoder.raw_columns or not _holds_row(column.type):
                continue
            for row, raw in enumerate(values):
                if raw is not None and bytes(raw) != b"null":
                    try:
                        if _has_unknown(read_message(bytes(raw)), column.type):
                            yield row
                    except (ValueError, RecursionError):
                        continue  # the exact reader finds the fault


TOO_DEEP: Final = malformed("JSON that is nested too deeply")
"""The fault of a message that Python cannot parse as a whole; a part of it may have been read."""


def _exact_value(value: Any, column: MappedColumn) -> Any:
    if column.holds_json and isinstance(value, str):
        return variant_of_text(value, column.type, column.address)
    if column.holds_json and value is None:
        return None
    if not column.keeps_json:
        return exact_value(value, column.type, address=column.address)
    try:
        return None if value is None else json_text(value).encode()
    except OverflowError as error:
        reason = DeadLetterReason.OUT_OF_RANGE
        raise ValueFault(reason, column.address, str(error), "JSON with shorter numbers") from error
    except UnicodeEncodeError as error:
        text = "JSON without half of a surrogate pair"
        raise ValueFault(DeadLetterReason.WRONG_TYPE, column.address, shown(value), text) from error


def _decoder(
    columns: Sequence[MappedColumn],
    paths_of_other_streams: Sequence[tuple[str, ...]],
    finds_undeclared: bool,
    *,
    keeps_texts_raw: bool = False,
) -> TypedDecoder | None:
    try:
        return TypedDecoder(
            columns,
            paths_of_other_streams=paths_of_other_streams,
            refuses_unknown=finds_undeclared,
            keeps_texts_raw=keeps_texts_raw,
        )
    except ValueError:  # a field's name that msgspec cannot have: every message is read exactly
        return None


def _without(messages: list[bytes | None], rows: Sequence[int]) -> list[bytes | None]:
    """Return the messages, None in the place of some."""
    if not rows:
        return messages
    kept = list(messages)
    for row in rows:
        kept[row] = None
    return kept


def _holds_row(data_type: DataType) -> bool:
    if data_type.root is TypeRoot.ROW:
        return True
    held = data_type.element or data_type.value
    return held is not None and _holds_row(held)


def _has_unknown(value: Any, data_type: DataType) -> bool:
    if data_type.root is TypeRoot.ROW:
        if not isinstance(value, dict):
            return False
        if value.keys() - {field.name for field in data_type.fields}:
            return True
    elif not isinstance(value, list if data_type.root is TypeRoot.ARRAY else dict):
        return False
    return any(
        item is not None and _holds_row(item_type) and _has_unknown(item, item_type)
        for _, item, item_type in items_of(value, data_type)
    )
