"""A key as numbers and bytes has the hash and the bucket that it has as arrays."""

from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from braid.lake.format.bucket import bucket_hashes, buckets_of
from braid.lake.format.data_types import DataField
from braid.lake.format.type_codec import parse_type
from braid.lake.read.lookup.key_hash import key_hashes
from braid.lake.read.lookup.point_key import PointKeys, point_keys, point_values

TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "TINYINT": (pa.int8(), st.integers(-128, 127)),
    "SMALLINT": (pa.int16(), st.integers(-(1 << 15), (1 << 15) - 1)),
    "INT": (pa.int32(), st.integers(-(1 << 31), (1 << 31) - 1)),
    "BIGINT": (pa.int64(), st.integers(-(1 << 63), (1 << 63) - 1)),
    "DATE": (pa.date32(), st.dates()),
    "STRING": (pa.string(), st.text(st.characters(exclude_categories=["Cs"]), max_size=30)),
}


def fields_of(*types: str) -> list[DataField]:
    return [
        DataField(id=number, name=f"c{number}", type=parse_type(kind))
        for number, kind in enumerate(types)
    ]


def keys_of(*types: str) -> PointKeys:
    names = [f"c{number}" for number in range(len(types))]
    keys = point_keys(fields_of(*types), trimmed=names, bucket_keys=names)
    assert keys is not None
    return keys


@given(
    typed=st.lists(
        st.sampled_from(sorted(TYPES)).flatmap(
            lambda kind: st.tuples(st.just(kind), TYPES[kind][1])
        ),
        min_size=1,
        max_size=6,
    ),
    total=st.integers(1, 50),
)
def test_hash_bucket_and_values_are_those_of_arrays(
    typed: list[tuple[str, Any]], total: int
) -> None:
    types = [kind for kind, _ in typed]
    keys = keys_of(*types)
    arrays = [pa.array([value], TYPES[kind][0]) for kind, value in typed]

    values = keys.values_of({f"c{number}": value for number, (_, value) in enumerate(typed)})

    assert values is not None
    assert keys.hash_of(values) == int(key_hashes(arrays)[0])
    bucket = buckets_of(bucket_hashes(arrays, fields_of(*types)), total)
    assert keys.bucket_of(values, total) == int(bucket[0])
    assert list(values) == [point_values(array)[0] for array in arrays]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("INT", 1 << 31),
        ("INT", True),
        ("INT", 1.0),
        ("INT", None),
        ("DATE", datetime(2020, 1, 1)),  # noqa: DTZ001 -- a value of the wrong type
        ("STRING", b"a"),
        ("STRING", "\ud800"),
    ],
)
def test_other_values_have_no_such_form(kind: str, value: object) -> None:
    assert keys_of(kind).values_of({"c0": value}) is None


def test_a_key_of_other_columns_has_no_such_form() -> None:
    keys = keys_of("INT", "DATE")

    assert keys.values_of({"c0": 1}) is None
    assert keys.values_of({"c0": 1, "x": date(2020, 1, 1)}) is None


@pytest.mark.parametrize("kind", ["DOUBLE", "DECIMAL(10, 2)", "TIMESTAMP(3)", "BYTES", "CHAR(3)"])
def test_keys_of_other_types_are_looked_up_as_arrays(kind: str) -> None:
    assert point_keys(fields_of("INT", kind), trimmed=["c0"], bucket_keys=["c0"]) is None
