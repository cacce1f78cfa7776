"""Primary keys as callers have them: values as text or JSON, and many keys from mappings or data frames."""

import base64
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Protocol, TypeAlias, runtime_checkable

import pyarrow as pa

KeyValue: TypeAlias = str | bool | int | float | Decimal | bytes | date | datetime | time
Key: TypeAlias = Mapping[str, KeyValue]


@runtime_checkable
class ArrowStream(Protocol):
    """A table of another library: Arrow's own, polars, pandas, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the table as Arrow's C stream."""


Keys: TypeAlias = Iterable[Key] | ArrowStream


def keys_of(keys: Keys) -> list[dict[str, str | bool | int | float]]:
    """Return keys as JSON values.

    Args:
        keys: Mappings, or a table with the columns of the primary key.
    """
    rows: Iterable[Mapping[str, Any]]
    rows = pa.table(keys).to_pylist() if isinstance(keys, ArrowStream) else keys
    return [{name: json_value(value) for name, value in key.items()} for key in rows]


def json_value(value: object) -> str | bool | int | float:
    """Return a value of a key as JSON.

    >>> json_value(datetime(2026, 1, 31, 5, 15)), json_value(b"a"), json_value(Decimal("1.50"))
    ('2026-01-31T05:15:00', 'YQ==', '1.50')

    Raises:
        TypeError: No column of a key has values of that type.
    """
    match value:
        case str() | bool() | int() | float():
            return value
        case Decimal():
            return format(value, "f")
        case bytes():
            return base64.b64encode(value).decode()
        case date() | time():
            return value.isoformat()
        case _:
            message = f"expected a value of a primary key, found {type(value).__name__}: {value!r}"
            raise TypeError(message)
