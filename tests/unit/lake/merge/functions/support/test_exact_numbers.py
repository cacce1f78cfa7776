import decimal
import math
from decimal import Decimal

import numpy as np
import pytest

from braid.lake.merge.functions.support.exact_numbers import Decimals, Floats, Integers

WIDTHS = [8, 16, 32, 64]


# Merge-cases F14 and F15.
BEYOND = [
    ("add", "largest", 1),
    ("add", "smallest", -1),
    ("subtract", "smallest", 1),
    ("subtract", "largest", -1),
    ("multiply", "smallest", -1),
    ("multiply", "largest", 2),
    ("divide", "smallest", -1),
]


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize(("operation", "end", "other"), BEYOND)
def test_integers_that_do_not_fit_are_an_error(
    bits: int, operation: str, end: str, other: int
) -> None:
    largest = 2 ** (bits - 1) - 1
    value = largest if end == "largest" else -largest - 1

    with pytest.raises(OverflowError, match="does not fit"):
        getattr(Integers(bits), operation)(value, other)


@pytest.mark.parametrize("bits", WIDTHS)
def test_the_ends_of_integers_fit(bits: int) -> None:
    integers, largest = Integers(bits), 2 ** (bits - 1) - 1

    assert integers.add(largest, -largest - 1) == -1
    assert integers.subtract(-1, largest) == -largest - 1
    assert integers.negate(largest) == -largest
    with pytest.raises(OverflowError, match="does not fit"):
        integers.negate(-largest - 1)


@pytest.mark.parametrize(
    ("bits", "left", "right"), [(8, 64, 2), (8, -64, 4), (16, 1000, 100), (32, 100_000, 100_000)]
)
def test_products_that_do_not_fit_are_an_error(bits: int, left: int, right: int) -> None:
    with pytest.raises(OverflowError, match=rf"{left} x {right} does not fit"):
        Integers(bits).multiply(left, right)


@pytest.mark.parametrize(
    ("left", "right", "quotient"), [(7, 2, 3), (-7, 2, -3), (7, -2, -3), (-7, -2, 3), (0, -5, 0)]
)
def test_integer_quotients_lose_their_fraction(left: int, right: int, quotient: int) -> None:
    assert Integers(8).divide(left, right) == quotient


def test_integers_cannot_be_divided_by_zero() -> None:
    with pytest.raises(ZeroDivisionError, match="5 / 0"):
        Integers(32).divide(5, 0)


def test_single_floats_are_rounded_after_every_operation() -> None:
    single = Floats(single=True)
    tenth, big = float(np.float32(0.1)), float(np.float32(16_777_216.0))

    assert single.add(big, 1.0) == big
    assert single.multiply(tenth, tenth) == float(np.float32(0.1) * np.float32(0.1))
    assert single.divide(1.0, 3.0) == float(np.float32(1) / np.float32(3))
    assert single.multiply(float(np.float32(3e38)), 2.0) == math.inf
    assert Floats(single=False).add(big, 1.0) == big + 1


@pytest.mark.parametrize(
    ("left", "right", "quotient"),
    [(1.0, 0.0, math.inf), (1.0, -0.0, -math.inf), (-math.inf, 0.0, -math.inf)],
)
def test_floats_divided_by_zero_are_infinite(left: float, right: float, quotient: float) -> None:
    assert Floats(single=False).divide(left, right) == quotient


@pytest.mark.parametrize("left", [0.0, -0.0, math.nan])
def test_nothing_divided_by_zero_is_nan(left: float) -> None:
    assert math.isnan(Floats(single=True).divide(left, 0.0))


def test_zero_keeps_its_sign() -> None:
    assert math.copysign(1, Floats(single=True).negate(0.0)) == -1
    assert math.copysign(1, Floats(single=True).add(-0.0, -0.0)) == -1


def test_short_decimals_grow_beyond_their_digits_up_to_64_bits() -> None:
    short, largest = Decimals(3, 0), Decimal(2**63 - 1)

    assert short.add(Decimal(999), Decimal(1)) == 1000
    assert short.subtract(Decimal(-999), Decimal(1)) == -1000
    assert short.add(largest, Decimal(1)) is None
    assert short.subtract(-largest, Decimal(1)) == -(2**63)
    assert short.subtract(-largest, Decimal(2)) is None


def test_negatives_of_decimals_have_their_digits_counted() -> None:
    assert Decimals(3, 0).negate(Decimal(-999)) == 999
    assert Decimals(3, 0).negate(Decimal(1000)) is None


def test_long_decimals_beyond_their_digits_are_null() -> None:
    long, largest = Decimals(38, 2), Decimal("9" * 36 + ".99")

    assert long.add(largest, Decimal("-0.01")) == Decimal("9" * 36 + ".98")
    assert long.add(largest, Decimal("0.01")) is None
    assert long.subtract(-largest, Decimal("0.01")) is None


@pytest.mark.parametrize(
    ("left", "right", "product"),
    [
        ("1.01", "1.10", "1.11"),
        ("0.05", "0.10", "0.01"),
        ("-0.05", "0.10", "-0.01"),
        ("0.04", "0.10", "0.00"),
        ("99.99", "-1.00", "-99.99"),
    ],
)
def test_decimal_products_are_rounded_half_up(left: str, right: str, product: str) -> None:
    assert Decimals(4, 2).multiply(Decimal(left), Decimal(right)) == Decimal(product)


def test_decimal_products_beyond_their_digits_are_null() -> None:
    assert Decimals(4, 2).multiply(Decimal("99.99"), Decimal("1.01")) is None


@pytest.mark.parametrize(
    ("left", "right", "quotient"),
    [("1.00", "8.00", "0.13"), ("-1.00", "8.00", "-0.13"), ("0.00", "3.00", "0.00")],
)
def test_decimal_quotients_are_exact_then_rounded(left: str, right: str, quotient: str) -> None:
    assert Decimals(4, 2).divide(Decimal(left), Decimal(right)) == Decimal(quotient)


def test_decimal_quotients_without_end_or_by_zero_are_an_error() -> None:
    with pytest.raises(ArithmeticError, match="infinitely many digits"):
        Decimals(4, 2).divide(Decimal("1.00"), Decimal("3.00"))
    with pytest.raises(ZeroDivisionError, match=r"1\.00 / 0\.00"):
        Decimals(4, 2).divide(Decimal("1.00"), Decimal("0.00"))


def test_decimal_quotients_beyond_their_digits_are_null() -> None:
    assert Decimals(4, 2).divide(Decimal("99.99"), Decimal("0.01")) is None


def test_no_decimal_context_has_a_say() -> None:
    largest = Decimal("9" * 38)
    with decimal.localcontext(prec=3, Emax=5, Emin=-5):
        difference = Decimals(38, 0).subtract(largest, Decimal(1))
        product = Decimals(38, 10).multiply(Decimal("123456789.0123456789"), Decimal("1E-10"))

    assert str(difference) == "9" * 37 + "8"
    assert str(product) == "0.0123456789"
