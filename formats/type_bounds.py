"""Bounds of column types: of whole numbers, and of the length of texts and bytes."""

from collections.abc import Mapping
from typing import Final

from braid.lake import DataType, TypeRoot

_BITS: Final[Mapping[TypeRoot, int]] = {
    TypeRoot.TINYINT: 8,
    TypeRoot.SMALLINT: 16,
    TypeRoot.INT: 32,
    TypeRoot.BIGINT: 64,
}
INTEGER_BOUND: Final[Mapping[TypeRoot, int]] = {
    root: 1 << (bits - 1) for root, bits in _BITS.items()
}
"""By type: a value is at least `-bound` and less than `bound`."""

_LENGTH_MAX: Final = (1 << 31) - 1
"""The length of STRING and BYTES, which no value of an Arrow array with 32-bit offsets exceeds."""


def length_bound(data_type: DataType) -> int | None:
    """Return the longest length that values have to be checked for; None where any length fits, as of STRING and BYTES.

    Args:
        data_type: The type; characters of CHAR and VARCHAR, bytes of BINARY and VARBINARY. Other types have no length.
    """
    return None if data_type.length == _LENGTH_MAX else data_type.length
