"""VARIANT values to JSON, damaged ones among them."""

import json
import random

import pytest

from braid.lake import CorruptData, UnsupportedFeature
from braid.lake.format.variant.from_json import variant_of_json
from braid.lake.format.variant.to_json import json_of_variant

NO_NAMES = b"\1\0\0"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.50", "1.5"),
        ("0.000", "0"),
        ("1e-7", "1.0E-7"),
        ("123e18", "1.23E20"),
        ("1e400", '"Infinity"'),
        ('{"b": [1, "x"], "a": null}', '{"a":null,"b":[1,"x"]}'),
        ('"\\u0001\\u001f\\t\\"\\\\/\\u2028"', '"\\u0001\\u001F\\t\\"\\\\/\u2028"'),
    ],
)
def test_json_is_written_as_by_paimon(text: str, expected: str) -> None:
    assert json_of_variant(*variant_of_json(text)) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2cdb6dffff", '"1867-07-27"'),
        ("2cffffff7f", '"+5881580-07-11"'),
        ("2c00000080", '"-5877641-06-23"'),
        ("30ffffffffffffffff", '"1969-12-31 23:59:59.999999+00:00"'),
        ("3440420f0000000000", '"1970-01-01 00:00:01"'),
        ("38cdcccc3d", "0.1"),
        ("38000080ff", '"-Infinity"'),
        ("3c0300000001ff00", '"Af8A"'),
        ("50f24f9b64820d4a2a8bd1c5a1a9d0e3f7", '"f24f9b64-820d-4a2a-8bd1-c5a1a9d0e3f7"'),
    ],
)
def test_values_that_json_does_not_have_are_texts(value: str, expected: str) -> None:
    assert json_of_variant(bytes.fromhex(value), NO_NAMES) == expected


def test_numbers_that_no_double_holds_can_be_texts() -> None:
    value = variant_of_json(
        "[9007199254740992, 9007199254740993, 0.1, 0.12345678901234567891, 1e5]"
    )

    exact = json_of_variant(*value)
    quoted = json_of_variant(*value, quotes_inexact=True)

    assert exact == "[9007199254740992,9007199254740993,0.1,0.12345678901234567891,100000.0]"
    assert json.loads(quoted) == [
        9007199254740992, "9007199254740993", 0.1, "0.12345678901234567891", 100000.0,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "metadata", "reason"),
    [
        ("", "010000", "ends early"),
        ("0c", "010000", "ends early"),
        ("00", "", "no known version"),
        ("00", "020000", "no known version"),
        ("0961", "010000", "ends early"),
        ("05ff", "010000", "not UTF-8"),
        ("40ffffffff61", "010000", "ends early"),
        ("0302000205", "010000", "ends early"),
        ("13ffffffff0000", "010000", "ends early"),
        ("02010000020c01", "010000", "no name 0"),
        ("02010000020c01", "010105ff61", "outside"),
        ("02010000020c01", "0101000261", "outside"),
        ("02010000020c01", "c1ffffffff", "ends early"),
        ("200a01000000", "010000", "more than 9 digits"),
    ],
)
def test_damaged_values_are_corrupt(value: str, metadata: str, reason: str) -> None:
    with pytest.raises(CorruptData, match=reason):
        json_of_variant(bytes.fromhex(value), bytes.fromhex(metadata))


def test_kinds_of_later_versions_are_unsupported() -> None:
    with pytest.raises(UnsupportedFeature, match="the kind 17"):
        json_of_variant(bytes([17 << 2, *bytes(8)]), NO_NAMES)


def test_offsets_that_share_bytes_do_not_multiply_the_work() -> None:
    # Each array has three elements, all of which are the next array: 3 ** 60 values, if one counts them.
    value = b"\0"
    for _ in range(60):
        value = bytes((3, 3, 0, 0, 0, len(value) & 0xFF)) + value

    with pytest.raises(CorruptData, match="overlap"):
        json_of_variant(value, NO_NAMES)


def test_values_are_read_to_the_depth_of_values_that_are_written() -> None:
    text = "[" * 500 + "]" * 500
    value, _ = variant_of_json(text)
    deeper = b"".join([bytes((0x0F, 1)), bytes(4), len(value).to_bytes(4, "little"), value])

    assert json_of_variant(value, NO_NAMES) == text
    with pytest.raises(UnsupportedFeature, match="more than 500 levels"):
        json_of_variant(deeper, NO_NAMES)


def test_any_damage_is_told_or_gives_json() -> None:
    chance = random.Random(5)
    whole = variant_of_json(
        '{"id":7,"tags":["a","bb",null],"price":12.50,"at":{"x":1e5,"y":-40000,"text":"'
        + "z" * 80
        + '"}}'
    )
    for _ in range(4_000):
        value, metadata = (bytearray(part) for part in whole)
        for _ in range(chance.randint(1, 3)):
            part = value if chance.random() < 0.7 else metadata
            part[chance.randrange(len(part))] = chance.randrange(256)
        if chance.random() < 0.2:
            del value[chance.randrange(len(value)) :]
        try:
            text = json_of_variant(bytes(value), bytes(metadata))
        except (CorruptData, UnsupportedFeature):
            continue
        json.loads(text)
