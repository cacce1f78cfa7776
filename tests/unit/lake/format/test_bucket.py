from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from braid.lake.errors import UnsupportedFeature
from braid.lake.format.arrow_types import to_arrow_type
from braid.lake.format.binary_row import encode_row
from braid.lake.format.bucket import assign_buckets, bucket_hashes, buckets_of
from braid.lake.format.data_types import DataField
from braid.lake.format.schema import TableSchema
from braid.lake.format.type_codec import parse_type

# table-format 11: hash, then bucket for 2, 3, 4, 7, 16 and 100 buckets.
WORKED_HASHES: Sequence[tuple[Sequence[str], Sequence[object], int, Sequence[int]]] = [
    (["INT"], [0], -300363099, [1, 0, 3, 1, 11, 99]),
    (["BIGINT"], [0], -300363099, [1, 0, 3, 1, 11, 99]),
    (["INT"], [1], 1465514398, [0, 1, 2, 5, 14, 98]),
    (["BIGINT"], [1], 1465514398, [0, 1, 2, 5, 14, 98]),
    (["BOOLEAN"], [True], 1465514398, [0, 1, 2, 5, 14, 98]),
    (["INT"], [42], 907821237, [1, 0, 1, 1, 5, 37]),
    (["INT"], [-1], 1133687267, [1, 2, 3, 6, 3, 67]),
    (["INT"], [2147483647], -1125657321, [1, 0, 1, 5, 9, 21]),
    (["INT"], [None], -1748325344, [0, 2, 0, 3, 0, 44]),
    (["BIGINT"], [-1], -821098432, [0, 1, 0, 0, 0, 32]),
    (["BIGINT"], [10000000000], 1891290426, [0, 0, 2, 4, 10, 26]),
    (["STRING"], [""], 302122119, [1, 0, 3, 5, 7, 19]),
    (["STRING"], ["a"], 943281246, [0, 0, 2, 5, 14, 46]),
    (["STRING"], ["abcdefg"], -1431907323, [1, 0, 3, 0, 11, 23]),
    (["STRING"], ["abcdefgh"], -843760178, [0, 2, 2, 2, 2, 78]),
    (["STRING"], ["hello world, paimon"], -2034202288, [0, 1, 0, 6, 0, 88]),
    (["STRING"], ["é中"], -1523287501, [1, 1, 1, 1, 13, 1]),
    (["INT", "STRING"], [7, "x"], -1252423430, [0, 2, 2, 6, 6, 30]),
    (["BIGINT", "STRING"], [3, "a long string key"], 389911934, [0, 2, 2, 6, 14, 34]),
    (
        ["STRING", "INT", "STRING"],
        ["user-000001", 5, "region-eu-west"],
        -1895064094,
        [0, 1, 2, 0, 14, 94],
    ),
    (["DATE"], [19724], 1827046836, [0, 0, 0, 6, 4, 36]),
    (["TIMESTAMP(3)"], [1704164645678], 1606355323, [1, 1, 3, 6, 11, 23]),
    (["TIMESTAMP(6)"], [1704164645678901], 828821739, [1, 0, 3, 4, 11, 39]),
    (["DECIMAL(10, 2)"], [Decimal("12.34")], -1096042293, [1, 0, 1, 3, 5, 93]),
    (["DECIMAL(30, 2)"], [Decimal("12.34")], -531788649, [1, 0, 1, 0, 9, 49]),
    (["TINYINT"], [-3], -1390933618, [0, 1, 2, 4, 2, 18]),
    (["SMALLINT"], [-3], -39835426, [0, 1, 2, 1, 2, 26]),
    (["FLOAT"], [1.5], -173842779, [1, 0, 3, 5, 11, 79]),
    (["DOUBLE"], [1.5], 1860889473, [1, 0, 1, 2, 1, 73]),
    (["BYTES"], [b"\x01\x02"], -308248439, [1, 2, 3, 2, 7, 39]),
]
SCHEMA = TableSchema(
    id=0,
    fields=(
        DataField(id=0, name="k", type=parse_type("BIGINT NOT NULL")),
        DataField(id=1, name="s", type=parse_type("STRING NOT NULL")),
        DataField(id=2, name="v", type=parse_type("INT")),
    ),
    highest_field_id=2,
    partition_keys=(),
    primary_keys=("k", "s"),
    options={"bucket": "7"},
)


def _scalar_hash(row: bytes) -> int:
    """Murmur3 of a serialised row as the specification writes it, one word after the other."""
    mask, state, data = 0xFFFFFFFF, 42, row[4:]
    for index in range(0, len(data), 4):
        word = int.from_bytes(data[index : index + 4], "little") * 0xCC9E2D51 & mask
        word = (word << 15 | word >> 17) & mask
        state ^= word * 0x1B873593 & mask
        state = (state << 13 | state >> 19) & mask
        state = (state * 5 + 0xE6546B64) & mask
    state ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        state = (state ^ state >> shift) * factor & mask
    return state - (1 << 32) if state >> 31 else state


