"""JSON to VARIANT values; the expected bytes are those of Paimon's `GenericVariant.fromJson`."""

import pytest

from braid.lake.format.variant.from_json import NotVariant, variant_of_json
from braid.lake.format.variant.to_json import json_of_variant

# JSON, `value` and `metadata`.
GIVEN = [
    ("1", "0c01", "010000"),
    ("-0", "0c00", "010000"),
    ("-129", "107fff", "010000"),
    ("1000000000", "1400ca9a3b", "010000"),
    ("-9223372036854775808", "180000000000000080", "010000"),
    ("9223372036854775808", "280000000000000000800000000000000000", "010000"),
    ("-9223372036854775809", "2800ffffffffffffff7fffffffffffffffff", "010000"),
    ("1.50", "200296000000", "010000"),
    ("-0.0", "200100000000", "010000"),
    ("123456789.1", "2401d302964900000000", "010000"),
    ("12345678901234567890", "2800d20a1feb8ca954ab0000000000000000", "010000"),
    ("123456789012345678901234567890123456789", "1c800558693a38d747", "010000"),
    ("1e5", "1c00000000006af840", "010000"),
    ("-0e0", "1c0000000000000080", "010000"),
    ("-1e400", "1c000000000000f0ff", "010000"),
    ("null", "00", "010000"),
    (" true ", "04", "010000"),
    ("false", "08", "010000"),
    ('"\\ud800x"', "093f78", "010000"),
    ("[]", "030000", "010000"),
    ("{}", "020000", "010000"),
    ("[[],{}]", "0302000306030000020000", "010000"),
    (
        '{"b":1,"a":2,"\uffff":3,"\U0001f600":4}',
        "02040100030202000604080c010c020c030c04",
        "010400010205096261efbfbff09f9880",
    ),
    ('{"\\ud800":1,"?":2}', "020201000200040c010c02", "01020001023f3f"),
]


@pytest.mark.parametrize(("text", "value", "metadata"), GIVEN, ids=[text for text, *_ in GIVEN])
def test_json_becomes_the_bytes_of_paimon(text: str, value: str, metadata: str) -> None:
    assert tuple(part.hex() for part in variant_of_json(text)) == (value, metadata)


@pytest.mark.parametrize(
    ("count", "head"),
    [(255, "03ff"), (256, "1700010000"), (70_000, "1b70110100")],
)
def test_long_arrays_have_longer_counts_and_offsets(count: int, head: str) -> None:
    value, _ = variant_of_json(f"[{','.join(['null'] * count)}]")

    assert value.hex().startswith(head)
    assert json_of_variant(value, b"\1\0\0").count("null") == count


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON"),
        ("1 2", "not JSON: Extra data"),
        ("[1,]", "not JSON"),
        ("NaN", "NaN is no number of JSON"),
        ("01", "not JSON"),
        ('{"a":1,"b":{"x":1,"x":2}}', "the name 'x' occurs twice"),
        ("[" * 501 + "]" * 501, "more than 500 levels"),
        ("[" * 100_000, "more than 500 levels"),
    ],
)
def test_what_is_no_value_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(NotVariant, match=reason):
        variant_of_json(text)


def test_numbers_of_any_length_are_read() -> None:
    assert variant_of_json("9" * 5_000) == variant_of_json("1e999")
    assert variant_of_json("1" + "0" * 300) == variant_of_json("1e300")


def test_the_deepest_value_is_written_and_read() -> None:
    text = '{"a":[' * 250 + "1" + "]}" * 250

    assert json_of_variant(*variant_of_json(text)) == text
