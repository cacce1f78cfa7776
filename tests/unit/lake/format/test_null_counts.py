"""Encoded counts of nulls equal the tuples that they stand for, and are skipped exactly."""

import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

from braid.lake.format.avro.binary import AvroDecoder, encode_null_counts
from braid.lake.format.null_counts import EncodedCounts, read_counts, whole_counts

COUNTS = st.lists(st.none() | st.integers(0, 2**63 - 1), max_size=9).map(tuple)
KNOWN = st.integers(0, 3) | st.integers(60, 20_000) | st.just(2**62)


def encoded(counts: tuple[int | None, ...]) -> bytes:
    out: list[bytes] = []
    encode_null_counts(out, counts)
    return b"".join(out)


def read(data: bytes) -> tuple[EncodedCounts, int]:
    decoder = AvroDecoder(b"\x02" + data + b"\x00\x02")
    decoder.position = 1
    return read_counts(decoder), decoder.position - 1


@given(counts=COUNTS | st.lists(KNOWN, min_size=48, max_size=200).map(tuple))
def test_counts_are_skipped_and_decoded_on_demand(counts: tuple[int | None, ...]) -> None:
    data = encoded(counts)

    found, end = read(data)

    assert end == len(data)
    assert found.encoded == data
    assert found == counts
    assert counts == found
    assert hash(found) == hash(counts)
    assert len(found) == len(counts)
    assert tuple(found) == counts
    assert pickle.loads(pickle.dumps(found)) == found


def test_unknown_counts_among_many_are_skipped() -> None:
    counts = (*range(100), None, 2, 2, None)

    found, end = read(encoded(counts))

    assert (found[100], found[101], end) == (None, 2, len(encoded(counts)))
    assert found[98:] == (98, 99, None, 2, 2, None)


def test_several_blocks_are_one_array() -> None:
    data = encoded((1, 2))[:-1] + b"\x01\x04\x02\x06" + b"\x00"

    found, end = read(data)

    assert (tuple(found), end) == ((1, 2, 3), len(data))


@pytest.mark.parametrize("count", [3, 60])
def test_an_array_that_ends_early_is_an_error(count: int) -> None:
    decoder = AvroDecoder(encoded((300,) * count)[:-4])

    with pytest.raises(IndexError):
        read_counts(decoder)


@given(
    counts=st.lists(KNOWN | st.none(), max_size=9) | st.lists(KNOWN, min_size=48, max_size=99),
    rows=KNOWN,
)
def test_reduced_counts_tell_the_columns_of_nulls_alone(
    counts: list[int | None], rows: int
) -> None:
    whole = tuple(rows if count == rows else None for count in counts)

    for given_counts in (tuple(counts), read(encoded(tuple(counts)))[0]):
        found = whole_counts(given_counts, rows)
        assert found == (whole if rows in counts else ())


def test_which_counts_are_a_number_is_found_among_longer_ones() -> None:
    found, _ = read(encoded(tuple([64, 8192, 64 + 8192, 0] * 20)))

    assert np.flatnonzero(found.are(64)).tolist() == list(range(0, 80, 4))
    assert np.flatnonzero(found.are(8192)).tolist() == list(range(1, 80, 4))
    assert not found.are(1).any()
