"""Conversion of Python values to a column's type."""

from decimal import Decimal

import pyarrow as pa
import pytest

from braid.lake.format.type_codec import parse_type
from braid.lake.read.condition_value import exact_array

KIND = parse_type("DECIMAL(10, 2)")
ARROW = pa.decimal128(10, 2)


@pytest.mark.parametrize(
    ("value", "held"),
    [
        (Decimal("1.5"), "1.50"),
        (Decimal("-1.50" + "0" * 100), "-1.50"),
        (Decimal("1e7"), "10000000.00"),
        (Decimal("0e-999999999"), "0.00"),
        (Decimal("-0e999999999"), "0.00"),
        (12, "12.00"),
    ],
)
def test_a_decimal_is_held_unchanged_whatever_its_exponent(value: object, held: str) -> None:
    assert exact_array([value], KIND, ARROW).to_pylist() == [Decimal(held)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Decimal("1.505"), "at most 2 digits after the point"),
        (Decimal("1e-77"), "at most 2 digits after the point"),
        (Decimal("-5e-999999999"), "at most 2 digits after the point"),
        (Decimal("1e8"), "at most 8 digits before the point"),
        (Decimal("1e999999999"), "at most 8 digits before the point"),
        (Decimal("NaN"), "a Decimal or a whole number"),
        (1.5, "a Decimal or a whole number"),
    ],
)
def test_a_decimal_that_the_type_cannot_hold_is_refused(value: object, expected: str) -> None:
    with pytest.raises(ValueError, match=f"expected {expected}"):
        exact_array([value], KIND, ARROW)
