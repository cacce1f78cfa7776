"""Columns of one record of native values, or the fault why it is refused."""

from collections.abc import Mapping, Sequence
from typing import Any

from braid.formats.dead_letter import DeadLetterReason
from braid.formats.fault import Fault
from braid.formats.json.exact_values import ValueFault, json_kind
from braid.formats.json.message_reader import MISSING
from braid.formats.mapped_column import MappedColumn
from braid.formats.native.exact_values import native_value
from braid.formats.native.values import json_value


def record_values(record: Mapping[str, Any], columns: Sequence[MappedColumn]) -> list[Any] | Fault:
    """Return the values of all columns, in the form that `pa.array` accepts, or the first fault.

    Args:
        record: The fields of a message (`native.values`).
        columns: The columns, with their paths in the message.

    Returns:
        The values; `MISSING` where the record has no such field. A field of a record that is null, or missing
        itself, is missing.
    """
    values = []
    for column in columns:
        try:
            value = _value_at(record, column)
            if value is not MISSING:
                value = native_value(value, column.type, address=column.address)
            values.append(value)
        except ValueFault as fault:
            text = f"field {fault.address}: found {fault.found}, expected {fault.expected}"
            is_own = fault.address.startswith(column.address)
            return Fault(fault.reason, f"{text} for {column.purpose}" if is_own else text)
    return values


def _value_at(record: Mapping[str, Any], column: MappedColumn) -> Any:
    value: Any = record
    for depth, name in enumerate(column.path):
        if value is None or value is MISSING:
            return MISSING
        if not isinstance(value, dict):
            address, found = ".".join(column.path[:depth]), json_kind(json_value(value))
            raise ValueFault(DeadLetterReason.WRONG_TYPE, address, found, "an object")
        value = value.get(name, MISSING)
    return value
