"""Reader of Protobuf messages without a schema id, all of one type: Protobuf's own library parses them, then each column is read."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError

from braid.formats.exact_rows import with_exact_rows
from braid.formats.fault import Fault, Faults, malformed, not_utf8
from braid.formats.field_tree import field_tree
from braid.formats.joined_messages import read_present
from braid.formats.json.exact_values import ValueFault
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import ReadMessages
from braid.formats.native.exact_values import native_value
from braid.formats.native.kinds import NativeKind
from braid.formats.native.leaf_arrays import Leaf, leaf_column
from braid.formats.native.native_types import undeclared_fields
from braid.formats.native.record_values import record_values
from braid.formats.native.values import json_value
from braid.formats.protobuf.native_messages import enum_name, native_record, native_value_of
from braid.formats.protobuf.schema import FieldType, MessageType
from braid.lake import DataType, TypeRoot, to_arrow_type

_ARROW_TYPES: Final = {
    FieldDescriptor.CPPTYPE_BOOL: pa.bool_(),
    FieldDescriptor.CPPTYPE_INT32: pa.int64(),
    FieldDescriptor.CPPTYPE_INT64: pa.int64(),
    FieldDescriptor.CPPTYPE_UINT32: pa.int64(),
    FieldDescriptor.CPPTYPE_UINT64: pa.uint64(),
    FieldDescriptor.CPPTYPE_FLOAT: pa.float32(),
    FieldDescriptor.CPPTYPE_DOUBLE: pa.float64(),
}
_LEAVES: Final = frozenset(
    {
        NativeKind.BOOLEAN,
        NativeKind.WHOLE,
        NativeKind.FLOAT,
        NativeKind.TEXT,
        NativeKind.BYTES,
    }
)
_TIMESTAMPS: Final = (TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ)
_MICROS: Final = Leaf(NativeKind.MOMENT, 10**3)
_SECONDS_MAX: Final = 10**12  # microseconds of more seconds would overflow; no TIMESTAMP holds them


class ProtobufReader:
    """Reads bare Protobuf messages of one type."""

    def __init__(
        self,
        message: MessageType,
        columns: Sequence[MappedColumn],
        *,
        paths_of_other_streams: Sequence[tuple[str, ...]] = (),
        finds_undeclared: bool = False,
    ) -> None:
        """Prepare to read.

        Args:
            message: The type of the messages.
            columns: The columns, with their paths in the message; a field that the type does not have is
                missing in every message.
            paths_of_other_streams: Paths that other streams of the table read from the same topic.
            finds_undeclared: Whether messages with fields from which no column is read are reported: all of
                them, if the type has such fields. Fields that the type does not have are ignored.
        """
        self._message = message
        self._class = message.message_class
        self._columns = tuple(columns)
        self._tree = field_tree(columns, paths_of_other_streams)
        self._has_undeclared = finds_undeclared and any(undeclared_fields(message, self._tree))

    def read(self, payloads: pa.BinaryArray) -> ReadMessages:
        """Return the columns of a batch of messages (see `MessageReader.read`)."""
        return read_present(payloads, self._columns, self._read_present)

    def tree(self, payload: bytes) -> Any:
        """Return a message as dicts, lists and scalars (see `MessageReader.tree`)."""
        try:
            return json_value(native_record(self._class.FromString(payload), self._message))
        except DecodeError as error:
            raise ValueError(str(error)) from error

    def _read_present(self, payloads: pa.BinaryArray) -> ReadMessages:
        parse, nothing = self._class.FromString, self._class()
        faults = Faults(len(payloads))
        messages = []
        for row, payload in enumerate(payloads.to_pylist()):
            try:
                messages.append(parse(payload))
            except DecodeError:
                messages.append(nothing)
                faults.add(row, _NO_MESSAGE)
        arrays, missing = [], {}
        odd = {*faults.rows}
        for column in self._columns:
            array, is_missing, unfit = self._column(messages, column)
            arrays.append(array)
            odd.update(unfit)
            if column.finds_missing:
                missing[column.name] = is_missing
        if odd:
            rows = sorted(odd)
            arrays = with_exact_rows(
                arrays,
                rows,
                (faults[row] if row in faults else self._values(messages[row]) for row in rows),
                columns=self._columns,
                missing=missing,
                faults=faults,
            )
        return ReadMessages(
            arrays=arrays,
            faults=faults,
            with_undeclared=list(range(len(payloads))) if self._has_undeclared else [],
            missing={name: pa.array(mask) for name, mask in missing.items()},
        )

    def _values(self, message: Any) -> list[Any] | Fault:
        try:
            return record_values(native_record(message, self._message, self._tree), self._columns)
        except UnicodeDecodeError as error:
            return not_utf8(error)

    def _column(
        self, messages: Sequence[Any], column: MappedColumn
    ) -> tuple[pa.Array, npt.NDArray[np.bool_], Sequence[int]]:
        """Return a column, where its field is missing, and the rows that have to be read exactly."""
        count, found = len(messages), self._message
        holders: list[Any] = list(messages)
        is_missing = np.zeros(count, bool)
        everything = range(count)
        for name in column.path[:-1]:
            part = found.fields.get(name)
            if part is None:
                return pa.nulls(count, to_arrow_type(column.type)), np.ones(count, bool), ()
            if part.native_kind is not NativeKind.RECORD or part.message is None:
                return pa.nulls(count, to_arrow_type(column.type)), is_missing, everything
            is_missing |= _are_absent(holders, found, name)
            # Of a message that is missing the fields have their defaults, and are left out below.
            holders = list(map(attrgetter(name), holders))
            found = part.message
        declared = found.fields.get(column.path[-1])
        if declared is None:
            return pa.nulls(count, to_arrow_type(column.type)), np.ones(count, bool), ()
        if declared.descriptor.has_presence:
            is_missing |= _are_absent(holders, found, column.path[-1])
        array, unfit = _field_column(holders, is_missing, declared, column.type)
        return array, is_missing, unfit


_NO_MESSAGE: Final = malformed("not a message of the schema")


def _are_absent(messages: Sequence[Any], declared: MessageType, name: str) -> list[bool]:
    """Return where messages do not have a field that tells absence from a default."""
    # Of the class: an attribute of a message may be its field of that name.
    has_field = declared.message_class.HasField
    return [not has_field(message, name) for message in messages]


def _field_column(
    holders: Sequence[Any],
    is_missing: npt.NDArray[np.bool_],
    declared: FieldType,
    data_type: DataType,
) -> tuple[pa.Array, Sequence[int]]:
    """Return the column of a field, null where the field is missing, and the rows that do not fit."""
    values = list(map(attrgetter(declared.descriptor.name), holders))
    kind, leaf = declared.native_kind, declared
    if declared.wrapped is not None:
        leaf = declared.wrapped
        values = [value.value for value in values]
    if kind in _LEAVES:
        values, is_odd = _leaf_values(values, leaf)
        array = _leaf_array(values, is_missing | is_odd, leaf)
        return _with_odd(leaf_column(array, Leaf(kind), data_type), is_odd & ~is_missing)
    is_moment = kind is NativeKind.MOMENT and data_type.root in _TIMESTAMPS
    if is_moment and to_arrow_type(data_type).unit != "ns":
        seconds = np.fromiter((value.seconds for value in values), np.int64, len(values))
        nanos = np.fromiter((value.nanos for value in values), np.int64, len(values))
        is_far = (seconds <= -_SECONDS_MAX) | (seconds >= _SECONDS_MAX)
        micros = np.where(is_far, 0, seconds) * 10**6 + nanos // 10**3
        array = pa.array(micros, mask=is_missing | is_far)
        return _with_odd(leaf_column(array, _MICROS, data_type), is_far & ~is_missing)
    return _converted(values, is_missing, declared, data_type)


def _with_odd(
    found: tuple[pa.Array, Sequence[int]], is_odd: npt.NDArray[np.bool_]
) -> tuple[pa.Array, Sequence[int]]:
    """Return a column with further rows that have to be read exactly."""
    array, unfit = found
    return array, [*unfit, *np.flatnonzero(is_odd).tolist()] if is_odd.any() else unfit


def _leaf_values(values: list[Any], declared: FieldType) -> tuple[list[Any], npt.NDArray[np.bool_]]:
    """Return values as the items of the leaf's array, and where one is a text that is not UTF-8."""
    enum = declared.descriptor.enum_type
    if enum is not None:
        names = {number: enum_name(number, enum) for number in set(values)}
        return [names[number] for number in values], np.zeros(len(values), bool)
    is_text = declared.descriptor.type == FieldDescriptor.TYPE_STRING
    if not is_text or bytes not in set(map(type, values)):
        return values, np.zeros(len(values), bool)
    # The library gives the bytes of a text that is not UTF-8.
    is_odd = np.array([isinstance(value, bytes) for value in values])
    return [None if isinstance(value, bytes) else value for value in values], is_odd


def _leaf_array(values: list[Any], is_null: npt.NDArray[np.bool_], declared: FieldType) -> pa.Array:
    descriptor = declared.descriptor
    is_bytes = descriptor.type == FieldDescriptor.TYPE_BYTES
    wanted = pa.binary() if is_bytes else _ARROW_TYPES.get(descriptor.cpp_type, pa.string())
    array = pa.array(values, wanted)
    if not is_null.any():
        return array
    return pc.if_else(pa.array(is_null), pa.scalar(None, wanted), array)


def _converted(
    values: Sequence[Any],
    is_missing: npt.NDArray[np.bool_],
    declared: FieldType,
    data_type: DataType,
) -> tuple[pa.Array, Sequence[int]]:
    """Return a column of values that are converted one by one."""
    found: list[Any] = []
    unfit = []
    for row, (value, is_absent) in enumerate(zip(values, is_missing.tolist(), strict=True)):
        try:
            native = None if is_absent else native_value_of(value, declared)
            found.append(native_value(native, data_type))
        except (ValueFault, UnicodeDecodeError):
            found.append(None)
            unfit.append(row)
    return pa.array(found, to_arrow_type(data_type)), unfit
