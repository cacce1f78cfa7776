"""Reader of the columns of one record of native values; returns the record's fault if the record is refused."""

from collections.abc import Mapping, Sequence
from typing import Any

from braid.formats.exact_rows import column_values
from braid.formats.fault import Fault
from braid.formats.json.exact_values import json_kind
from braid.formats.mapped_column import MappedColumn
from braid.formats.native.exact_values import native_value
from braid.formats.native.values import json_value


def record_values(record: Mapping[str, Any], columns: Sequence[MappedColumn]) -> list[Any] | Fault:
    """Return the values of all columns, or the first fault, as `column_values` does.

    Args:
        record: The fields of a message (`native.values`).
        columns: The columns, with their paths in the message.
    """
    return column_values(record, columns, kind=_kind, read=_native_value)


def _kind(value: Any) -> str:
    return json_kind(json_value(value))


def _native_value(value: Any, column: MappedColumn) -> Any:
    return native_value(value, column.type, address=column.address)
