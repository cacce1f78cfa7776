"""Arithmetic on plain values of one column type, with the results that Java gives.

Integers are exact and must fit their width, unless the column declares that they wrap around
(`braid.lake.merge.functions.support.overflow`). FLOAT and DOUBLE follow IEEE 754, division by zero included; FLOAT is
rounded to 32 bits after every operation. DECIMALs are computed as unscaled integers, independent of a decimal
context; products and quotients are rounded half up. A DECIMAL result that does not fit is null, unless the column
declares a rule. There is one exception without such a rule: if the type has at most 18 digits, a sum or difference may
have more digits than the type, and is null only if it exceeds 64 bits. Integers and DECIMALs cannot be divided by
zero, and a DECIMAL quotient with infinitely many digits is an error.

Source: merge-semantics 4, "Overflow / arithmetic".
"""

import math
from collections.abc import Callable
from ctypes import c_float
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol, TypeVar

import pyarrow as pa

from braid.lake.merge.functions.support.overflow import Overflow, wrapped, wrapped_digits

NumberT = TypeVar("NumberT", int, float, Decimal)

DECIMAL64_DIGITS = 18
"""DECIMALs of at most these digits are added in 64 bits, and their sums may have more digits."""
_INT64_MAX = 2**63 - 1
_INTEGER_NAMES = {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}


class Arithmetic(Protocol[NumberT]):
    """Operations on values of one type that are not null.

    Every operation may raise ArithmeticError. The result None stands for a value that the type
    cannot hold, in types that have null instead of an error.
    """

    def add(self, left: NumberT, right: NumberT, /) -> NumberT | None:
        """Return left + right."""
        ...

    def subtract(self, left: NumberT, right: NumberT, /) -> NumberT | None:
        """Return left - right."""
        ...

    def negate(self, value: NumberT, /) -> NumberT | None:
        """Return -value."""
        ...

    def multiply(self, left: NumberT, right: NumberT, /) -> NumberT | None:
        """Return left x right."""
        ...

    def divide(self, left: NumberT, right: NumberT, /) -> NumberT | None:
        """Return left / right."""
        ...


@dataclass(frozen=True, slots=True)
class Integers:
    """TINYINT, SMALLINT, INT and BIGINT: exact, division truncates.

    Attributes:
        bits: Width of the type.
        overflow: The rule for a result that does not fit; an error unless it wraps.
    """

    bits: int
    overflow: Overflow = Overflow.FORMAT

    def add(self, left: int, right: int, /) -> int:
        """Return the sum; raise OverflowError when it does not fit."""
        return self._fitting(left + right, lambda: f"{left} + {right}")

    def subtract(self, left: int, right: int, /) -> int:
        """Return the difference; raise OverflowError when it does not fit."""
        return self._fitting(left - right, lambda: f"{left} - {right}")

    def negate(self, value: int, /) -> int:
        """Return the negative; raise OverflowError for the smallest value."""
        return self._fitting(-value, lambda: f"-({value})")

    def multiply(self, left: int, right: int, /) -> int:
        """Return the product; raise OverflowError when it does not fit."""
        return self._fitting(left * right, lambda: f"{left} x {right}")

    def divide(self, left: int, right: int, /) -> int:
        """Return the quotient without its fraction; raise ZeroDivisionError or OverflowError."""
        if right == 0:
            text = f"{left} / 0"
            raise ZeroDivisionError(text)
        quotient = abs(left) // abs(right)
        signed = quotient if (left < 0) == (right < 0) else -quotient
        return self._fitting(signed, lambda: f"{left} / {right}")

    def _fitting(self, value: int, text: Callable[[], str]) -> int:
        half = 1 << (self.bits - 1)
        if -half <= value < half:
            return value
        if self.overflow is Overflow.WRAP:
            return wrapped(value, self.bits)
        message = f"{text()} does not fit {_INTEGER_NAMES[self.bits]}"
        raise OverflowError(message)


@dataclass(frozen=True, slots=True)
class Floats:
    """FLOAT and DOUBLE: IEEE 754, never an error.

    Attributes:
        single: FLOAT: a result in 64 bits, rounded to 32, equals the result in 32 bits.
    """

    single: bool

    def add(self, left: float, right: float, /) -> float:
        """Return the sum."""
        return self._rounded(left + right)

    def subtract(self, left: float, right: float, /) -> float:
        """Return the difference."""
        return self._rounded(left - right)

    def negate(self, value: float, /) -> float:
        """Return the value with the other sign; of 0.0 that is -0.0."""
        return -value

    def multiply(self, left: float, right: float, /) -> float:
        """Return the product."""
        return self._rounded(left * right)

    def divide(self, left: float, right: float, /) -> float:
        """Return the quotient; infinite or NaN for a zero divisor."""
        if right == 0:
            if left == 0 or math.isnan(left):
                return math.nan
            return math.copysign(math.inf, left) * math.copysign(1.0, right)
        return self._rounded(left / right)

    def _rounded(self, value: float) -> float:
        return c_float(value).value if self.single else value


