"""Single values in Iceberg's forms: *plain* values of partitions, and bytes of bounds.

A plain value is what Avro stores: a number of days for a DATE, of microseconds for a TIMESTAMP, the unscaled
number of a DECIMAL, and otherwise the Python value itself. Plain values of one type have the order of the type.

Source: Iceberg's table specification, appendix D, "Single-value serialization".
"""

import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final, TypeAlias

from braid.lake.format.data_types import BYTES_ROOTS, TEXT_ROOTS, DataType, TypeRoot

PlainValue: TypeAlias = bool | int | float | str | bytes
"""A value as this module describes; null is None beside it."""

_FORMS: Final = {
    TypeRoot.BOOLEAN: "<?",
    TypeRoot.TINYINT: "<i",
    TypeRoot.SMALLINT: "<i",
    TypeRoot.INT: "<i",
    TypeRoot.DATE: "<i",
    TypeRoot.BIGINT: "<q",
    TypeRoot.TIMESTAMP: "<q",
    TypeRoot.TIMESTAMP_LTZ: "<q",
    TypeRoot.FLOAT: "<f",
    TypeRoot.DOUBLE: "<d",
}
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROS: Final = 1_000_000


def plain_value(value: object) -> PlainValue:
    """Return the plain form of a value of a binary row, or of a record that was read from Avro."""
    match value:
        case datetime():
            since = (value if value.tzinfo is not None else value.replace(tzinfo=UTC)) - _EPOCH
            return (since.days * 86_400 + since.seconds) * _MICROS + since.microseconds
        case date():
            return value.toordinal() - _EPOCH_DAY
        case Decimal():
            sign, digits, exponent = value.as_tuple()
            assert isinstance(exponent, int), "a stored decimal is finite"
            unscaled = int("".join(map(str, digits)))
            return -unscaled if sign else unscaled
        case _:
            assert isinstance(value, bool | int | float | str | bytes), type(value)
            return value


def bound_bytes(value: PlainValue, data_type: DataType) -> bytes:
    """Return the bytes of a bound.

    Args:
        value: A plain value.
        data_type: Its type, not nested.
    """
    if data_type.root in TEXT_ROOTS:
        assert isinstance(value, str)
        return value.encode()
    if data_type.root in BYTES_ROOTS:
        assert isinstance(value, bytes)
        return value
    if data_type.root is TypeRoot.DECIMAL:
        assert isinstance(value, int)
        return unscaled_bytes(value)
    return struct.pack(_FORMS[data_type.root], value)


def unscaled_bytes(unscaled: int, length: int | None = None) -> bytes:
    r"""Return a number in two's complement, big endian.

    Args:
        unscaled: The number.
        length: Number of bytes; None: as few as hold the number.

    Example:
        >>> unscaled_bytes(1420), unscaled_bytes(-1), unscaled_bytes(128), unscaled_bytes(1, 3)
        (b'\x05\x8c', b'\xff', b'\x00\x80', b'\x00\x00\x01')
    """
    magnitude = unscaled if unscaled >= 0 else ~unscaled
    return unscaled.to_bytes(length or magnitude.bit_length() // 8 + 1, "big", signed=True)


def decimal_length(precision: int) -> int:
    """Return the number of bytes of a fixed-length decimal.

    Example:
        >>> [decimal_length(precision) for precision in (1, 9, 18, 38)]
        [1, 4, 8, 16]
    """
    bits = int(10**precision - 1).bit_length()
    return bits // 8 + 1
