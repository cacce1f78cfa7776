"""Parquet data files: their content, byte for byte where the format prescribes it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, time
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from braid.lake.errors import CorruptData, StorageUnavailable, UnsupportedFeature
from braid.lake.files.data_files import (
    DataFileReader,
    ReadCounters,
    RowGroupFilter,
    null_columns,
)
from braid.lake.files.parquet.bounds import ColumnBounds
from braid.lake.files.parquet.int96 import INT96_STORAGE
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.binary_row import EMPTY_ROW
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.schema import TableSchema
from braid.lake.format.statistics import EMPTY_STATS, collect_statistics
from braid.lake.format.system_columns import SEQUENCE_NUMBER_FIELD, VALUE_KIND_FIELD
from tests.given_tables import given_rows, given_schema
from tests.unit.lake.files.given_data_files import declared, write_data_file

PATH = "/t/bucket-0/data-0.parquet"

ALL_TYPES = {
    "k": "INT",
    "boolean": "BOOLEAN",
    "tiny": "TINYINT",
    "small": "SMALLINT",
    "big": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "decimal9": "DECIMAL(9, 2)",
    "decimal18": "DECIMAL(18, 2)",
    "decimal38": "DECIMAL(38, 3)",
    "text": "STRING",
    "bytes": "BYTES",
    "date": "DATE",
    "time": "TIME(3)",
    "t0": "TIMESTAMP(0)",
    "t3": "TIMESTAMP(3)",
    "t6": "TIMESTAMP(6)",
    "t9": "TIMESTAMP(9)",
    "z3": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "z6": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    "z9": "TIMESTAMP(9) WITH LOCAL TIME ZONE",
    "list": {"type": "ARRAY", "element": "INT"},
    "map": {"type": "MAP", "key": "STRING", "value": "BIGINT"},
    "bag": {"type": "MULTISET", "element": "STRING"},
    "row": {
        "type": "ROW",
        "fields": [{"id": 0, "name": "a", "type": "INT"}, {"id": 0, "name": "b", "type": "STRING"}],
    },
}
STAMP = datetime(2024, 1, 2, 3, 4, 5, 678_000)  # noqa: DTZ001 - the type has no zone
VALUES = [
    True,
    -1,
    -300,
    2**40,
    1.5,
    -2.25,
    Decimal("1234567.89"),
    Decimal("-1.25"),
    Decimal("12345678901234567890.125"),
    "é中",
    b"\x00\xff",
    date(1969, 12, 31),
    time(23, 59, 59, 999_000),
    STAMP.replace(microsecond=0),
    STAMP,
    STAMP.replace(microsecond=678_901),
    STAMP.replace(microsecond=678_901),
    STAMP.replace(tzinfo=UTC),
    STAMP.replace(microsecond=678_901, tzinfo=UTC),
    STAMP.replace(microsecond=678_901, tzinfo=UTC),
    [1, None, 3],
    [("a", 1), ("b", None)],
    [("x", 2)],
    {"a": 1, "b": None},
]


def key_value_schema(schema: TableSchema, columns: Sequence[str]) -> pa.Schema:
    """Return the Arrow schema of key-value batches with the named table columns."""
    table_schema = schema.arrow_schema
    return pa.schema(
        [SEQUENCE_NUMBER_FIELD, VALUE_KIND_FIELD, *(table_schema.field(name) for name in columns)]
    )


def key_value(schema: TableSchema, rows: list[list[object]], *, first: int = 0) -> pa.Table:
    """Return rows as a key-value table, numbered from `first`, all +I."""
    table = given_rows(schema, rows)
    numbers = pa.array(np.arange(first, first + len(rows)))
    kinds = pa.array(np.zeros(len(rows), dtype=np.int8))
    target = key_value_schema(schema, schema.field_names)
    return pa.Table.from_arrays([numbers, kinds, *table.columns], schema=target)


def describe(schema: TableSchema, table: pa.Table, *, row_count: int | None = None) -> DataFileMeta:
    """Return metadata of a file with the table's value statistics."""
    return DataFileMeta(
        file_name="data-0.parquet",
        file_size=0,
        row_count=table.num_rows if row_count is None else row_count,
        min_key=EMPTY_ROW,
        max_key=EMPTY_ROW,
        key_stats=EMPTY_STATS,
        value_stats=collect_statistics(table, schema.fields, truncate=16),
        min_sequence_number=0,
        max_sequence_number=0,
        schema_id=0,
        level=0,
    )


