"""Hashes of keys: equal for equal keys in any array, different for others."""

import datetime as dt
import struct
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from braid.lake.read.lookup.key_hash import key_hashes

TYPES = {
    pa.bool_(): st.booleans(),
    pa.int8(): st.integers(-(2**7), 2**7 - 1),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(allow_nan=False),
    pa.string(): st.text(max_size=40),
    pa.binary(): st.binary(max_size=40),
    pa.decimal128(12, 2): st.decimals(-1_000_000, 1_000_000, places=2),
    pa.decimal128(30, 2): st.decimals(-(10**20), 10**20, places=2),
    pa.date32(): st.dates(dt.date(1900, 1, 1)),
    pa.timestamp("us"): st.datetimes(),
}


@pytest.mark.parametrize("kind", TYPES, ids=str)
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_equal_values_have_equal_hashes(kind: pa.DataType, data: st.DataObject) -> None:
    values = data.draw(st.lists(TYPES[kind], min_size=1, max_size=30))
    array = pa.array(values, kind)
    begin = data.draw(st.integers(0, len(values) - 1))

    hashes = key_hashes([array]).tolist()
    of_parts = key_hashes([pa.chunked_array([array.slice(0, begin), array.slice(begin)])]).tolist()
    of_slice = key_hashes([array.slice(begin)]).tolist()

    assert of_parts == hashes
    assert of_slice == hashes[begin:]
    same_bits = {repr(value): hash_ for value, hash_ in zip(values, hashes, strict=True)}
    assert [same_bits[repr(value)] for value in values] == hashes
    assert len(set(hashes)) == len({repr(value) for value in values})


def test_all_nans_are_one_key_and_the_zeros_two() -> None:
    quiet, other = (
        struct.unpack("<d", bits.to_bytes(8, "little"))[0]
        for bits in (0x7FF8_0000_0000_0000, 0xFFF8_0000_0000_0001)
    )
    hashes = key_hashes([pa.array(np.array([quiet, other, 0.0, -0.0]))]).tolist()

    assert hashes[0] == hashes[1]
    assert hashes[2] != hashes[3]


def test_zero_bytes_at_the_end_of_a_text_change_its_hash() -> None:
    texts = ["", "\0", "a", "a\0", "a" * 8, "a" * 8 + "\0", "a" * 16, "a" * 16 + "\0" * 9]

    assert len(set(key_hashes([pa.array(texts)]).tolist())) == len(texts)


def test_long_texts_among_short_ones_have_the_hash_that_they_have_alone() -> None:
    texts = ["short", *["x" * length + "end" for length in (200, 1_000, 5_001)], "y"] * 2

    together = key_hashes([pa.array(texts)]).tolist()

    assert together == [key_hashes([pa.array([text])]).tolist()[0] for text in texts]
    assert together == key_hashes([pa.array(texts, pa.large_string())]).tolist()


def test_the_boundary_between_columns_changes_the_hash() -> None:
    left, right = pa.array(["ab", "a", ""]), pa.array(["c", "bc", "abc"])

    assert len(set(key_hashes([left, right]).tolist())) == 3
    assert key_hashes([left, right]).tolist() != key_hashes([right, left]).tolist()


def test_hashes_are_spread_over_all_bits() -> None:
    for array in (
        pa.array(np.arange(20_000)),
        pa.array([f"parcel-{number}" for number in range(20_000)]),
        pa.array([Decimal(number) for number in range(20_000)], pa.decimal128(30, 2)),
    ):
        hashes = key_hashes([array])
        for shift in (0, 24, 48, 56):
            counts = np.bincount((hashes >> np.uint64(shift)).astype(np.int64) & 255)
            assert len(counts) == 256
            assert counts.max() < 2 * 20_000 / 256, shift