@dataclass(frozen=True, slots=True)
class Decimals:
    """DECIMAL(precision, scale): sums are exact; null when a result has too many digits before the point.

    Up to 18 digits, sums are computed in 64 bits and may have more digits than the type: only a result
    beyond 64 bits is null. If the column declares a rule for overflow, that rule decides instead.

    Attributes:
        precision: Digits of the type.
        scale: Digits after the point.
        overflow: The rule for a result with more digits.
    """

    precision: int
    scale: int
    overflow: Overflow = Overflow.FORMAT

    def add(self, left: Decimal, right: Decimal, /) -> Decimal | None:
        """Return the sum, or null; raise OverflowError if the column declares `fail`."""
        return self._summed(self._unscaled(left) + self._unscaled(right))

    def subtract(self, left: Decimal, right: Decimal, /) -> Decimal | None:
        """Return the difference, or null; raise OverflowError if the column declares `fail`."""
        return self._summed(self._unscaled(left) - self._unscaled(right))

    def negate(self, value: Decimal, /) -> Decimal | None:
        """Return the negative, or null: its digits are limited even where those of sums are not.

        Raises:
            OverflowError: The result has too many digits, and the column declares `fail`.
        """
        return self._fitting(-self._unscaled(value))

    def multiply(self, left: Decimal, right: Decimal, /) -> Decimal | None:
        """Return the product, rounded half up, or null; or raise OverflowError."""
        product = self._unscaled(left) * self._unscaled(right)
        return self._fitting(_half_up(product, 10**self.scale))

    def divide(self, left: Decimal, right: Decimal, /) -> Decimal | None:
        """Return the quotient, rounded half up, or null.

        Raises:
            ArithmeticError: The divisor is zero, or the quotient has infinitely many digits.
            OverflowError: The result has too many digits, and the column declares `fail`.
        """
        dividend, divisor = self._unscaled(left), self._unscaled(right)
        if divisor == 0:
            text = f"{left} / {right}"
            raise ZeroDivisionError(text)
        if not _terminates(dividend, divisor):
            text = f"{left} / {right} has infinitely many digits"
            raise ArithmeticError(text)
        return self._fitting(_half_up(dividend * 10**self.scale, divisor))

    def _summed(self, unscaled: int) -> Decimal | None:
        if self.precision > DECIMAL64_DIGITS or self.overflow is not Overflow.FORMAT:
            return self._fitting(unscaled)
        # The reference computes a sum that overflows 64 bits again, with a check of its digits. The
        # sum has at least 19 digits, so it is null.
        return self._scaled(unscaled) if -_INT64_MAX - 1 <= unscaled <= _INT64_MAX else None

    def _fitting(self, unscaled: int) -> Decimal | None:
        if abs(unscaled) < 10**self.precision:
            return self._scaled(unscaled)
        match self.overflow:
            case Overflow.WRAP:
                return self._scaled(wrapped_digits(unscaled, self.precision))
            case Overflow.FAIL:
                message = (
                    f"{self._scaled(unscaled)} does not fit DECIMAL({self.precision}, {self.scale})"
                )
                raise OverflowError(message)
            case _:
                return None

    def _unscaled(self, value: Decimal) -> int:
        # By the digits, because arithmetic of Decimal would round to the precision of a context.
        sign, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int), value
        assert exponent >= -self.scale, value
        coefficient: int = int("".join(map(str, digits))) * 10 ** (exponent + self.scale)
        return -coefficient if sign else coefficient

    def _scaled(self, unscaled: int) -> Decimal:
        return Decimal(f"{unscaled}E-{self.scale}")


def arithmetic_of(
    kind: pa.DataType, overflow: Overflow = Overflow.FORMAT
) -> Arithmetic[int] | Arithmetic[float] | Arithmetic[Decimal]:
    """Return the arithmetic of a numeric Arrow type of `arrow_types`."""
    assert not pa.types.is_unsigned_integer(kind), kind
    if pa.types.is_integer(kind):
        return Integers(kind.bit_width, overflow)
    if pa.types.is_floating(kind):
        return Floats(single=kind.bit_width == 32)
    assert pa.types.is_decimal128(kind), kind
    return Decimals(kind.precision, kind.scale, overflow)


def _half_up(dividend: int, divisor: int) -> int:
    """Return the rounded quotient; a half is rounded away from zero."""
    quotient, remainder = divmod(abs(dividend), abs(divisor))
    quotient += 2 * remainder >= abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def _terminates(dividend: int, divisor: int) -> bool:
    """Return whether a quotient has finitely many decimal digits.

    That is so if the reduced divisor has no prime factors other than 2 and 5.
    """
    rest = abs(divisor) // math.gcd(dividend, divisor)
    for factor in (2, 5):
        while rest % factor == 0:
            rest //= factor
    return rest == 1
