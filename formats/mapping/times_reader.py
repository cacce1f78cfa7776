"""Reader of columns with a time format: takes their texts from a format's reader and converts them to dates and times.

So a time format works in the same way for every message format. A number in JSON or Avro is converted from its decimal text.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from braid.formats.fault import Fault, Faults
from braid.formats.json.exact_values import ValueFault, exact_value, shown
from braid.formats.mapped_column import MappedColumn
from braid.formats.mapping.nested_times import NESTED, NestedTimes, text_type
from braid.formats.mapping.time_formats import TimeTexts, is_number, time_texts
from braid.formats.message_reader import MessageReader, ReadMessages
from braid.lake import DataType, parse_type, to_arrow_type

_TEXT: Final = parse_type("STRING")


class TimesReader:
    """Reads messages, some of whose columns have a time format."""

    def __init__(self, columns: Sequence[MappedColumn], messages: MessageReader) -> None:
        """Prepare to read.

        Args:
            columns: The columns.
            messages: The reader of the same columns, `as_texts`.
        """
        self._messages = messages
        self._times = [
            (index, column, time_texts(column.time_format, column.type))
            for index, column in enumerate(columns)
            if column.time_format is not None and column.type.root not in NESTED
        ]
        self._nested = [
            (index, column, NestedTimes(column.time_format, column.type))
            for index, column in enumerate(columns)
            if column.time_format is not None and column.type.root in NESTED
        ]

    def read(self, payloads: pa.BinaryArray) -> ReadMessages:
        """Return the columns of a batch of messages (see `MessageReader.read`)."""
        found = self._messages.read(payloads)
        arrays = list(found.arrays)
        for index, column, times in self._times:
            subject = f"field {column.address}"
            arrays[index] = time_column(
                arrays[index], column, found.faults, subject=subject, times=times
            )
        for index, column, nested in self._nested:
            arrays[index], unfit = nested.column(arrays[index])
            for row, one in unfit.items():
                message = (
                    f"field {column.address}: found {_shown(one.text)}, expected "
                    f"{_expected(column, one.type)} for {column.purpose}"
                )
                found.faults.add(row, Fault(one.reason, message))
        return replace(found, arrays=arrays)

    def tree(self, payload: bytes) -> Any:
        """Return a message as dicts, lists and scalars (see `MessageReader.tree`)."""
        return self._messages.tree(payload)


def reader_with_times(
    columns: Sequence[MappedColumn], reader_of: Callable[[Sequence[MappedColumn]], MessageReader]
) -> MessageReader:
    """Return the reader of columns.

    Args:
        columns: The columns.
        reader_of: Returns the reader of columns without time formats.
    """
    if not any(column.time_format for column in columns):
        return reader_of(columns)
    return TimesReader(columns, reader_of(as_texts(columns)))


def as_texts(columns: Sequence[MappedColumn]) -> list[MappedColumn]:
    """Return the columns, those with a time format as texts, or with texts inside."""
    return [
        column
        if column.time_format is None
        else replace(
            column,
            type=text_type(column.type),
            time_format=None,
            takes_scalars=column.type.root not in NESTED,
        )
        for column in columns
    ]


def time_column(
    texts: pa.StringArray,
    column: MappedColumn,
    faults: Faults,
    *,
    subject: str,
    times: TimeTexts,
) -> pa.Array:
    """Return a column with a time format, in the Arrow form of its type; null where a text is unfit.

    Args:
        texts: The texts.
        column: The column.
        faults: The faults of the records, to which those of the texts are added.
        subject: What a text is in its message, such as `field sent`.
        times: Reads the texts of the column's time format; made once for all batches.
    """
    array, unfit = times.column(texts)
    for row, reason in unfit.items():
        message = (
            f"{subject}: found {_shown(texts[row].as_py())}, "
            f"expected {expected_time(column)} for {column.purpose}"
        )
        faults.add(row, Fault(reason, message))
    return array


def is_time(value: Any, column: MappedColumn) -> bool:
    """Return whether a JSON value, or null, can fill a column with a time format."""
    assert column.time_format is not None, "the column has a time format"
    if column.type.root in NESTED:
        texts = text_type(column.type)
        try:
            array = pa.array([exact_value(value, texts)], to_arrow_type(texts))
        except ValueFault:
            return True  # another part of the value does not fit
        return not NestedTimes(column.time_format, column.type).column(array)[1]
    try:
        texts = pa.array([exact_value(value, _TEXT)], pa.string())
    except ValueFault:
        return False
    return not time_texts(column.time_format, column.type).column(texts)[1]


def expected_time(column: MappedColumn) -> str:
    """Return the type of a column with a time format, and the format."""
    assert column.time_format is not None, "the column has a time format"
    return _expected(column, column.type)


def _expected(column: MappedColumn, data_type: DataType) -> str:
    assert column.time_format is not None, "the column has a time format"
    return f"{data_type.with_nullable(True)}, {column.time_format.words}"


def _shown(text: str) -> str:
    """Return a text for an error message; whether a number was written in quotes is not known any more."""
    return text if is_number(text) else shown(text)