def read_back(
    file_io: MemoryFileIO, schema: TableSchema, meta: DataFileMeta, columns: list[str]
) -> pa.Table:
    """Read the file at PATH."""
    reader = DataFileReader(file_io, PATH, file_meta=meta, schema=schema)
    target = key_value_schema(schema, columns)
    return pa.Table.from_batches(reader.batches(columns), schema=target)


@pytest.fixture
def file_io() -> MemoryFileIO:
    """An empty storage."""
    return MemoryFileIO()


def leaf_columns(file_io: MemoryFileIO) -> dict[str, pq.ColumnSchema]:
    """Return the Parquet leaves of the file at PATH by path."""
    schema = pq.ParquetFile(file_io.open_input(PATH)).schema
    return {schema.column(index).path: schema.column(index) for index in range(len(schema))}


def test_every_type_comes_back_as_it_went_in(file_io: MemoryFileIO) -> None:
    schema = given_schema(ALL_TYPES, key=["k"])
    nulls: list[object] = [None] * len(VALUES)
    table = key_value(schema, [[1, *VALUES], [2, *nulls], [3, *VALUES]])
    write_data_file(file_io, PATH, table, schema)

    found = read_back(file_io, schema, describe(schema, table), list(schema.field_names))

    assert found.equals(table)
    assert found.schema.equals(table.schema)


@pytest.mark.parametrize(
    ("column", "physical", "logical"),
    [
        ("k", "INT32", "None"),
        ("_KEY_k", "INT32", "None"),
        ("_SEQUENCE_NUMBER", "INT64", "None"),
        ("_VALUE_KIND", "INT32", "Int(bitWidth=8, isSigned=true)"),
        ("boolean", "BOOLEAN", "None"),
        ("tiny", "INT32", "Int(bitWidth=8, isSigned=true)"),
        ("small", "INT32", "Int(bitWidth=16, isSigned=true)"),
        ("big", "INT64", "None"),
        ("float", "FLOAT", "None"),
        ("double", "DOUBLE", "None"),
        ("decimal9", "INT32", "Decimal(precision=9, scale=2)"),
        ("decimal18", "INT64", "Decimal(precision=18, scale=2)"),
        ("decimal38", "FIXED_LEN_BYTE_ARRAY", "Decimal(precision=38, scale=3)"),
        ("text", "BYTE_ARRAY", "String"),
        ("bytes", "BYTE_ARRAY", "None"),
        ("date", "INT32", "Date"),
        ("time", "INT32", "Time(isAdjustedToUTC=true, timeUnit=milliseconds)"),
        ("t0", "INT64", "Timestamp(isAdjustedToUTC=false, timeUnit=milliseconds"),
        ("t3", "INT64", "Timestamp(isAdjustedToUTC=false, timeUnit=milliseconds"),
        ("t6", "INT64", "Timestamp(isAdjustedToUTC=false, timeUnit=microseconds"),
        ("t9", "INT96", "None"),
        ("z3", "INT64", "Timestamp(isAdjustedToUTC=true, timeUnit=milliseconds"),
        ("z6", "INT64", "Timestamp(isAdjustedToUTC=true, timeUnit=microseconds"),
        ("z9", "INT96", "None"),
        ("list.list.element", "INT32", "None"),
        ("map.key_value.key", "BYTE_ARRAY", "String"),
        ("map.key_value.value", "INT64", "None"),
        ("bag.key_value.value", "INT32", "None"),
        ("row.a", "INT32", "None"),
    ],
)
def test_physical_type(file_io: MemoryFileIO, column: str, physical: str, logical: str) -> None:
    schema = given_schema(ALL_TYPES, key=["k"])
    write_data_file(file_io, PATH, key_value(schema, [[1, *VALUES]]), schema)

    leaf = leaf_columns(file_io)[column]

    assert leaf.physical_type == physical
    assert str(leaf.logical_type).startswith(logical)


