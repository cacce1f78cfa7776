"""Reader of raw messages: each whole message is one value."""

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.arrays import replace_rows, rows_where
from braid.formats.dead_letter import DeadLetterReason
from braid.formats.fault import Fault, Faults, not_utf8
from braid.formats.json.exact_values import expected_form
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import ReadMessages
from braid.formats.text_values import text_column
from braid.formats.type_bounds import length_bound
from braid.lake import TypeRoot, to_arrow_type

RAW_FIELD: Final = "value"
"""The only field of a raw message."""
_BINARIES: Final = (TypeRoot.BINARY, TypeRoot.VARBINARY)


class RawReader:
    """Reads messages that are one value: bytes for BINARY, a text in UTF-8 for every other type."""

    def __init__(self, columns: Sequence[MappedColumn]) -> None:
        """Prepare to read.

        Args:
            columns: The columns, each of the whole message.
        """
        self._columns = tuple(columns)

    def read(self, payloads: pa.BinaryArray) -> ReadMessages:
        """Return the columns of a batch of messages (see `MessageReader.read`)."""
        faults = Faults(len(payloads))
        arrays = [
            raw_column(payloads, column, faults, subject="the message") for column in self._columns
        ]
        return ReadMessages(arrays=arrays, faults=faults, with_undeclared=[])

    def tree(self, payload: bytes) -> Any:
        """Return a message as a dict of its only field (see `MessageReader.tree`)."""
        return {RAW_FIELD: payload.decode()}


def raw_column(
    payloads: pa.BinaryArray, column: MappedColumn, faults: Faults, *, subject: str
) -> pa.Array:
    """Return the column of values that are read as a whole, in the Arrow form of its type; null where one is faulty.

    Args:
        payloads: The values.
        column: The column.
        faults: The faults of the records, to which those of the values are added.
        subject: What a value is in its message, such as `the message`.
    """
    if column.type.root in _BINARIES:
        return _bytes(payloads, column, faults, subject)
    return text_column(_texts(payloads, faults), column, faults, subject=subject)


def _bytes(
    payloads: pa.BinaryArray, column: MappedColumn, faults: Faults, subject: str
) -> pa.Array:
    values = payloads.cast(to_arrow_type(column.type))
    bound = length_bound(column.type)
    if bound is None:
        return values
    lengths = pc.binary_length(payloads)
    rows = rows_where(pc.greater(lengths, bound).fill_null(False))
    for row in rows:
        message = (
            f"{subject}: found {lengths[row]} bytes, expected {expected_form(column.type)} "
            f"for {column.purpose}"
        )
        faults.add(row, Fault(DeadLetterReason.OUT_OF_RANGE, message))
    return replace_rows(values, rows, [None] * len(rows)) if rows else values


def _texts(payloads: pa.BinaryArray, faults: Faults) -> pa.StringArray:
    try:
        return payloads.cast(pa.string())
    except pa.ArrowInvalid:
        pass  # One of them is not UTF-8: the loop finds which.
    texts: list[str | None] = []
    for row, payload in enumerate(payloads.to_pylist()):
        try:
            texts.append(None if payload is None else payload.decode())
        except UnicodeDecodeError as error:
            texts.append(None)
            faults.add(row, not_utf8(error))
    return pa.array(texts, pa.string())
