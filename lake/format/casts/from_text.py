"""Casts from text to other types, and between BINARY and VARBINARY.

A text that is not a value of the type is an error, as in the reference; a decimal number with too many
digits becomes null. The spellings are those of the reference: for example `t` and `yes` for true, or digits
alone for a DATE (days since 1970) and a TIME (milliseconds). Unlike there, a TIME is refused if it has an offset
(`12:34+01:00`) or a fraction that is not digits, and a TIMESTAMP of 7 digits or more if 64 bits of nanoseconds
cannot hold it.

Source: merge-semantics 8.2; conformance cases K.
"""

import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Final, NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.format.arrow_types import to_arrow_type
from braid.lake.format.binary_row import EPOCH
from braid.lake.format.casts.by_value import by_value
from braid.lake.format.casts.numbers import fit_decimal
from braid.lake.format.data_types import DataType, TypeRoot

_TRUE: Final = frozenset({"t", "true", "y", "yes", "1"})
_FALSE: Final = frozenset({"f", "false", "n", "no", "0"})
_WHOLE: Final = re.compile(r"([+-]?)([0-9]*)(?:\.[0-9]*)?", re.ASCII)
_FLOAT: Final = re.compile(
    r"[\x00-\x20]*([+-]?(?:NaN|Infinity|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))[fFdD]?[\x00-\x20]*",
    re.ASCII,
)
_TIMESTAMP: Final = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?: ([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:\.([0-9]{1,9}))?"
    r"|T([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]{1,9}))?)?)?",
    re.ASCII,
)
_MILLIS_OF: Final = (3_600_000, 60_000, 1_000)
_BITS: Final = {TypeRoot.TINYINT: 8, TypeRoot.SMALLINT: 16, TypeRoot.INT: 32, TypeRoot.BIGINT: 64}
_NANOS: Final = 1_000_000_000
_INT64_MAX: Final = (1 << 63) - 1
_PER_SECOND: Final = {"ms": 1_000, "us": 1_000_000, "ns": _NANOS}


def from_text(column: pa.Array, target: DataType) -> pa.Array:
    """Return texts as values of a type other than text.

    Raises:
        ValueError: A text is not a value of the type.
    """
    arrow_type = to_arrow_type(target)
    match target.root:
        case TypeRoot.BINARY | TypeRoot.VARBINARY:
            return fit_bytes(column.cast(pa.binary()), target)
        case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
            numbers = by_value(column, pa.int64(), _timestamp(target, arrow_type.unit))
            return numbers.cast(arrow_type)
        case TypeRoot.TIME:
            return by_value(column, pa.int32(), _time).cast(arrow_type)
        case TypeRoot.DATE:
            return by_value(column, pa.int32(), _date).cast(arrow_type)
        case _:
            return by_value(column, arrow_type, _parser(target))


def fit_bytes(column: pa.Array, target: DataType) -> pa.Array:
    """Return bytes truncated to the length of a type and, for BINARY, padded with zeros to that length."""
    length = target.length
    assert length is not None
    if target.root is TypeRoot.BINARY:
        return by_value(column, pa.binary(), lambda value: value[:length].ljust(length, b"\0"))
    longest = pc.max(pc.binary_length(column)).as_py() or 0
    return pc.binary_slice(column, 0, length) if longest > length else column


def _parser(target: DataType) -> Callable[[object], object]:
    match target.root:
        case TypeRoot.BOOLEAN:
            return _boolean
        case TypeRoot.DECIMAL:
            arrow_type = to_arrow_type(target)
            return lambda text: _decimal(text, arrow_type)
        case TypeRoot.FLOAT:
            return lambda text: _float32(str(text))
        case TypeRoot.DOUBLE:
            return lambda text: float(_float_text(str(text)))
        case _:
            bits = _BITS[target.root]
            return lambda text: _whole(str(text), bits)


def _boolean(text: object) -> bool:
    lower = str(text).lower()
    if lower in _TRUE:
        return True
    if lower in _FALSE:
        return False
    return _refuse(text, TypeRoot.BOOLEAN)


