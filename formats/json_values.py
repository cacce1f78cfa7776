"""Conversion of the values of a table's row to JSON.

| type                             | JSON                                                      |
|----------------------------------|-----------------------------------------------------------|
| BOOLEAN, integers, FLOAT, DOUBLE | boolean, number; text `NaN`, `Infinity`, `-Infinity`      |
| DECIMAL                          | text with all its digits: `"12.50"`                       |
| CHAR, VARCHAR, STRING            | text                                                      |
| BINARY, VARBINARY, BYTES         | base64                                                    |
| DATE, TIME                       | `"2013-01-31"`, `"05:15:00.000"`                          |
| TIMESTAMP(p)                     | `"2013-01-31T05:15:00.000"`, with p digits                |
| ... WITH LOCAL TIME ZONE         | the same in UTC with `Z`                                  |
| ARRAY                            | list                                                      |
| MAP, MULTISET                    | list of `{"key": ..., "value": ...}`, in stored order     |
| ROW                              | object                                                    |
"""

import base64
import math
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from braid.lake import DataField, DataType, TypeRoot

_SECONDS_LENGTH = len("0001-01-31T05:15:00")  # strftime leaves out leading zeros of early years


def json_row(row: Mapping[str, object], fields: Iterable[DataField]) -> dict[str, Any]:
    """Return the row's values as JSON values, in the order of the fields.

    Args:
        row: Values as `pa.Array.to_pylist` returns them.
        fields: The columns to return; a column that the row does not have is null.
    """
    return {field.name: json_value(row.get(field.name), field.type) for field in fields}


def json_value(value: Any, data_type: DataType) -> Any:
    """Return one value as a JSON value; None stays None."""
    if value is None:
        return None
    match data_type.root:
        case TypeRoot.DECIMAL:
            assert isinstance(value, Decimal)
            return format(value, "f")
        case TypeRoot.FLOAT | TypeRoot.DOUBLE:
            return _json_float(value)
        case TypeRoot.BINARY | TypeRoot.VARBINARY:
            return base64.b64encode(value).decode()
        case TypeRoot.DATE:
            assert isinstance(value, date)
            return value.isoformat()
        case TypeRoot.TIME:
            assert isinstance(value, time)
            return value.isoformat(timespec="milliseconds")
        case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
            return _json_timestamp(value, data_type)
        case TypeRoot.ARRAY:
            assert data_type.element is not None
            return [json_value(item, data_type.element) for item in value]
        case TypeRoot.MAP | TypeRoot.MULTISET:
            return _json_entries(value, data_type)
        case TypeRoot.ROW:
            return json_row(value, data_type.fields)
        case _:
            return value


def _json_float(value: float) -> float | str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def _json_timestamp(value: Any, data_type: DataType) -> str:
    is_local = data_type.root is TypeRoot.TIMESTAMP_LTZ
    if isinstance(value, int):  # nanoseconds since the epoch, which a datetime cannot hold
        seconds, nanoseconds = divmod(value, 1_000_000_000)
        moment = datetime.fromtimestamp(seconds, tz=UTC)
    else:
        assert isinstance(value, datetime)
        moment = value.astimezone(UTC) if is_local else value
        # If pandas is installed, Arrow returns its subclass of datetime, which has nanoseconds.
        nanoseconds = moment.microsecond * 1_000 + int(getattr(value, "nanosecond", 0))
    text = moment.strftime("%Y-%m-%dT%H:%M:%S").rjust(_SECONDS_LENGTH, "0")
    precision = data_type.precision or 0
    if precision:
        text += "." + f"{nanoseconds:09d}"[:precision]
    return text + ("Z" if is_local else "")


def _json_entries(value: Any, data_type: DataType) -> list[dict[str, Any]]:
    key_type = data_type.key or data_type.element
    assert key_type is not None
    entries = value.items() if isinstance(value, Mapping) else value
    return [
        {
            "key": json_value(key, key_type),
            "value": item if data_type.value is None else json_value(item, data_type.value),
        }
        for key, item in entries
    ]