def test_files_carry_the_field_ids_of_the_format(file_io: MemoryFileIO) -> None:
    columns = {
        "k": "INT",
        "list": {"type": "ARRAY", "element": "INT"},
        "map": {"type": "MAP", "key": "STRING", "value": "BIGINT"},
    }
    schema = given_schema(columns, key=["k"])
    table = key_value(schema, [[1, [1], [("a", 1)]]])
    write_data_file(file_io, PATH, table, schema)

    stored = pq.ParquetFile(file_io.open_input(PATH)).schema_arrow

    def field_id(field: pa.Field) -> int:
        return int(field.metadata[b"PARQUET:field_id"])

    assert {field.name: field_id(field) for field in stored} == {
        "_KEY_k": 1_073_741_823,
        "_SEQUENCE_NUMBER": 2_147_483_646,
        "_VALUE_KIND": 2_147_483_645,
        "k": 0,
        "list": 1,
        "map": 2,
    }
    assert field_id(stored.field("list").type.value_field) == 536_870_911 + 1024 + 1
    assert field_id(stored.field("map").type.key_field) == 536_870_911 - 2 * 1024 - 1
    assert field_id(stored.field("map").type.item_field) == 536_870_911 + 2 * 1024 + 1


def test_key_system_and_not_null_columns_are_required(file_io: MemoryFileIO) -> None:
    schema = given_schema({"k": "INT", "a": "INT NOT NULL", "b": "INT"}, key=["k"])
    write_data_file(file_io, PATH, key_value(schema, [[1, 2, 3]]), schema)

    found = {name: leaf.max_definition_level for name, leaf in leaf_columns(file_io).items()}

    required = dict.fromkeys(["_KEY_k", "_SEQUENCE_NUMBER", "_VALUE_KIND", "k", "a"], 0)
    assert found == {**required, "b": 1}


def test_thin_mode_leaves_the_copies_of_the_key_out(file_io: MemoryFileIO) -> None:
    options = {"data-file.thin-mode": "true"}
    schema = given_schema({"k": "INT", "v": "INT"}, key=["k"], options=options)
    write_data_file(file_io, PATH, key_value(schema, [[1, 2]]), schema)

    assert list(leaf_columns(file_io)) == ["_SEQUENCE_NUMBER", "_VALUE_KIND", "k", "v"]


def test_file_size_is_exact(file_io: MemoryFileIO) -> None:
    schema = given_schema({"k": "INT", "t": "TIMESTAMP(9)"}, key=["k"])
    written = write_data_file(file_io, PATH, key_value(schema, [[1, STAMP]]), schema)

    assert written.file_size == file_io.size(PATH)


def test_int96_keeps_nanoseconds_and_times_before_the_epoch(file_io: MemoryFileIO) -> None:
    schema = given_schema({"k": "INT", "t": "TIMESTAMP(9)", "m": "TIMESTAMP(3)"}, key=["k"])
    nanos = pa.array([-1, 1_704_164_645_678_901_234, None], pa.timestamp("ns"))
    table = key_value(schema, [[1, None, STAMP], [2, None, STAMP], [3, None, None]])
    table = table.set_column(3, table.schema.field("t"), pa.chunked_array([nanos]))
    write_data_file(file_io, PATH, table, schema)

    found = read_back(file_io, schema, describe(schema, table), ["t", "m"])

    assert found.column("t").combine_chunks().equals(nanos)
    assert leaf_columns(file_io)["m"].physical_type == "INT64"


