"""Bloom filters and hashes: the bytes that Java writes for the same values, and the false positive rate."""

from datetime import time
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pytest
import xxhash

from braid.lake.errors import CorruptData
from braid.lake.format.arrow_types import to_arrow_type
from braid.lake.format.indexes.bloom_filter import (
    BloomFilterBuilder,
    BloomShape,
    bloom_shape,
    decode_bloom_filter,
    encode_bloom_filter,
)
from braid.lake.format.indexes.file_index import BLOOM_FILTER, decode_file_index
from braid.lake.format.indexes.value_hash import HASHED_ROOTS, hashes_stay, value_hashes
from braid.lake.format.type_codec import parse_type

JAVA: Final = Path(__file__).with_name("data") / "file-index-1.4.2"
"""Of four rows, with 5, 6 or 7 items and a share of 0.1, 0.01 or 0.001, column after column."""

COLUMNS: Final[list[tuple[str, str, list[object]]]] = [
    ("k", "INT NOT NULL", [-5, 0, 2**31 - 1, 7]),
    ("ti", "TINYINT", [-128, 0, 127]),
    ("si", "SMALLINT", [-32_768, 0, 32_767]),
    ("bi", "BIGINT", [-(2**63), 0, 2**63 - 1]),
    ("f", "FLOAT", [-0.0, float("nan"), 1.5]),
    ("d", "DOUBLE", [-0.0, float("nan"), 1e300]),
    ("c", "CHAR(5)", ["a", "abcde", "é"]),
    ("s", "STRING", ["", "ä€😀", "x" * 37]),
    ("b", "BINARY(3)", [b"\0\1\2", b"xyz", b"\0\0\0"]),
    ("by", "BYTES", [b"", bytes(range(200)), b"0123456"]),
    ("da", "DATE", ["1969-12-31", "1970-01-01", "9999-12-31"]),
    ("t", "TIME(3)", [time(0), time(23, 59, 59, 999_000), time(12, 0, 0, 1_000)]),
    ("t0", "TIMESTAMP(0)", ["1969-12-31T23:59:59", "1970-01-01T00:00:00", "9999-12-31T23:59:59"]),
    (
        "t3",
        "TIMESTAMP(3)",
        ["1969-12-31T23:59:59.999", "2024-02-29T12:34:56.789", "0001-01-01T00:00:00.001"],
    ),
    (
        "t6",
        "TIMESTAMP(6)",
        ["1969-12-31T23:59:59.999999", "2024-02-29T12:34:56.789123", "0001-01-01T00:00:00.000001"],
    ),
    (
        "t9",
        "TIMESTAMP(9)",
        [
            "1969-12-31T23:59:59.999999999",
            "2024-02-29T12:34:56.789123456",
            "1700-01-01T00:00:00.000000001",
        ],
    ),
    (
        "l3",
        "TIMESTAMP(3) WITH LOCAL TIME ZONE",
        ["1969-12-31T23:59:59.999Z", "2024-02-29T12:34:56.789Z", "0001-01-01T00:00:00.001Z"],
    ),
    (
        "l9",
        "TIMESTAMP(9) WITH LOCAL TIME ZONE",
        [
            "1969-12-31T23:59:59.999999999Z",
            "2024-02-29T12:34:56.789123456Z",
            "1700-01-01T00:00:00.000000001Z",
        ],
    ),
    ("naïve\0😀", "STRING", ["x", "y", "z"]),
]


def typed(values: list[object], arrow_type: pa.DataType) -> pa.Array:
    if isinstance(values[0], str) and not pa.types.is_string(arrow_type):
        return pa.array(values, pa.string()).cast(arrow_type)
    return pa.array(values, arrow_type)


