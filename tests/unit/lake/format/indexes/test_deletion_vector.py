"""Deletion vectors: the bytes that Java writes, both kinds, and every kind of damage."""

import zlib
from dataclasses import replace

import pytest
from pyroaring import BitMap, FrozenBitMap

from braid.lake.errors import CorruptData, UnsupportedFeature
from braid.lake.format.indexes.deletion_vector import (
    decode_deletion_vectors,
    encode_deletion_vectors,
)
from braid.lake.format.indexes.index_manifest import DeletionVectorRange

JAVA_64 = bytes.fromhex(
    "01 00000022 d1d33964 0100000000000000 00000000"
    "3a300000 01000000 0000 0000 10000000 0100 eebd85f4"
)
"""A whole file of Java's: row 1 of one data file, 64 bits (table-format 14)."""

IS_64_BIT = pytest.mark.parametrize("is_64_bit", [False, True], ids=["32 bits", "64 bits"])


def place(
    *, offset: int = 1, length: int = 42, cardinality: int | None = None
) -> DeletionVectorRange:
    return DeletionVectorRange(
        data_file_name="d", offset=offset, length=length, cardinality=cardinality
    )


def test_a_file_of_64_bits_is_what_java_writes() -> None:
    data, ranges = encode_deletion_vectors({"d": BitMap([1])}, is_64_bit=True)

    assert data == JAVA_64
    # With size and checksum, unlike that of 32 bits.
    assert ranges == (place(length=42, cardinality=1),)


def test_the_length_in_32_bits_leaves_out_size_and_checksum() -> None:
    data, ranges = encode_deletion_vectors({"d": BitMap([1])}, is_64_bit=False)

    assert ranges == (place(length=len(data) - 9, cardinality=1),)


@IS_64_BIT
def test_vectors_come_back(is_64_bit: bool) -> None:
    vectors = {
        "b": BitMap([0, 7, 65_535, 65_536, 2**32 - 1]),
        "a": BitMap(range(100_000)),
        "c": FrozenBitMap(range(0, 200_000, 3)),
    }

    data, ranges = encode_deletion_vectors(vectors, is_64_bit=is_64_bit)

    assert decode_deletion_vectors(data, ranges) == vectors
    assert [entry.data_file_name for entry in ranges] == ["a", "b", "c"]
    # Any choice of them, for each is found by its range.
    assert decode_deletion_vectors(data, ranges[1:2]) == {"b": vectors["b"]}


def test_one_file_may_hold_both_kinds() -> None:
    old, old_ranges = encode_deletion_vectors({"a": BitMap([3])}, is_64_bit=False)
    new, new_ranges = encode_deletion_vectors({"b": BitMap([4])}, is_64_bit=True)
    moved = [replace(entry, offset=entry.offset + len(old) - 1) for entry in new_ranges]

    found = decode_deletion_vectors(old + new[1:], [*old_ranges, *moved])

    assert found == {"a": BitMap([3]), "b": BitMap([4])}


def test_encoding_does_not_change_its_argument() -> None:
    vector = BitMap(range(1_000), optimize=False)
    before = vector.serialize()

    encode_deletion_vectors({"d": vector}, is_64_bit=False)

    assert vector.serialize() == before


def test_a_vector_of_64_bits_may_be_empty() -> None:
    body = JAVA_64[5:9] + bytes(8)
    data = b"\x01" + len(body).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")

    assert decode_deletion_vectors(data, [place(length=len(body) + 8)]) == {"d": FrozenBitMap()}


@IS_64_BIT
def test_every_damaged_byte_is_detected(is_64_bit: bool) -> None:
    data, ranges = encode_deletion_vectors({"d": BitMap([1, 5, 9])}, is_64_bit=is_64_bit)

    for index in range(len(data)):
        damaged = bytearray(data)
        damaged[index] ^= 0x10
        with pytest.raises((CorruptData, UnsupportedFeature)):
            decode_deletion_vectors(bytes(damaged), ranges)


@IS_64_BIT
def test_every_truncation_is_detected(is_64_bit: bool) -> None:
    data, ranges = encode_deletion_vectors({"d": BitMap([1, 5, 9])}, is_64_bit=is_64_bit)

    for length in range(len(data)):
        with pytest.raises(CorruptData):
            decode_deletion_vectors(data[:length], ranges)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (place(offset=0), "in a file of"),
        (place(offset=2), "in a file of"),
        (place(length=34), "has 42 bytes, its entry says 34"),
        (place(cardinality=2), "marks 1 rows, its entry says 2"),
    ],
)
def test_an_entry_that_does_not_fit_is_corrupt(entry: DeletionVectorRange, said: str) -> None:
    with pytest.raises(CorruptData, match=said):
        decode_deletion_vectors(JAVA_64, [entry])


def with_body(body: bytes) -> bytes:
    return b"\x01" + len(body).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"abcd" + JAVA_64[9:-4], "unknown magic 61626364"),
        (bytes.fromhex("5e43f2d0"), "no bitmap"),
        (bytes.fromhex("5e43f2d0") + b"garbage", "no bitmap"),
    ],
)
def test_an_invalid_body_is_corrupt(body: bytes, said: str) -> None:
    with pytest.raises(CorruptData, match=said):
        decode_deletion_vectors(with_body(body), [place(length=len(body))])


@pytest.mark.parametrize("keys", [(1,), (0, 1)])
def test_positions_beyond_32_bits_are_refused(keys: tuple[int, ...]) -> None:
    body = JAVA_64[5:9] + len(keys).to_bytes(8, "little")
    for key in keys:
        body += key.to_bytes(4, "little") + BitMap([1]).serialize()

    with pytest.raises(UnsupportedFeature, match="beyond the 2\\^32th"):
        decode_deletion_vectors(with_body(body), [place(length=len(body) + 8)])


def test_another_version_is_refused() -> None:
    with pytest.raises(UnsupportedFeature, match="version 02, expected 01"):
        decode_deletion_vectors(b"\x02" + JAVA_64[1:], [place()])