@pytest.mark.parametrize("declared", ["TIMESTAMP(9)", "TIMESTAMP(7) WITH LOCAL TIME ZONE"])
def test_nested_nanoseconds_are_kept(file_io: MemoryFileIO, declared: str) -> None:
    row = {"type": "ROW", "fields": [{"id": 9, "name": "t", "type": declared}]}
    columns = {
        "a": {"type": "ARRAY", "element": declared},
        "m": {"type": "MAP", "key": declared, "value": row},
        "u": "TIMESTAMP(6)",
    }
    schema = given_schema({"k": "INT", **columns}, key=["k"])
    rows: list[list[object]] = [
        [1, [-1, None], [(5, {"t": 1_704_164_645_678_901_234})], STAMP],
        [2, None, [(7, None)], None],
        [3, [], [], STAMP],
    ]
    table = key_value(schema, rows)
    write_data_file(file_io, PATH, table, schema)

    found = read_back(file_io, schema, describe(schema, table), ["a", "m", "u"])

    assert found.select(["a", "m", "u"]).equals(table.select(["a", "m", "u"]))
    stored = {path: leaf.physical_type for path, leaf in leaf_columns(file_io).items()}
    assert stored["a.list.element"] == stored["m.key_value.value.t"] == "INT96"
    assert stored["u"] == "INT64"


def test_columns_of_nulls_can_be_left_out_and_read_as_null(file_io: MemoryFileIO) -> None:
    schema = given_schema({"k": "INT", "a": "INT", "b": "STRING"}, key=["k"])
    table = key_value(schema, [[1, None, "x"], [2, None, None]])
    write_data_file(file_io, PATH, table, schema, without={"a"})

    found = read_back(file_io, schema, describe(schema, table), ["a", "b", "k"])

    assert "a" not in leaf_columns(file_io)
    assert found.select(["a", "b", "k"]).to_pylist() == [
        {"a": None, "b": "x", "k": 1},
        {"a": None, "b": None, "k": 2},
    ]


def test_columns_that_hold_only_nulls_are_not_decoded(file_io: MemoryFileIO) -> None:
    schema = given_schema({"k": "INT", "a": "INT", "b": "INT"}, key=["k"])
    table = key_value(schema, [[1, None, 5], [2, None, 6]])
    write_data_file(file_io, PATH, table, schema)
    meta, counters = describe(schema, table), ReadCounters()

    reader = DataFileReader(file_io, PATH, file_meta=meta, schema=schema, counters=counters)
    rows = [row for batch in reader.batches(["a", "b"]) for row in batch.to_pylist()]

    assert [row["a"] for row in rows] == [None, None]
    decoded = [name for _, name in counters.columns]
    assert decoded == ["_SEQUENCE_NUMBER", "_VALUE_KIND", "b"]
    assert counters.rows == 2


def test_files_without_statistics_have_no_known_null_column() -> None:
    schema = given_schema({"k": "INT", "a": "INT"}, key=["k"])
    table = key_value(schema, [])

    assert null_columns(describe(schema, table, row_count=3), schema) == frozenset()


def test_row_groups_are_bounded_in_rows(file_io: MemoryFileIO) -> None:
    schema = given_schema({"k": "INT", "v": "INT"}, key=["k"])
    table = key_value(schema, [[k, k] for k in range(10)])
    write_data_file(file_io, PATH, table, schema, rows_max=4)

    metadata = pq.ParquetFile(file_io.open_input(PATH)).metadata

    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [4, 4, 2]


def test_row_groups_of_wide_rows_are_bounded_in_bytes(file_io: MemoryFileIO) -> None:
    schema = given_schema({"k": "INT", "v": "BYTES"}, key=["k"])
    wide = bytes(100_000)
    table = key_value(schema, [[k, wide] for k in range(1_100)])
    write_data_file(file_io, PATH, table, schema)

    metadata = pq.ParquetFile(file_io.open_input(PATH)).metadata

    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [670, 430]


