"""Messages read in each way: with the fast decoder, with raw texts, and with every message read exactly."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from braid.formats.fault import Fault
from braid.formats.json.message_reader import JsonReader
from braid.formats.mapped_column import MappedColumn
from braid.formats.message_reader import ReadMessages
from braid.lake import DataType, parse_type


def given_columns(
    types: Mapping[str, str] | Mapping[str, DataType], **paths: str
) -> tuple[MappedColumn, ...]:
    """Return columns by name and type, with the path that has the column's name unless one is given."""
    return tuple(
        MappedColumn(
            name=name,
            path=tuple(paths.get(name, name).split(".")),
            type=parse_type(kind) if isinstance(kind, str) else kind,
        )
        for name, kind in types.items()
    )


def read_both_ways(
    columns: Sequence[MappedColumn], messages: Sequence[bytes | None], **options: Any
) -> ReadMessages:
    """Return what a reader with these options finds, with any of its decoders or without."""
    fast, raw, exact = (JsonReader(columns, **options) for _ in range(3))
    raw._decoder = raw._raw_text_decoder or raw._decoder
    fast._raw_text_decoder = raw._raw_text_decoder = exact._decoder = None
    payloads = pa.array(messages, pa.binary())
    found, expected = fast.read(payloads), exact.read(payloads)
    for one in (found, raw.read(payloads)):
        assert fault_by_row(one) == fault_by_row(expected)
        for column, array, other in zip(columns, one.arrays, expected.arrays, strict=True):
            assert array.type == other.type
            assert repr(plain(array)) == repr(plain(other)), column
        assert one.missing == expected.missing
        # Without the decoder every message may have undeclared fields.
        assert set(one.with_undeclared) <= set(expected.with_undeclared)
    return found


def read_one(
    types: Mapping[str, str] | Mapping[str, DataType], message: Any, **paths: str
) -> tuple[dict[str, Any], str | None, str]:
    """Return the values of a message by column, and the reason and the sentence of its fault.

    Args:
        types: Columns.
        message: A JSON value, or the message's bytes.
        paths: Of columns whose path is not their name.
    """
    columns = given_columns(types, **paths)
    payload = message if isinstance(message, bytes) else json.dumps(message).encode()
    found = read_both_ways(columns, [payload])
    values = {
        column.name: plain(array)[0] for column, array in zip(columns, found.arrays, strict=True)
    }
    if 0 not in found.faults:
        return values, None, ""
    assert set(values.values()) == {None}
    return values, found.faults[0].reason.value, found.faults[0].message


def fault_by_row(found: ReadMessages) -> dict[int, Fault]:
    """Return the faults of messages by row."""
    return {row: found.faults[row] for row in found.faults.rows}


def plain(array: pa.Array) -> list[Any]:
    """Return the values of a column; nanoseconds as numbers, as Python's own types do not hold them."""
    if pa.types.is_timestamp(array.type) and array.type.unit == "ns":
        array = array.cast(pa.int64())
    if pa.types.is_nested(array.type) and "timestamp[ns" in str(array.type):
        return [str(value) if value.is_valid else None for value in array]
    values: list[Any] = array.to_pylist()
    return values
