"""Reader of Kafka keys: columns from a key that is one value, or a JSON object.

The column's type decides how a key that is one value is read. For texts, dates and times the key is the plain text, for BINARY
the bytes, and for all other types a JSON number or boolean. A key with a JSON Schema is one JSON value for every type.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from braid.formats.dead_letter import DeadLetterReason
from braid.formats.exact_rows import MISSING, value_at
from braid.formats.fault import Fault, Faults
from braid.formats.json.exact_values import ValueFault, exact_value, expected_form, json_kind
from braid.formats.json.message import read_message
from braid.formats.json.message_reader import JsonReader
from braid.formats.mapped_column import MappedColumn
from braid.formats.mapping.time_formats import time_texts
from braid.formats.mapping.times_reader import as_texts, expected_time
from braid.formats.message_reader import ReadMessages
from braid.formats.times import DATE_AND_TIME_TYPES
from braid.lake import DataType, TypeRoot, to_arrow_type

_SCALAR: Final = re.compile(rb"-?[0-9][0-9.eE+-]*|true|false")
_AS_TEXT: Final = frozenset({TypeRoot.CHAR, TypeRoot.VARCHAR}) | DATE_AND_TIME_TYPES
_BINARIES: Final = (TypeRoot.BINARY, TypeRoot.VARBINARY)
_SHOWN_CHARACTERS: Final = 80


class KeyReader:
    """Reads the Kafka keys of one stream."""

    def __init__(self, columns: Sequence[MappedColumn], *, is_json: bool = False) -> None:
        """Prepare to read.

        Args:
            columns: The columns that are read from the key: with a path in it, or one column without.
            is_json: Whether a key that is one value is JSON, texts included.
        """
        self._is_json = is_json
        self._columns = tuple(as_texts(columns))
        self._times = [
            (index, column, time_texts(column.time_format, column.type))
            for index, column in enumerate(columns)
            if column.time_format is not None
        ]
        has_paths = any(column.path for column in columns)
        self._objects = JsonReader(self._columns) if has_paths else None

    def read(self, keys: pa.BinaryArray) -> ReadMessages:
        """Return the columns of a batch of keys; a record without a key has null in each."""
        if self._objects is not None:
            found = self._read_objects(self._objects, keys)
        else:
            found = self._read_whole(keys)
        arrays = list(found.arrays)
        for index, column, times in self._times:
            arrays[index], unfit = times.column(arrays[index])
            for row, reason in unfit.items():
                found.faults.add(row, _of_time(keys[row].as_py(), column, reason))
        return replace(found, arrays=arrays)

    def _read_whole(self, keys: pa.BinaryArray) -> ReadMessages:
        faults, arrays = Faults(len(keys)), []
        for column in self._columns:
            values = [
                self._whole(row, key, column, faults) for row, key in enumerate(keys.to_pylist())
            ]
            arrays.append(pa.array(values, to_arrow_type(column.type)))
        return ReadMessages(arrays=arrays, faults=faults, with_undeclared=[])

    def _read_objects(self, reader: JsonReader, keys: pa.BinaryArray) -> ReadMessages:
        found = reader.read(keys)
        faults = Faults(len(keys))
        for row in found.faults.rows:
            fault = found.faults[row]
            if fault.reason is DeadLetterReason.OUT_OF_RANGE:
                faults.add(row, Fault(fault.reason, f"the record's Kafka key: {fault.message}"))
            else:
                key = keys[row].as_py()
                faults.add(row, _malformed(key, _guilty(key, self._columns)))
        return ReadMessages(arrays=found.arrays, faults=faults, with_undeclared=[])

    def _whole(self, row: int, key: bytes | None, column: MappedColumn, faults: Faults) -> Any:
        if key is None:
            return None
        try:
            return _value(key, column.type, is_json=self._is_json)
        except ValueFault as fault:
            if fault.reason is DeadLetterReason.OUT_OF_RANGE:
                message = f"the record's Kafka key: found {fault.found}, expected {fault.expected} for column {column.name}"
                faults.add(row, Fault(fault.reason, message))
                return None
        except (ValueError, RecursionError):
            pass
        faults.add(row, _malformed(key, column))
        return None


def _value(key: bytes, data_type: DataType, *, is_json: bool) -> Any:
    """Return the value of a key that is one value as a whole.

    Raises:
        ValueFault: It does not fit the type.
        ValueError: It is no value of the type.
    """
    if is_json:
        return exact_value(read_message(key), data_type)
    if data_type.root in _BINARIES:
        if data_type.length is not None and len(key) > data_type.length:
            found = f"{len(key)} bytes"
            raise ValueFault(DeadLetterReason.OUT_OF_RANGE, "", found, expected_form(data_type))
        return key
    if data_type.root in _AS_TEXT:
        return exact_value(key.decode(), data_type)
    if _SCALAR.fullmatch(key) is None:
        message = "neither a number nor a boolean"
        raise ValueError(message)
    return exact_value(read_message(key), data_type)


def _guilty(key: bytes, columns: Sequence[MappedColumn]) -> MappedColumn:
    """Return the first column that a malformed key does not hold."""
    try:
        tree = read_message(key)
    except (ValueError, RecursionError):
        return columns[0]
    return next((column for column in columns if not _is_held(tree, column)), columns[0])


def _is_held(tree: Any, column: MappedColumn) -> bool:
    try:
        value = value_at(tree, column, kind=json_kind)
        exact_value(None if value is MISSING else value, column.type)
    except (ValueFault, RecursionError):
        return False
    return True


def _of_time(key: bytes, column: MappedColumn, reason: DeadLetterReason) -> Fault:
    if reason is not DeadLetterReason.OUT_OF_RANGE:
        return _malformed(key, column)
    found = key.decode("utf-8", "backslashreplace")[:_SHOWN_CHARACTERS]
    message = (
        f"the record's Kafka key: found `{found}`, expected {expected_time(column)} "
        f"for column {column.name}"
    )
    return Fault(reason, message)


def _malformed(key: bytes, column: MappedColumn) -> Fault:
    found = key.decode("utf-8", "backslashreplace")[:_SHOWN_CHARACTERS]
    expected = expected_time(column) if column.time_format else expected_form(column.type)
    if column.path:
        expected = f"a JSON object with the field {'.'.join(column.path)}: {expected}"
    what = column.purpose if column.is_in_condition else f"key column {column.name}"
    message = (
        f"the record's Kafka key does not hold {what} as declared: "
        f"found `{found}`, expected {expected}"
    )
    return Fault(DeadLetterReason.MALFORMED_KEY, message)
