"""Keys of rows from the text of an address and from bodies."""

from decimal import Decimal

import pytest

from braid.formats.key_values import parse_value
from braid.lake import DataField, parse_type


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+05:00", "9999-12-31T23:00:00-05:00"])
@pytest.mark.parametrize("digits", [3, 9])
def test_a_timestamp_outside_the_years_of_utc_is_refused(text: str, digits: int) -> None:
    data_type = parse_type(f"TIMESTAMP({digits}) WITH LOCAL TIME ZONE")

    with pytest.raises(ValueError, match="outside the years"):
        parse_value(text, DataField(id=0, name="k", type=data_type))


def parse(sql: str, text: str) -> object:
    return parse_value(text, DataField(name="k", type=parse_type(sql)))


@pytest.mark.parametrize(
    ("sql", "text", "message"),
    [
        ("BOOLEAN", "yes", "it is neither `true` nor `false`"),
        ("INT", "", "not a whole number"),
        ("INT", "1.0", "not a whole number"),
        ("INT", "1_000", "not a whole number"),
        ("TINYINT", "128", "outside -128 to 127"),
        ("BIGINT", "9223372036854775808", "outside"),
        ("BIGINT", "1" * 700, "outside"),
        ("BIGINT", "-" + "1" * 5_000, "outside"),
        ("DOUBLE", "much", "not a number"),
        ("DOUBLE", "1_0", "not a number"),
        ("DECIMAL(4, 2)", "1_0", "not a decimal number"),
        ("DECIMAL(4, 2)", "\u0661", "not a decimal number"),
        ("TIME(0)", "12:00:00,5", "more than 0 fractional digits of a second"),
        ("TIMESTAMP(3)", "2013-01-31T05:15:00.\u0661", "not an ISO 8601 date and time"),
        ("DECIMAL(4, 2)", "1.234", "more than 2 digits after the point"),
        ("DECIMAL(4, 2)", "123", "more than 2 digits before the point"),
        ("DECIMAL(4, 2)", "1e999999999", "more than 2 digits before the point"),
        ("DECIMAL(4, 2)", "1e-999999999", "more than 2 digits after the point"),
        ("DECIMAL(4, 2)", "NaN", "not a finite number"),
        ("DECIMAL(4, 2)", "x", "not a decimal number"),
        ("VARCHAR(2)", "abc", "longer than 2 characters"),
        ("BYTES", "*", "not base64"),
        ("VARBINARY(1)", "AAA=", "longer than 1 bytes"),
        ("DATE", "31.01.2013", "not an ISO 8601 date"),
        ("TIME(0)", "noon", "not an ISO 8601 time of day"),
        ("TIME(0)", "12:00:00Z", "has a time zone, which a time of day cannot have"),
        ("TIME(0)", "12:00:00.5", "more than 0 fractional digits of a second"),
        ("TIMESTAMP(3)", "yesterday", "not an ISO 8601 date and time"),
        ("TIMESTAMP(3)", "2013-01-31T05:15:00Z", "has a time zone, but the column has none"),
        ("TIMESTAMP(3)", "2013-01-31T05:15:00.1234", "more than 3 fractional digits of a second"),
        ("TIMESTAMP_LTZ(3)", "2013-01-31T05:15:00", "end with Z"),
    ],
    ids=str,
)
def test_the_error_of_an_invalid_value_has_the_reason(sql: str, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(sql, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12.5", "12.50"),
        ("-0.05", "-0.05"),
        ("1e1", "10.00"),
        ("99.99", "99.99"),
        ("0", "0.00"),
        ("000.00", "0.00"),
        ("0e99", "0.00"),
        ("01.0", "1.00"),
    ],
)
def test_a_decimal_gets_the_scale_of_its_column(text: str, expected: str) -> None:
    value = parse("DECIMAL(4, 2)", text)

    assert isinstance(value, Decimal)
    assert value.as_tuple() == Decimal(expected).as_tuple()


def test_a_long_decimal_keeps_all_its_digits() -> None:
    digits = "1234567890123456789012345678901234567.8"

    assert parse("DECIMAL(38, 1)", digits) == Decimal(digits)


@pytest.mark.parametrize("text", ["+/8=", "-_8=", " /8="])
def test_base64_survives_what_addresses_do_to_it(text: str) -> None:
    assert parse("BYTES", text) == b"\xfb\xff"


def test_trailing_zeros_of_a_second_are_no_digits() -> None:
    assert parse("TIMESTAMP(0)", "2013-01-31T05:15:00.000") == parse(
        "TIMESTAMP(0)", "2013-01-31T05:15:00"
    )


def test_the_fraction_of_a_second_may_follow_a_comma() -> None:
    with_point = parse("TIMESTAMP(3)", "2013-01-31T05:15:00.500")

    assert parse("TIMESTAMP(3)", "2013-01-31T05:15:00,500") == with_point


def test_a_time_in_another_zone_is_the_same_instant() -> None:
    assert parse("TIMESTAMP_LTZ(3)", "2013-01-31T05:15:00+02:00") == parse(
        "TIMESTAMP_LTZ(3)", "2013-01-31T03:15:00Z"
    )
