"""Unions of bitmaps, byte for byte those of the reference's Java libraries."""

import base64
from pathlib import Path

import datasketches
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from pyroaring import BitMap

from braid.lake.errors import SchemaMismatch
from braid.lake.format.type_codec import parse_type
from braid.lake.merge.functions.registry import FUNCTIONS
from braid.lake.merge.functions.sets.bitmap64 import Bitmap64, united_64
from braid.lake.merge.steps import Step
from tests.unit.lake.merge.functions.given_values import (
    added,
    folded,
    given_function,
    given_reduction,
    reduced,
)

UNIONS = Path(__file__).with_name("reference_unions.txt")
BITMAPS = ("rbm32", "rbm64")
SKETCHES = ("hll_sketch", "theta_sketch")


def from_text(text: str) -> bytes:
    return b"" if text == "-" else base64.b64decode(text)


def reference_unions() -> list[tuple[str, bytes, bytes, bytes]]:
    lines = [line.split() for line in UNIONS.read_text().splitlines() if line[0] != "#"]
    return [(name, from_text(a), from_text(b), from_text(c)) for name, a, b, c in lines]


# The sets {1}, {2}, {3}, {1, 2, 3} of merge-cases A50 and F90, as the reference writes them.
ONE = {
    "rbm32": "OjAAAAEAAAAAAAAAEAAAAAEA",
    "rbm64": "AQEAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAQAAAP4BAAAAAQIBAAAAAQABAAAAAAAAAAAAAAAAAAAA",
    "theta_sketch": "AQMDAAA6zJMV+X3LvYahBQ==",
    "hll_sketch": "AgEHDAMIAQAr8vsG",
}
TWO_THREE = {
    "rbm32": "OjAAAAEAAAAAAAEAEAAAAAIAAwA=",
    "rbm64": "AQEAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAQAAAP4BAAAAAQICAAAAAgADAAEAAAAAAAAAAAAAAAAAAAA=",
    "theta_sketch": "AgMDAAAazJMCAAAAAACAP8OX/BKBcJ0eukCzwdoGaV0=",
    "hll_sketch": "AgEHDAMIAgCGL/kNdYFmBw==",
}
ALL = {
    "rbm32": "OjAAAAEAAAAAAAIAEAAAAAEAAgADAA==",
    "rbm64": "AQEAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAQAAAP4BAAAAAQIDAAAAAQACAAMAAQAAAAAAAAAAAAAAAAAA"
    "AA==",
    "theta_sketch": "AgMDAAAazJMDAAAAAACAPxX5fcu9hqEFw5f8EoFwnR66QLPB2gZpXQ==",
    "hll_sketch": "AgEHDAMIAwAr8vsGhi/5DXWBZgc=",
}


@pytest.mark.parametrize("name", [*BITMAPS, *SKETCHES])
def test_sets_are_united(name: str) -> None:
    """F90."""
    function = given_function(name, pa.binary())
    one, two_three, union = (from_text(sets[name]) for sets in (ONE, TWO_THREE, ALL))

    assert added(function, None, None) is None
    assert added(function, None, one) == one
    assert added(function, two_three, None) == two_three
    assert added(function, two_three, one) == union
    assert added(function, union, one) == union
    if name != "hll_sketch":  # A small one lists its entries as they come.
        assert folded(function, [(Step.ADD, two_three), (Step.LATE, one)]) == union


@pytest.mark.parametrize(
    ("name", "accumulated", "value", "expected"),
    [pytest.param(*union, id=f"{i}-{union[0]}") for i, union in enumerate(reference_unions())],
)
def test_bytes_are_those_of_the_reference(
    name: str, accumulated: bytes, value: bytes, expected: bytes
) -> None:
    assert added(given_function(name, pa.binary()), accumulated, value) == expected


def one_number(number: int) -> bytes:
    """Return a bitmap of one 64-bit number, as the reference writes it."""
    template = from_text(ONE["rbm64"])
    key, low = (number >> 16).to_bytes(6, "big"), (number & 0xFFFF).to_bytes(2, "little")
    return template[:13] + key + template[19:42] + low + template[44:]


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_a_tree_of_any_shape_is_read_back(data: st.DataObject) -> None:
    """Few first bytes and many last ones make nodes of every type."""
    keys = st.builds(
        lambda first, last: (first << 40 | last) << 16 | 7,
        st.sampled_from([0, 1, 255]),
        st.integers(0, 400),
    )
    numbers = data.draw(st.lists(keys, min_size=1, max_size=300, unique=True))
    union = one_number(numbers[0])
    for number in numbers[1:]:
        union = united_64(union, one_number(number))

    assert Bitmap64(union).serialize() == union
    assert united_64(union, union) == union