@pytest.mark.parametrize(
    ("types", "values", "expected", "buckets"),
    WORKED_HASHES,
    ids=[str(h[:2]) for h in WORKED_HASHES],
)
def test_hashes_and_buckets_are_those_of_java(
    types: Sequence[str], values: Sequence[object], expected: int, buckets: Sequence[int]
) -> None:
    parsed = [parse_type(text) for text in types]
    arrays = [
        pa.array([value], to_arrow_type(type_)) for value, type_ in zip(values, parsed, strict=True)
    ]

    hashes = bucket_hashes(arrays, parsed)

    assert hashes.tolist() == [expected]
    assert hashes.dtype == np.int32
    assert [int(buckets_of(hashes, count)[0]) for count in (2, 3, 4, 7, 16, 100)] == buckets


@pytest.mark.parametrize("row_count", [1, 15, 16, 17, 1000, 40_000])
def test_rows_of_all_lengths_hash_as_one_by_one(row_count: int) -> None:
    types = [parse_type("STRING"), parse_type("INT"), parse_type("BYTES")]
    random = np.random.default_rng(row_count)
    lengths = np.minimum(random.geometric(0.05, row_count), 200)
    texts = [None if n % 11 == 0 else "é" * n for n in lengths.tolist()]
    numbers = [None if n % 7 == 0 else n for n in lengths.tolist()]
    blobs = [bytes(n // 3) for n in lengths.tolist()]

    hashes = bucket_hashes([pa.array(texts), pa.array(numbers, pa.int32()), pa.array(blobs)], types)

    for row in range(0, row_count, max(1, row_count // 50)):
        encoded = encode_row([texts[row], numbers[row], blobs[row]], types)
        assert hashes[row] == _scalar_hash(encoded), row


def test_one_very_long_key_among_short_ones_hashes_right() -> None:
    types = [parse_type("STRING")]
    texts = ["a"] * 20 + ["x" * 10_001]

    hashes = bucket_hashes([pa.array(texts)], types)

    assert hashes[-1] == _scalar_hash(encode_row(texts[-1:], types))
    assert set(hashes[:-1].tolist()) == {943281246}


def test_slices_chunks_and_order_make_no_difference() -> None:
    types = [parse_type("STRING"), parse_type("BIGINT")]
    texts, numbers = pa.array(["a", None, "c" * 9, "d"]), pa.array([1, 2, None, 4])
    expected = bucket_hashes([texts, numbers], types)

    assert (bucket_hashes([texts.slice(1), numbers.slice(1)], types) == expected[1:]).all()
    chunked = pa.chunked_array([numbers.slice(0, 3), numbers.slice(3)])
    assert (bucket_hashes([texts, chunked], types) == expected).all()


def test_no_rows_have_no_hashes() -> None:
    assert bucket_hashes([pa.array([], pa.int64())], [parse_type("BIGINT")]).shape == (0,)


def test_the_least_hash_has_a_bucket() -> None:
    assert buckets_of(np.array([-(2**31)], dtype=np.int32), 7).tolist() == [2**31 % 7]


def test_rows_are_routed_by_the_bucket_key_alone() -> None:
    table = pa.table({"v": [1, 2], "s": ["a", "b"], "k": [3, 3]})
    by_key = assign_buckets(table, SCHEMA)
    by_column = assign_buckets(table, replace(SCHEMA, options={"bucket": "7", "bucket-key": "k"}))

    fields = [SCHEMA.field("k"), SCHEMA.field("s")]
    hashes = bucket_hashes([table["k"], table["s"]], fields)
    assert by_key.tolist() == buckets_of(hashes, 7).tolist()
    assert by_column[0] == by_column[1]
    assert by_key.dtype == np.int32


def test_a_record_batch_is_routed_as_well() -> None:
    table = pa.table({"k": [1, 2, 3], "s": ["a", "b", "c"]})
    (batch,) = table.to_batches()

    assert assign_buckets(batch, SCHEMA).tolist() == assign_buckets(table, SCHEMA).tolist()


def test_a_single_bucket_takes_every_row() -> None:
    schema = replace(SCHEMA, options={"bucket": "1"})

    assert assign_buckets(pa.table({"k": [1, 2], "s": ["a", "b"]}), schema).tolist() == [0, 0]


@pytest.mark.parametrize(
    "options", [{"bucket": "-1"}, {"bucket": "4", "bucket-function.type": "mod"}]
)
def test_other_routing_is_unsupported(options: dict[str, str]) -> None:
    with pytest.raises(UnsupportedFeature, match="cannot be routed"):
        assign_buckets(pa.table({"k": [1], "s": ["a"]}), replace(SCHEMA, options=options))


@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE"])
def test_all_nans_share_a_bucket_and_the_zeros_do_not(kind: str) -> None:
    dtype = to_arrow_type(parse_type(kind)).to_pandas_dtype()
    nan = dtype(np.nan)
    column = pa.array(np.array([nan, -nan, 0.0, -0.0], dtype=dtype))

    nan_hash, other, zero, minus_zero = bucket_hashes([column], [parse_type(kind)]).tolist()

    assert np.signbit(np.asarray(column)).tolist() == [False, True, False, True]
    assert nan_hash == other
    assert zero != minus_zero
