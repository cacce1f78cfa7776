"""A footer can declare INT96 for columns that were written as 12 bytes."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from braid.lake.files.parquet.int96 import (
    INT96_STORAGE,
    fits_nanoseconds,
    holds_int96,
    is_int96,
    to_int96_storage,
)
from braid.lake.files.parquet.int96_file import with_revealed_int96
from tests.unit.lake.files.given_data_files import declared


@pytest.mark.parametrize(
    ("nanos", "expected"),
    [
        (0, bytes(8) + (2_440_588).to_bytes(4, "little")),
        (1, (1).to_bytes(8, "little") + (2_440_588).to_bytes(4, "little")),
        (-1, (86_399_999_999_999).to_bytes(8, "little") + (2_440_587).to_bytes(4, "little")),
        (86_400_000_000_000, bytes(8) + (2_440_589).to_bytes(4, "little")),
    ],
)
def test_storage_is_nanoseconds_of_the_day_then_julian_day(nanos: int, expected: bytes) -> None:
    column = pa.chunked_array([pa.array([nanos], pa.timestamp("ns"))])

    assert to_int96_storage(column).to_pylist() == [expected]


def test_nulls_stay_null_in_every_chunk() -> None:
    chunks = [[None, 5], [], [None], [7]]
    column = pa.chunked_array([pa.array(chunk, pa.timestamp("ns")) for chunk in chunks])

    stored = to_int96_storage(column.slice(1))

    assert stored.type.equals(INT96_STORAGE)
    assert stored.is_null().to_pylist() == [False, True, False]


@pytest.mark.parametrize("dictionary", [True, False])
def test_the_declared_file_reads_as_timestamps(*, dictionary: bool) -> None:
    column = pa.chunked_array([pa.array([5, None, 5, -7], pa.timestamp("ns"))])
    table = pa.table({"t": to_int96_storage(column), "i": pa.array([1, 2, 3, 4])})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, use_dictionary=dictionary, row_group_size=2, store_schema=False)

    file = pq.ParquetFile(declared(sink.getvalue(), {"t"}))

    assert file.schema.column(0).physical_type == "INT96"
    assert file.schema.column(1).physical_type == "INT64"
    assert file.metadata.row_group(1).column(0).statistics is None
    assert file.read().column("t").combine_chunks().equals(column.combine_chunks())
    assert file.read().column("i").to_pylist() == [1, 2, 3, 4]


NANOS = pa.timestamp("ns")
NESTED: list[tuple[pa.DataType, list[object]]] = [
    (pa.list_(NANOS), [[5, None], None, [], [-7]]),
    (pa.struct([("t", NANOS), ("d", pa.decimal128(28, 0))]), [{"t": 5}, None, {"d": 7}, {}]),
    (pa.map_(pa.string(), NANOS), [[("a", 5)], None, [], [("b", None), ("c", 1)]]),
    (pa.map_(NANOS, pa.string()), [[(5, "a")], None, [], [(-1, None)]]),
    (
        pa.list_(pa.struct([("m", pa.map_(NANOS, pa.list_(NANOS)))])),
        [[{"m": [(5, [1, None])]}, None], None, [], [{"m": None}, {"m": [(0, None)]}]],
    ),
]


@pytest.mark.parametrize(("kind", "values"), NESTED, ids=[str(kind) for kind, _ in NESTED])
def test_nested_timestamps_are_declared_where_they_are(
    kind: pa.DataType, values: list[object]
) -> None:
    whole = pa.array([None, *values, None], kind)
    column = pa.chunked_array([whole[1:3], whole[3:5]])
    table = pa.table({"c": to_int96_storage(column), "t": pa.array([b"x" * 12] * 4, INT96_STORAGE)})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=3, store_schema=False)

    file = declared(sink.getvalue(), {"c"})

    assert pq.read_table(file).column("c").to_pylist() == column.to_pylist()
    assert pq.read_table(file).column("t").to_pylist() == [b"x" * 12] * 4
    stored = pq.read_table(with_revealed_int96(pa.BufferReader(file), {"c"}))
    assert stored.column("c").to_pylist() == table.column("c").to_pylist()
    assert all(fits_nanoseconds(chunk) for chunk in stored.column("c").chunks)


def test_a_nested_time_beyond_64_bits_does_not_fit_unless_no_value_holds_it() -> None:
    far = packed(EDGES[0] + 1, 0)
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), far)
    row = pa.StructArray.from_arrays([lists], names=["a"])
    entries = pa.MapArray.from_arrays(pa.array([0, 1, 2], pa.int32()), pa.array([1, 2]), far)

    for nested in (lists, row, entries):
        assert not fits_nanoseconds(nested)
        assert fits_nanoseconds(nested.slice(0, 1))


def test_only_nanoseconds_are_int96() -> None:
    assert holds_int96(pa.map_(pa.int32(), pa.list_(pa.timestamp("ns"))))
    assert not holds_int96(pa.struct([("t", pa.timestamp("us"))]))
    assert is_int96(pa.timestamp("ns", "UTC"))
    assert not is_int96(pa.timestamp("us"))
    assert not is_int96(pa.int64())


EDGES = [(1 << 63) - 1, -(1 << 63)]


@pytest.mark.parametrize("nanos", [*EDGES, 0])
def test_every_nanosecond_of_64_bits_fits(nanos: int) -> None:
    assert fits_nanoseconds(packed(nanos, 0))


@pytest.mark.parametrize("is_day_rounded_towards_the_epoch", [False, True])
def test_one_nanosecond_beyond_64_bits_does_not_fit(is_day_rounded_towards_the_epoch: bool) -> None:
    shift = int(is_day_rounded_towards_the_epoch)

    assert not fits_nanoseconds(packed(EDGES[0] + 1, shift))
    assert not fits_nanoseconds(packed(EDGES[1] - 1, shift))
    assert fits_nanoseconds(packed(EDGES[1], shift))


def packed(nanos: int, shift_days: int) -> pa.Array:
    """Return one time as INT96 storage after a null, its day moved on and the rest moved back."""
    days, rest = divmod(nanos, 86_400_000_000_000)
    rest -= shift_days * 86_400_000_000_000
    day = (days + shift_days + 2_440_588).to_bytes(4, "little")
    return pa.array([None, rest.to_bytes(8, "little", signed=True) + day], INT96_STORAGE)