@pytest.mark.parametrize("lg_k", [4, 12, 21])
def test_a_sketch_keeps_its_precision(lg_k: int) -> None:
    sketches = [datasketches.hll_sketch(lg_k) for _ in range(2)]
    for number, sketch in enumerate(sketches):
        sketch.update(number)

    union = added(
        given_function("hll_sketch", pa.binary()),
        *(sketch.serialize_compact() for sketch in sketches),
    )

    found = datasketches.hll_sketch.deserialize(union)
    assert found.lg_config_k == lg_k
    assert round(found.get_estimate()) == 2


@settings(max_examples=40, deadline=None)
@given(st.sets(st.integers(0, 2**17)), st.sets(st.integers(0, 2**17)), st.booleans(), st.booleans())
def test_the_union_holds_the_numbers_of_both(
    one: set[int], other: set[int], one_has_runs: bool, other_has_runs: bool
) -> None:
    maps = []
    for numbers, has_runs in ((one, one_has_runs), (other, other_has_runs)):
        bitmap = BitMap(numbers)
        if has_runs:
            bitmap.add_range(65_530, 65_560)
            bitmap.run_optimize()
        maps.append(bitmap)

    union = added(given_function("rbm32", pa.binary()), *(each.serialize() for each in maps))

    assert isinstance(union, bytes)
    assert BitMap.deserialize(union) == maps[0] | maps[1]


@pytest.mark.parametrize("name", [*BITMAPS, *SKETCHES])
@pytest.mark.parametrize("wrong", [b"", b"abc", b"\x01" * 40, b"\xff" * 60])
def test_malformed_bytes_are_refused(name: str, wrong: bytes) -> None:
    function = given_function(name, pa.binary())

    with pytest.raises(SchemaMismatch, match=f"`{name}` of the column got bytes that it cannot"):
        function.aggregate(from_text(ONE[name]), wrong)
    with pytest.raises(SchemaMismatch) as refused:
        function.aggregate(wrong, from_text(ONE[name]))
    assert refused.value.problems[0].value == wrong[:16].hex(" ") + (" …" if wrong[16:] else "")


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_changed_bytes_are_refused_or_united(data: st.DataObject) -> None:
    unions = [union for union in reference_unions() if len(union[2]) < 900]
    name, accumulated, value, _ = data.draw(st.sampled_from(unions))
    changed = bytearray(value)
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    function = given_function(name, pa.binary())

    try:
        result = function.aggregate(accumulated, bytes(changed))
    except SchemaMismatch:
        return
    assert isinstance(result, bytes)


@pytest.mark.parametrize("name", [*BITMAPS, *SKETCHES])
def test_retract_is_refused(name: str) -> None:
    """F91."""
    with pytest.raises(SchemaMismatch, match=f"`{name}` .*has no retract"):
        given_function(name, pa.binary()).retract(b"", b"")


@pytest.mark.parametrize("name", [*BITMAPS, *SKETCHES])
def test_keys_with_one_value_are_decided_at_once(name: str) -> None:
    reduction = given_reduction(name, pa.binary())
    assert reduction is not None
    assert reduction.keeps_single

    found, undecided = reduced(
        reduction,
        pa.binary(),
        [
            [(Step.ADD, None), (Step.LATE, b"one"), (Step.ADD, None)],
            [(Step.ADD, b"one"), (Step.ADD, b"other")],
            [(Step.ADD, None)],
        ],
    )

    assert (found[0], found[2], undecided) == (b"one", None, [1])


@pytest.mark.parametrize("name", [*BITMAPS, *SKETCHES])
def test_only_varying_bytes_are_accepted(name: str) -> None:
    accepts = FUNCTIONS[name].accepts

    assert accepts(parse_type("BYTES"))
    assert accepts(parse_type("VARBINARY(10)"))
    assert not accepts(parse_type("BINARY(10)"))
    assert not accepts(parse_type("STRING"))