def test_row_filter_leaves_row_groups_out(file_io: MemoryFileIO) -> None:
    schema = given_schema({"k": "INT", "v": "STRING"}, key=["k"])
    table = key_value(schema, [[k, f"v{k}"] for k in range(10)])
    write_data_file(file_io, PATH, table, schema, rows_max=4)
    counters = ReadCounters()
    reader = DataFileReader(
        file_io, PATH, file_meta=describe(schema, table), schema=schema, counters=counters
    )

    def keep(bounds: Mapping[str, ColumnBounds], _: int) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = bounds["k"].minima.to_numpy(zero_copy_only=False) >= 4
        return found

    batches = reader.batches(["k"], row_filter=RowGroupFilter(columns=("k",), keep=keep))

    assert [row["k"] for batch in batches for row in batch.to_pylist()] == [4, 5, 6, 7, 8, 9]
    assert (counters.row_groups, counters.row_groups_skipped) == (2, 1)


def test_row_filter_gets_bounds_in_the_columns_types(file_io: MemoryFileIO) -> None:
    schema = given_schema(ALL_TYPES, key=["k"])
    table = key_value(schema, [[1, *VALUES], [2, *VALUES]])
    write_data_file(file_io, PATH, table, schema)
    seen: dict[str, ColumnBounds] = {}

    def look(bounds: Mapping[str, ColumnBounds], count: int) -> npt.NDArray[np.bool_]:
        seen.update(bounds)
        return np.ones(count, dtype=bool)

    reader = DataFileReader(file_io, PATH, file_meta=describe(schema, table), schema=schema)
    list(reader.batches(["k"], row_filter=RowGroupFilter(columns=tuple(ALL_TYPES), keep=look)))

    expected = dict(zip(list(ALL_TYPES)[1:], VALUES, strict=True)) | {"k": 1}
    without = {"float", "double", "t9", "z9", "list", "map", "bag", "row"}
    assert set(seen) == set(ALL_TYPES) - without
    for name, bounds in seen.items():
        assert bounds.minima.to_pylist() == [expected[name]], name


def test_batches_are_bounded_in_rows(file_io: MemoryFileIO) -> None:
    schema = given_schema({"k": "INT"}, key=["k"])
    table = key_value(schema, [[k] for k in range(10)])
    write_data_file(file_io, PATH, table, schema)
    reader = DataFileReader(file_io, PATH, file_meta=describe(schema, table), schema=schema)

    assert [batch.num_rows for batch in reader.batches(["k"], batch_rows=4)] == [4, 4, 2]


def test_batches_are_bounded_in_bytes(file_io: MemoryFileIO) -> None:
    schema = given_schema({"k": "INT", "t": "STRING", "l": "ARRAY<STRING>"}, key=["k"])
    table = key_value(schema, [[k, f"{k:08}" * 1_000, [f"{k:09}" * 1_000]] for k in range(100)])
    write_data_file(file_io, PATH, table, schema)
    reader = DataFileReader(file_io, PATH, file_meta=describe(schema, table), schema=schema)

    def rows(columns: list[str], size: int) -> int:
        batches = list(reader.batches(columns, batch_bytes=size))
        assert sum(batch.num_rows for batch in batches) == 100
        first: int = batches[0].num_rows
        return first

    assert 8 <= rows(["k", "t", "l"], 170_000) <= 10
    assert 8 <= rows(["l"], 90_000) <= 10
    assert rows(["k"], 170_000) == 100
    assert rows(["k", "t"], 1) == 1


def test_a_missing_file_is_corrupt_data(file_io: MemoryFileIO) -> None:
    schema = given_schema({"k": "INT"}, key=["k"])
    meta = describe(schema, key_value(schema, [[1]]))

    with pytest.raises(CorruptData, match="does not exist, although"):
        read_back(file_io, schema, meta, ["k"])


def test_a_file_that_is_not_parquet_is_corrupt_data(file_io: MemoryFileIO) -> None:
    schema = given_schema({"k": "INT"}, key=["k"])
    meta = describe(schema, key_value(schema, [[1]]))
    file_io.write_new(PATH, b"nonsense" * 10)

    with pytest.raises(CorruptData, match="cannot be decoded"):
        read_back(file_io, schema, meta, ["k"])