def numbers_hashes(first: int, last: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return value_hashes(pa.array(np.arange(first, last)), parse_type("BIGINT"))


def built(rows: int, *, fpp: float, items: int | None = None) -> BloomFilterBuilder:
    builder = BloomFilterBuilder(fpp=fpp, items=items)
    for first in range(0, rows, 100_000):
        builder.add(numbers_hashes(first, min(rows, first + 100_000)))
    return builder


@pytest.mark.parametrize(
    ("place", "column"), list(enumerate(COLUMNS)), ids=[name for name, _, _ in COLUMNS]
)
def test_filters_are_what_java_writes(place: int, column: tuple[str, str, list[object]]) -> None:
    name, text, values = column
    data_type = parse_type(text)
    array = typed([*values, None], to_arrow_type(data_type))
    builder = BloomFilterBuilder(fpp=[0.1, 0.01, 0.001][place % 3], items=5 + place % 3)

    for chunk in (array[:1], array[1:2], array[2:]):
        builder.add(value_hashes(chunk, data_type))

    body = decode_file_index(JAVA.read_bytes())[name][BLOOM_FILTER]
    assert body is not None
    assert encode_bloom_filter(builder.finish()) == bytes(body)
    assert decode_bloom_filter(body).may_have(value_hashes(array, data_type)).all()


def test_every_type_with_a_hash_is_compared_with_java() -> None:
    roots = {parse_type(text).root for _, text, _ in COLUMNS}

    assert roots == HASHED_ROOTS


def test_hashes_of_a_chunked_column_are_in_its_order() -> None:
    kind = parse_type("STRING")
    column = pa.chunked_array([["a", None], [], ["b"]], pa.string())

    expected = [xxhash.xxh64_intdigest(b"a"), xxhash.xxh64_intdigest(b"b")]
    assert value_hashes(column, kind).tolist() == expected
    assert value_hashes(column.slice(1), kind).tolist() == expected[1:]
    assert value_hashes(pa.chunked_array([], pa.string()), kind).tolist() == []


@pytest.mark.parametrize(
    ("items", "fpp", "shape"),
    [
        (1_000_000, 0.1, BloomShape(bits=4_792_536, functions=3)),
        (1, 0.1, BloomShape(bits=8, functions=6)),
        (100, 0.01, BloomShape(bits=960, functions=7)),
        (1, 0.999, BloomShape(bits=8, functions=6)),
    ],
)
def test_a_shape_is_that_of_the_format(items: int, fpp: float, shape: BloomShape) -> None:
    assert bloom_shape(items, fpp) == shape


@pytest.mark.parametrize(
    ("rows", "fpp", "largest"),
    [(1_000, 0.1, 600), (50_000, 0.01, 59_907), (1_500_000, 0.1, 1_256_334)],
)
def test_a_filter_is_as_large_as_its_values_need(rows: int, fpp: float, largest: int) -> None:
    bloom = built(rows, fpp=fpp).finish()

    assert bloom.may_have(numbers_hashes(0, rows)).all()
    # The share of 50 000 absent values is within four standard deviations of the declared one.
    absent = bloom.may_have(numbers_hashes(rows, rows + 50_000)).mean()
    assert absent < fpp + 4 * (fpp / 50_000) ** 0.5
    assert len(bloom.data) == largest


def test_repeated_values_take_no_room() -> None:
    builder = BloomFilterBuilder(fpp=0.1)
    for _ in range(30):
        builder.add(numbers_hashes(0, 100_000) % np.uint64(10))

    assert len(builder.finish().data) == 10


def test_a_declared_number_of_items_determines_the_size() -> None:
    few, many = built(10, fpp=0.1, items=1_000), built(1_200_000, fpp=0.1, items=1_000)

    assert len(few.finish().data) == 600
    full = many.finish()
    assert len(full.data) == 600
    assert full.may_have(numbers_hashes(0, 1_200_000)).all()


def test_a_sparse_filter_has_the_bits_of_a_dense_one() -> None:
    rows = 4_000
    sparse = built(rows, fpp=0.1, items=1_000_000).finish()
    dense = BloomFilterBuilder(fpp=0.1, items=1_000_000)
    # Enough for the other way to set bits.
    dense.add(np.concatenate([numbers_hashes(0, rows)] * 10 + [numbers_hashes(0, 200_000)]))

    filled = dense.finish()
    assert filled.may_have(numbers_hashes(0, 200_000)).all()
    assert ((sparse.data & filled.data) == sparse.data).all()


def test_a_filter_without_values_has_none() -> None:
    bloom = BloomFilterBuilder(fpp=0.1).finish()

    assert not bloom.may_have(numbers_hashes(0, 1_000)).any()


@pytest.mark.parametrize("body", ["", "00000003", "00000000ff", "ffffffffff", "00000080ff"])
def test_an_invalid_body_is_reported(body: str) -> None:
    with pytest.raises(CorruptData, match="a bloom filter has"):
        decode_bloom_filter(bytes.fromhex(body))


@pytest.mark.parametrize(
    ("old", "new", "stay"),
    [
        ("INT", "INT NOT NULL", True),
        ("TINYINT", "BIGINT", True),
        ("BIGINT", "INT", False),
        ("VARCHAR(3)", "STRING", True),
        ("STRING", "VARCHAR(3)", False),
        ("BYTES", "BYTES", True),
        ("CHAR(3)", "CHAR(3) NOT NULL", True),
        ("CHAR(3)", "CHAR(4)", False),
        ("CHAR(3)", "STRING", False),
        ("INT", "STRING", False),
        ("FLOAT", "DOUBLE", False),
        ("FLOAT", "FLOAT", True),
        ("TIMESTAMP(3)", "TIMESTAMP(6)", False),
        ("TIMESTAMP(6)", "TIMESTAMP(6)", True),
        ("DATE", "TIMESTAMP(3)", False),
        ("BOOLEAN", "BOOLEAN", False),
        ("DECIMAL(5, 2)", "DECIMAL(5, 2)", False),
    ],
)
def test_hashes_stay_where_no_value_changes(old: str, new: str, stay: bool) -> None:
    assert hashes_stay(parse_type(old), parse_type(new)) is stay
