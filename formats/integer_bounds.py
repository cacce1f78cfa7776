"""Bounds of the integer types of columns."""

from collections.abc import Mapping
from typing import Final

from braid.lake import TypeRoot

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
