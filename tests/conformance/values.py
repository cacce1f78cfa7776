"""JSON values of the conformance format ⇄ Arrow arrays, for every column type of the engine.

The codec is driven by the Arrow type alone, which says everything that the JSON form depends on: the scale
of a decimal, the unit and zone of a timestamp, the children of a nested type. It never goes through
`to_pylist` for temporal values, because Python's `datetime` holds neither nanoseconds nor every year.
"""

import base64
import datetime as dt
import functools
import itertools
import json
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

Json = Any
"""A value as `json.loads` gives it."""

_TIMESTAMP = re.compile(r"(-?\d{4,})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?Z?")
_UNITS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()


def to_arrow(values: Sequence[Json], arrow_type: pa.DataType) -> pa.Array:
    """Return JSON values as an Arrow array of the same length and order; JSON null becomes null.

    Raises:
        ValueError: A value is not of the form that its type has in the conformance format.
    """
    encode = _encoder(arrow_type)
    return pa.array([None if value is None else encode(value) for value in values], arrow_type)


def to_json(array: pa.Array | pa.ChunkedArray) -> list[Json]:
    """Return the values of an array in the conformance format; the inverse of `to_arrow`.

    Maps come sorted by key, as in expectations. A FLOAT is the shortest decimal of that width.
    """
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in to_json(chunk)]
    return _decode(array)


def canonical(values: Sequence[Json], arrow_type: pa.DataType) -> list[Json]:
    """Return values in the one form that equal values share (`1` in a DOUBLE column is `1.0`).

    Decimals may exceed the precision of the type: Paimon sums short decimals without a check.
    """
    return to_json(to_arrow(values, _with_wide_decimals(arrow_type)))