def test_a_row_count_unlike_the_manifests_is_corrupt_data(file_io: MemoryFileIO) -> None:
    schema = given_schema({"k": "INT"}, key=["k"])
    table = key_value(schema, [[1], [2]])
    write_data_file(file_io, PATH, table, schema)

    with pytest.raises(CorruptData, match="has 2 rows, expected 3 by its manifest entry"):
        read_back(file_io, schema, describe(schema, table, row_count=3), ["k"])


def test_a_file_without_a_required_column_is_corrupt_data(file_io: MemoryFileIO) -> None:
    narrow = given_schema({"k": "INT"}, key=["k"])
    table = key_value(narrow, [[1]])
    write_data_file(file_io, PATH, table, narrow)
    wide = given_schema({"k": "INT", "v": "INT NOT NULL"}, key=["k"])

    with pytest.raises(CorruptData, match="lacks the column v"):
        read_back(file_io, wide, describe(narrow, table), ["k", "v"])


def test_a_failing_store_is_storage_unavailable() -> None:
    class FullDisk(MemoryFileIO):
        @contextmanager
        def open_output(self, path: str) -> Iterator[pa.NativeFile]:
            with super().open_output(path) as sink:
                yield sink
                message = f"no space left for {path}"
                raise OSError(message)

    schema = given_schema({"k": "INT"}, key=["k"])
    with pytest.raises(StorageUnavailable, match="no space left"):
        write_data_file(FullDisk(), PATH, key_value(schema, [[1]]), schema)


def int96_bytes(day: int, nanos_of_day: int) -> bytes:
    """Return a time as INT96 holds it: nanoseconds of the day, Julian day."""
    return nanos_of_day.to_bytes(8, "little", signed=True) + day.to_bytes(4, "little")


def given_int96(file_io: MemoryFileIO, schema: TableSchema, times: list[bytes | None]) -> pa.Table:
    """Write a file (k, t) whose column t has these bytes; return its rows, for metadata."""
    rows: list[list[object]] = [[key, None] for key in range(len(times) - 1)]
    table = key_value(schema, [*rows, [99, STAMP]])
    stored = pa.chunked_array([pa.array(times, INT96_STORAGE)])
    sink = pa.BufferOutputStream()
    pq.write_table(table.set_column(3, "t", stored), sink, store_schema=False)
    file_io.write_new(PATH, declared(sink.getvalue(), {"t"}).to_pybytes())
    return table


@pytest.mark.parametrize(
    "time",
    [
        # Other writers use 9999-12-31 for the end of time, and INT96 holds it.
        int96_bytes((date(9999, 12, 31) - date(1970, 1, 1)).days + 2_440_588, 0),
        int96_bytes((date(2300, 1, 1) - date(1970, 1, 1)).days + 2_440_588, 5),
        int96_bytes((date(1600, 1, 1) - date(1970, 1, 1)).days + 2_440_588, -5),
    ],
    ids=["end-of-time", "2300", "1600"],
)
def test_times_beyond_nanoseconds_are_refused_not_wrapped(
    file_io: MemoryFileIO, time: bytes
) -> None:
    schema = given_schema({"k": "INT", "t": "TIMESTAMP(9)"}, key=["k"])
    table = given_int96(file_io, schema, [time, None])

    assert read_back(file_io, schema, describe(schema, table), ["k"]).num_rows == 2
    with pytest.raises(UnsupportedFeature, match="column t outside the years 1677 to 2262"):
        read_back(file_io, schema, describe(schema, table), ["t"])


def test_javas_times_before_the_epoch_are_read(file_io: MemoryFileIO) -> None:
    """Java rounds the day towards the epoch and lets the nanoseconds of the day be negative."""
    schema = given_schema({"k": "INT", "t": "TIMESTAMP(9)"}, key=["k"])
    times = [int96_bytes(2_440_588, -5), int96_bytes(2_440_587, -1), None]
    table = given_int96(file_io, schema, [*times, int96_bytes(2_440_589, 7)])

    found = read_back(file_io, schema, describe(schema, table), ["t"]).column("t")

    day = 86_400_000_000_000
    assert found.cast(pa.int64()).to_pylist() == [-5, -day - 1, None, day + 7]