def _whole(text: str, bits: int) -> int:
    """Return the whole number in the text; a fraction is dropped, but must consist of digits."""
    match = _WHOLE.fullmatch(text)
    if match is None or not text or text in ("+", "-"):
        _refuse(text, "a whole number")
    number = int(match[2] or "0") * (-1 if match[1] == "-" else 1)
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        _refuse(text, f"a whole number of {bits} bits")
    return number


def _float_text(text: str) -> str:
    match = _FLOAT.fullmatch(text)
    if match is None:
        _refuse(text, "a number")
    return match[1]


def _float32(text: str) -> float:
    # Parsed as 32 bits directly: by way of a double some numbers would be rounded twice.
    return float(pa.scalar(_float_text(text).lower().replace("+", "")).cast(pa.float32()).as_py())


def _decimal(text: object, target: pa.Decimal128Type) -> Decimal | None:
    try:
        value = Decimal(str(text)) if str(text).isascii() and "_" not in str(text) else None
    except InvalidOperation:
        value = None
    if value is None or not value.is_finite() or str(text) != str(text).strip():
        _refuse(text, "a decimal number")
    return fit_decimal(value, target)


def _date(text: object) -> int:
    """Return the days since 1970 of `2024-1-2` or `2024-1`, or the number itself for digits alone.

    Text after a blank is ignored.
    """
    word = str(text)
    # Digits alone are the number of days, as in the reference: `2024` is a day in 1975.
    if word.isascii() and word.isdigit():
        return _whole(word, 32)
    if word.find(" ") > 0:
        word = word[: word.index(" ")]
    parts = [part.strip() for part in word.split("-", 2)]
    try:
        numbers = [_digits(part) for part in parts]
        return (date(*numbers, *(1,) * (3 - len(numbers))) - EPOCH.date()).days
    except ValueError:
        _refuse(text, TypeRoot.DATE)


def _time(text: object) -> int:
    """Return the milliseconds of the day of `12:34:56.789` or `12:34`, or the number itself for digits alone."""
    word = str(text)
    if word.isascii() and word.isdigit():
        return _whole(word, 32)
    try:
        clock, _, fraction = word.partition(".")
        parts = [_digits(part.strip()) for part in clock.split(":", 2)]
        millis = sum(part * scale for part, scale in zip(parts, _MILLIS_OF, strict=False))
        return millis + _rounded_millis(fraction.strip())
    except ValueError:
        _refuse(text, TypeRoot.TIME)


def _digits(text: str) -> int:
    # Python's `int` accepts signs and underscores too.
    if not (text.isascii() and text.isdigit()):
        message = f"`{text}` does not consist of digits alone"
        raise ValueError(message)
    return int(text)


def _rounded_millis(fraction: str) -> int:
    # Rounded by the fourth digit; further digits are ignored.
    digits = fraction.ljust(4, "0")
    return _digits(digits[:3]) + (digits[3] >= "5")


def _timestamp(target: DataType, unit: str) -> Callable[[object], int]:
    precision = target.precision or 0

    def parse(text: object) -> int:
        match = _TIMESTAMP.fullmatch(str(text))
        if match is None:
            _refuse(text, target.root)
        year, month, day, *rest = match.groups()
        # The pattern has four groups for each of the two spellings, with a blank and with a `T`.
        hour, minute, second, fraction = rest[:4] if rest[0] else rest[4:]
        try:
            moment = EPOCH.replace(
                year=int(year),
                month=int(month),
                day=int(day),
                hour=int(hour or 0),
                minute=int(minute or 0),
                second=int(second or 0),
            )
        except ValueError:
            _refuse(text, target.root)
        kept = (fraction or "")[:precision].ljust(9, "0")
        seconds = (moment - EPOCH) // (moment.resolution * 1_000_000)
        per_second = _PER_SECOND[unit]
        number = seconds * per_second + int(kept) // (_NANOS // per_second)
        if not -_INT64_MAX <= number <= _INT64_MAX:
            _refuse(text, f"{target.root}: 64 bits of {unit} cannot hold it")
        return number

    return parse


def _refuse(text: object, kind: str) -> NoReturn:
    message = f"cannot read `{str(text)[:100]}` as {kind}"
    raise ValueError(message)
