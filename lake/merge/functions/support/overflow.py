"""Overflow rules for sums and products that do not fit the type of their column.

| `braid.on-overflow` | an integer of n bits | a DECIMAL of p digits |
|---|---|---|
| `wrap` | wraps round modulo 2**n | wraps round modulo 2 x 10**p - 1 |
| `fail` | the merge of the column fails | the merge of the column fails |
| not declared | fails | null, or more digits than declared (merge-semantics 4) |

Wrapping is modular arithmetic: any order of values, and any grouping of them, gives the same value, and a sum that
comes back into range is exact again. Two kinds of products do depend on the order: products of DECIMALs with digits
after the point, because every step rounds, and products from which values are retracted, because that is a division.
The largest and the smallest value of a DECIMAL are adjacent, as they are for an integer.

Source: ours; Paimon wraps integers up to 1.4, and fails from 2.0 on.
"""

from enum import StrEnum
from typing import Final

from braid.lake.merge.column_function import ColumnFunction

ON_OVERFLOW: Final = "braid.on-overflow"


class Overflow(StrEnum):
    """The rule of a column for values that do not fit its type."""

    FORMAT = "format"
    WRAP = "wrap"
    FAIL = "fail"


OVERFLOW_CHOICES: Final = (Overflow.WRAP.value, Overflow.FAIL.value)


def overflow_of(function: ColumnFunction) -> Overflow:
    """Return the rule that the column declares."""
    declared = function.option(ON_OVERFLOW, "").lower()
    return Overflow(declared) if declared in OVERFLOW_CHOICES else Overflow.FORMAT


def wrapped(value: int, bits: int) -> int:
    """Return an integer modulo 2**bits, as a signed number of `bits` bits.

    Example:
        >>> wrapped(128, 8)
        -128
    """
    half = 1 << (bits - 1)
    return (value + half) % (1 << bits) - half


def wrapped_digits(value: int, digits: int) -> int:
    """Return an unscaled DECIMAL modulo 2 x 10**digits - 1, as a number of at most `digits` digits.

    Example:
        >>> wrapped_digits(1000, 3), wrapped_digits(-1000, 3)
        (-999, 999)
    """
    largest: int = 10**digits - 1
    return (value + largest) % (2 * largest + 1) - largest
