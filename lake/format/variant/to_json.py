"""VARIANT values to JSON, character for character as Paimon's `GenericVariant.toJson` writes them in UTC.

Fields are in the order of their names. Decimals lose the zeros at their end, and are never in scientific notation;
doubles are in the notation of `java_text`, and are texts where they are not finite. Dates, times, UUIDs are texts:
`"2026-01-31 05:15:00.5"`, with `+00:00` where the timestamp is an instant. Bytes are base64.
"""

import base64
import math
import re
import struct
import uuid
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, NoReturn

import numpy as np

from braid.lake.errors import CorruptData, UnsupportedFeature
from braid.lake.format.java_text import java_float_text
from braid.lake.format.variant import layout

_METADATA_KEPT: Final = 4_096
_METADATA_KEPT_BYTES_MAX: Final = 1_024
_DAY_MICROS: Final = 86_400_000_000
_SCALARS: Final = {
    layout.INT8: struct.Struct("<b"),
    layout.INT16: struct.Struct("<h"),
    layout.INT32: struct.Struct("<i"),
    layout.INT64: struct.Struct("<q"),
    layout.DATE: struct.Struct("<i"),
    layout.TIMESTAMP: struct.Struct("<q"),
    layout.TIMESTAMP_LTZ: struct.Struct("<q"),
    layout.DOUBLE: struct.Struct("<d"),
    layout.FLOAT: struct.Struct("<f"),
}
_DECIMAL_WIDTHS: Final = {
    layout.DECIMAL4: (4, 9),
    layout.DECIMAL8: (8, 18),
    layout.DECIMAL16: (16, 38),
}
_TO_ESCAPE: Final = re.compile(r'[\x00-\x1f"\\]')
_ESCAPES: Final = {
    **{number: f"\\u{number:04X}" for number in range(0x20)},
    **str.maketrans(
        {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    ),
}
_EXACT_INTEGER_MAX: Final = 1 << 53
_DOUBLE_DIGITS: Final = 15
"""A double holds every decimal number of so many digits."""


def json_of_variant(value: bytes, metadata: bytes, *, quotes_inexact: bool = False) -> str:
    """Return a value as JSON.

    Args:
        value: The value.
        metadata: Its dictionary.
        quotes_inexact: Whether numbers that a double does not hold exactly are texts, for readers
            whose numbers are doubles.

    Raises:
        CorruptData: The bytes are no value.
        UnsupportedFeature: The value is nested more than 500 levels deep, or has a kind of scalar that
            this version does not have.
    """
    return _Writer(value, metadata, quotes_inexact).written()


class _Writer:
    """Writes one value; every position is checked, and no byte is written twice."""

    __slots__ = ("_left", "_metadata", "_names", "_out", "_quotes_inexact", "_value")

    def __init__(self, value: bytes, metadata: bytes, quotes_inexact: bool) -> None:
        if max(len(value), len(metadata)) > layout.SIZE_MAX:
            _refuse(f"it has more than {layout.SIZE_MAX >> 20} MiB")
        self._value = value
        self._metadata = metadata
        self._names: tuple[str, ...] | None = None
        self._quotes_inexact = quotes_inexact
        self._out: list[str] = []
        # Bytes not yet used. Damaged offsets can refer to the same bytes again and again.
        self._left = len(value)

    def written(self) -> str:
        if not self._metadata or self._metadata[0] & 0x0F != layout.VERSION:
            _refuse("its metadata has no known version")
        try:
            self._write(0, layout.DEPTH_MAX)
        except RecursionError:
            raise _too_deep() from None
        except (IndexError, struct.error):
            _refuse("it ends early")
        except UnicodeDecodeError:
            _refuse("a text in it is not UTF-8")
        return "".join(self._out)

    def _write(self, at: int, depth: int) -> None:
        head = self._value[at]
        basic = head & 3
        kind = head >> 2
        if basic == layout.SHORT_TEXT:
            self._out.append(_quoted(self._bytes(at, 1, kind).decode()))
            return
        if basic == layout.PRIMITIVE:
            self._out.append(self._scalar(at, kind))
            return
        if not depth:
            raise _too_deep()
        is_object = basic == layout.OBJECT
        count_width = 4 if kind >> (4 if is_object else 2) & 1 else 1
        width = (kind & 3) + 1
        id_width = (kind >> 2 & 3) + 1 if is_object else 0
        ids = at + 1 + count_width
        count = int.from_bytes(self._bytes(at, 1, count_width, is_used=False), "little")
        offsets = ids + count * id_width
        first = offsets + (count + 1) * width
        if first > len(self._value):
            raise IndexError
        self._use(first - at)
        value, out = self._value, self._out
        names = self._all_names() if is_object and count else ()
        out.append("{" if is_object else "[")
        for place in range(count):
            if place:
                out.append(",")
            if is_object:
                start = ids + place * id_width
                name = int.from_bytes(value[start : start + id_width], "little")
                if name >= len(names):
                    _refuse(f"its metadata has no name {name}")
                out.append(names[name])
            start = offsets + place * width
            self._write(first + int.from_bytes(value[start : start + width], "little"), depth - 1)
        out.append("}" if is_object else "]")

    def _scalar(self, at: int, kind: int) -> str:
        if kind in _SCALARS:
            form = _SCALARS[kind]
            (number,) = form.unpack_from(self._value, at + 1)
            self._use(1 + form.size)
            return self._number(kind, number)
        if kind in _DECIMAL_WIDTHS:
            return self._decimal(at, kind)
        match kind:
            case layout.NULL:
                self._use(1)
                return "null"
            case layout.TRUE:
                self._use(1)
                return "true"
            case layout.FALSE:
                self._use(1)
                return "false"
            case layout.TEXT | layout.BINARY:
                length = int.from_bytes(self._bytes(at, 1, 4, is_used=False), "little")
                found = self._bytes(at, 5, length)
                if kind == layout.TEXT:
                    return _quoted(found.decode())
                return f'"{base64.b64encode(found).decode()}"'
            case layout.UUID:
                return f'"{uuid.UUID(bytes=self._bytes(at, 1, 16))}"'
            case _:
                message = f"a VARIANT value has a scalar of the kind {kind}, which this version cannot read"
                raise UnsupportedFeature(message)

    def _number(self, kind: int, number: Any) -> str:
        match kind:
            case layout.DOUBLE:
                return _double(number)
            case layout.FLOAT:
                return _float(number)
            case layout.DATE:
                return f'"{_date(number)}"'
            case layout.TIMESTAMP:
                return f'"{_timestamp(number)}"'
            case layout.TIMESTAMP_LTZ:
                return f'"{_timestamp(number)}+00:00"'
            case _:
                is_exact = -_EXACT_INTEGER_MAX <= number <= _EXACT_INTEGER_MAX
                return str(number) if is_exact or not self._quotes_inexact else f'"{number}"'

    def _decimal(self, at: int, kind: int) -> str:
        width, digits_max = _DECIMAL_WIDTHS[kind]
        found = self._bytes(at, 1, 1 + width)
        scale, unscaled = found[0], int.from_bytes(found[1:], "little", signed=True)
        digits = str(abs(unscaled))
        if scale > digits_max or len(digits) > digits_max:
            _refuse(f"a decimal in it has more than {digits_max} digits")
        text = digits
        if scale:
            padded = digits.rjust(scale + 1, "0")
            fraction = padded[-scale:].rstrip("0")
            text = padded[:-scale] + (f".{fraction}" if fraction else "")
        if unscaled < 0:
            text = f"-{text}"
        if self._quotes_inexact and len(digits) > _DOUBLE_DIGITS and not _is_double(text):
            return f'"{text}"'
        return text

    def _bytes(self, at: int, skipped: int, length: int, *, is_used: bool = True) -> bytes:
        start = at + skipped
        found = self._value[start : start + length]
        if len(found) < length:
            raise IndexError
        if is_used:
            self._use(skipped + length)
        return found

    def _use(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            _refuse("parts of it overlap")

    def _all_names(self) -> tuple[str, ...]:
        if self._names is None:
            is_small = len(self._metadata) <= _METADATA_KEPT_BYTES_MAX
            self._names = (_names if is_small else _read_names)(self._metadata)
        return self._names


def _read_names(metadata: bytes) -> tuple[str, ...]:
    """Return the names of a dictionary, each as `"name":`."""
    width = (metadata[0] >> 6) + 1
    count = int.from_bytes(metadata[1 : 1 + width], "little")
    first = 1 + (count + 2) * width
    if first > len(metadata):
        _refuse("its metadata ends early")
    starts = [
        int.from_bytes(metadata[at : at + width], "little") for at in range(1 + width, first, width)
    ]
    names = []
    for start, end in pairwise(starts):
        if start > end or first + end > len(metadata):
            _refuse("a name of its metadata is outside of it")
        names.append(f"{_quoted(metadata[first + start : first + end].decode())}:")
    return tuple(names)


_names: Final = lru_cache(_METADATA_KEPT)(_read_names)
"""Values of a column have few dictionaries."""


def _quoted(text: str) -> str:
    return f'"{text}"' if _TO_ESCAPE.search(text) is None else f'"{text.translate(_ESCAPES)}"'


def _double(number: float) -> str:
    if 1e-3 <= abs(number) < 1e7:
        return repr(number)
    text = java_float_text(number)
    return text if math.isfinite(number) else f'"{text}"'


def _float(number: float) -> str:
    text = java_float_text(np.float32(number))
    return text if math.isfinite(number) else f'"{text}"'


def _is_double(text: str) -> bool:
    """Return whether the double that is nearest to a number has its digits."""
    return Decimal(repr(float(text))) == Decimal(text)


def _timestamp(micros: int) -> str:
    days, rest = divmod(micros, _DAY_MICROS)
    seconds, fraction = divmod(rest, 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    digits = f".{fraction:06}".rstrip("0") if fraction else ""
    return f"{_date(days)} {clock}{digits}"


def _date(days: int) -> str:
    """Return a day of the proleptic Gregorian calendar, counted from 1970, of any year."""
    # Counted from 0000-03-01, so that a leap day ends its year, in eras of 400 years.
    era, day = divmod(days + 719_468, 146_097)
    year_of_era = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day_of_year = day - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month = (5 * day_of_year + 2) // 153
    year = era * 400 + year_of_era + (month >= 10)
    month_of_year = month + 3 if month < 10 else month - 9
    sign = "-" if year < 0 else ("+" if year > 9999 else "")
    return f"{sign}{abs(year):04}-{month_of_year:02}-{day_of_year - (153 * month + 2) // 5 + 1:02}"


def _too_deep() -> UnsupportedFeature:
    return UnsupportedFeature(
        f"a VARIANT value is nested more than {layout.DEPTH_MAX} levels deep, which this version cannot read"
    )


def _refuse(reason: str) -> NoReturn:
    message = f"a VARIANT value cannot be read: {reason}"
    raise CorruptData(message)