def _with_wide_decimals(arrow_type: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_decimal(arrow_type):
        return pa.decimal128(38, arrow_type.scale)
    if types.is_map(arrow_type):
        return pa.map_(
            _with_wide_decimals(arrow_type.key_type), _with_wide_decimals(arrow_type.item_type)
        )
    if types.is_list(arrow_type):
        return pa.list_(_with_wide_decimals(arrow_type.value_type))
    if types.is_struct(arrow_type):
        fields = [arrow_type.field(index) for index in range(arrow_type.num_fields)]
        return pa.struct([(field.name, _with_wide_decimals(field.type)) for field in fields])
    return arrow_type


def _encoder(arrow_type: pa.DataType) -> Callable[[Json], object]:
    types = pa.types
    if types.is_floating(arrow_type):
        return float
    if types.is_decimal(arrow_type):
        return functools.partial(_decimal, scale=arrow_type.scale)
    if types.is_binary(arrow_type):
        return functools.partial(base64.b64decode, validate=True)
    if types.is_date32(arrow_type):
        return lambda text: dt.date.fromisoformat(text).toordinal() - _EPOCH_DAY
    if types.is_time32(arrow_type):
        return lambda text: _epoch_units(f"1970-01-01T{text}", arrow_type.unit)
    if types.is_timestamp(arrow_type):
        return functools.partial(_timestamp, arrow_type=arrow_type)
    if types.is_map(arrow_type):
        return _map_encoder(arrow_type)
    if types.is_list(arrow_type):
        return functools.partial(_encode_all, encode=_encoder(arrow_type.value_type))
    if types.is_struct(arrow_type):
        return _struct_encoder(arrow_type)
    return functools.partial(_plain, kind=_plain_kind(arrow_type))


def _plain_kind(arrow_type: pa.DataType) -> type:
    if pa.types.is_boolean(arrow_type):
        return bool
    if pa.types.is_integer(arrow_type):
        return int
    if pa.types.is_string(arrow_type):
        return str
    message = f"no JSON form for the Arrow type {arrow_type}"
    raise ValueError(message)


def _plain(value: Json, *, kind: type) -> object:
    if type(value) is not kind:
        message = f"expected {kind.__name__}, found {value!r}"
        raise ValueError(message)
    return value


def _decimal(text: str, *, scale: int) -> Decimal:
    value = Decimal(text)
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or -exponent > scale:
        message = f"{text!r} has more digits than scale {scale}"
        raise ValueError(message)
    return value


def _timestamp(text: str, *, arrow_type: pa.TimestampType) -> int:
    if text.endswith("Z") is not (arrow_type.tz is not None):
        message = f"{text!r} is not a value of {arrow_type}"
        raise ValueError(message)
    return _epoch_units(text, arrow_type.unit)


def _epoch_units(text: str, unit: str) -> int:
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        message = f"not a time: {text!r}"
        raise ValueError(message)
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    days = dt.date(year, month, day).toordinal() - _EPOCH_DAY
    seconds = ((days * 24 + hour) * 60 + minute) * 60 + second
    nanoseconds = int((match.group(7) or "").ljust(9, "0"))
    per_second = _UNITS_PER_SECOND[unit]
    units, rest = divmod(nanoseconds * per_second, 10**9)
    if rest:
        message = f"{text!r} does not fit the unit {unit}"
        raise ValueError(message)
    return seconds * per_second + units


def _encode_all(values: list[Json], *, encode: Callable[[Json], object]) -> list[object]:
    return [None if value is None else encode(value) for value in values]


def _map_encoder(arrow_type: pa.MapType) -> Callable[[Json], object]:
    key, item = _encoder(arrow_type.key_type), _encoder(arrow_type.item_type)
    return lambda pairs: [(key(k), None if v is None else item(v)) for k, v in pairs]


def _struct_encoder(arrow_type: pa.StructType) -> Callable[[Json], object]:
    fields = [arrow_type.field(index) for index in range(arrow_type.num_fields)]
    encoders = [(field.name, _encoder(field.type)) for field in fields]

    def encode(values: list[Json]) -> dict[str, object]:
        if len(values) != len(encoders):
            message = f"expected {len(encoders)} fields, found {values!r}"
            raise ValueError(message)
        pairs = zip(encoders, values, strict=True)
        return {name: None if value is None else one(value) for (name, one), value in pairs}

    return encode


def _decode(array: pa.Array) -> list[Json]:
    types, arrow_type = pa.types, array.type
    if types.is_map(arrow_type):
        pairs = [list(pair) for pair in zip(_decode(array.keys), _decode(array.items), strict=True)]
        return [None if cell is None else _sort_pairs(cell) for cell in _slices(array, pairs)]
    if types.is_list(arrow_type):
        return _slices(array, _decode(array.values))
    if types.is_struct(arrow_type):
        columns = [_decode(child) for child in array.flatten()]
        rows = [[column[index] for column in columns] for index in range(len(array))]
        return [row if valid else None for row, valid in zip(rows, _validity(array), strict=True)]
    show: Callable[[Any], Json]
    if types.is_date32(arrow_type):
        array, show = array.cast(pa.int32()), _date_text
    elif types.is_time32(arrow_type):
        array, show = array.cast(pa.int32()), _time_text
    elif types.is_timestamp(arrow_type):
        array, show = array.cast(pa.int64()), functools.partial(_timestamp_text, arrow_type)
    else:
        show = _scalar_text(arrow_type)
    return [None if value is None else show(value) for value in array.to_pylist()]


def _scalar_text(arrow_type: pa.DataType) -> Callable[[Any], Json]:
    if pa.types.is_float32(arrow_type):
        return lambda value: _float_json(float(str(np.float32(value))))
    if pa.types.is_float64(arrow_type):
        return _float_json
    if pa.types.is_decimal(arrow_type):
        return lambda value: format(value, "f")
    if pa.types.is_binary(arrow_type):
        return lambda value: base64.b64encode(value).decode("ascii")
    return lambda value: value


def _slices(array: pa.Array, children: list[Json]) -> list[list[Json] | None]:
    offsets = array.offsets.to_pylist()
    cells = [children[start:end] for start, end in itertools.pairwise(offsets)]
    return [cell if ok else None for cell, ok in zip(cells, _validity(array), strict=True)]


def _validity(array: pa.Array) -> list[bool]:
    valid: list[bool] = array.is_valid().to_pylist()
    return valid


def _sort_pairs(pairs: list[list[Json]]) -> list[list[Json]]:
    return sorted(pairs, key=lambda pair: _order(pair[0]))


def _order(value: Json) -> tuple[int, Any]:
    if value is None:
        return (0, 0)
    if isinstance(value, list):
        return (3, [_order(element) for element in value])
    if isinstance(value, str):
        return (2, value)
    return (1, value)


def _float_json(value: float) -> Json:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def _date_text(days: int) -> str:
    return dt.date.fromordinal(days + _EPOCH_DAY).isoformat()


def _time_text(milliseconds: int) -> str:
    seconds, milliseconds = divmod(milliseconds, 1000)
    return f"{_clock_text(seconds)}.{milliseconds:03}"


def _clock_text(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _timestamp_text(arrow_type: pa.TimestampType, units: int) -> str:
    seconds, units = divmod(units, _UNITS_PER_SECOND[arrow_type.unit])
    nanoseconds = units * (10**9 // _UNITS_PER_SECOND[arrow_type.unit])
    days, seconds = divmod(seconds, 86_400)
    fraction = f"{nanoseconds:09}" if nanoseconds % 1000 else f"{nanoseconds // 1000:06}"
    zone = "" if arrow_type.tz is None else "Z"
    return f"{_date_text(days)}T{_clock_text(seconds)}.{fraction}{zone}"


def sort_key(row: Sequence[Json]) -> str:
    """Return a text that is equal exactly for equal rows (NaN is NaN, -0.0 is not 0.0)."""
    return json.dumps(row, ensure_ascii=False)
