"""A long run is cut into files of about the target size."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from braid.lake.errors import SchemaMismatch, StorageUnavailable
from braid.lake.files.clock import ManualClock
from braid.lake.files.data_file_path import table_paths
from braid.lake.files.data_files import DataFileReader
from braid.lake.files.storage.file_io import FileIO
from braid.lake.files.storage.local import LocalFileIO
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.binary_row import EMPTY_ROW, decode_row
from braid.lake.format.data_file import DataFileMeta, FileSource
from braid.lake.format.schema import TableSchema
from braid.lake.format.statistics import collect_statistics
from braid.lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND
from braid.lake.write.files.level_file import DataFileSink, write_level_file
from braid.lake.write.files.rolling_files import RollingFiles
from tests.given_tables import ROOT, given_schema
from tests.support.faulty_file_io import FaultyFileIO

SYSTEM = (SEQUENCE_NUMBER, VALUE_KIND)


def given_sink(
    target: str = "128 mb", *, schema: TableSchema | None = None, file_io: FileIO | None = None
) -> DataFileSink:
    """Return the sink of bucket 0 of a table, (k BIGINT, v BIGINT) by default."""
    if schema is None:
        schema = given_schema(
            {"k": "BIGINT", "v": "BIGINT"}, key=["k"], options={"target-file-size": target}
        )
    numbers = itertools.count()
    return DataFileSink(
        file_io=MemoryFileIO() if file_io is None else file_io,
        paths=table_paths(ROOT, schema),
        schema=schema,
        partition=EMPTY_ROW,
        bucket=0,
        new_file_name=lambda: f"data-{next(numbers)}",
        clock=ManualClock(),
        drop_null_columns=True,
        on_new_file=lambda _: None,
    )


def given_rows(start: int, count: int, *, compressible: bool = False) -> pa.Table:
    """Return rows of 33 bytes in memory with keys from `start`."""
    keys = np.arange(start, start + count, dtype=np.int64)
    values = np.random.default_rng(start).integers(0, 2**14 if compressible else 2**62, count)
    return pa.table(
        {
            SEQUENCE_NUMBER: keys,
            VALUE_KIND: np.zeros(count, dtype=np.int8),
            "k": keys,
            "v": values,
        }
    )


def given_typed_rows(count: int) -> pa.Table:
    """Return rows of types whose bounds come from different sources, extremes in the middle."""
    random = np.random.default_rng(7)
    floats = random.normal(size=count)
    floats[count // 2] = np.nan
    texts = [f"text {number}" * (1 + number % 40) for number in random.integers(0, 1000, count)]
    texts[count // 3] = "z" * 5_000
    is_null = random.integers(0, 3, count) == 0
    is_null[[count // 2, count // 3]] = False
    rows = given_rows(0, count).drop_columns(["v"])
    columns = {
        "x": pa.array(floats, mask=is_null),
        "s": pa.array(texts, mask=is_null),
        "t": pa.array(random.integers(0, 2**60, count), pa.timestamp("ns")),
        "e": pa.nulls(count, pa.int32()),
        "d": pa.array(random.integers(0, 9_999, count).astype(np.int32)).cast(pa.date32()),
    }
    for name, column in columns.items():
        rows = rows.append_column(name, column)
    kinds = pa.array(random.integers(0, 4, count).astype(np.int8))
    numbers = pa.array(random.permutation(count))
    return rows.set_column(0, SEQUENCE_NUMBER, numbers).set_column(1, VALUE_KIND, kinds)


def without_values(rows: pa.Table) -> pa.Table:
    """Return the rows with null in v."""
    index = rows.column_names.index("v")
    return rows.set_column(index, "v", pa.nulls(len(rows), pa.int64()))


def with_times(rows: pa.Table, *, times: bool) -> pa.Table:
    """Return the rows, with a column t TIMESTAMP(9) if requested."""
    if not times:
        return rows
    return rows.append_column("t", rows.column("k").cast(pa.timestamp("ns")))


def path_of(sink: DataFileSink, file: DataFileMeta) -> str:
    return sink.paths.data_file("", 0, file.file_name)


def stored_columns(sink: DataFileSink, file: DataFileMeta) -> tuple[str, ...]:
    with sink.file_io.open_input(path_of(sink, file)) as source:
        return tuple(pq.ParquetFile(source).schema_arrow.names)


def keys_of(sink: DataFileSink, file: DataFileMeta) -> list[int]:
    path = path_of(sink, file)
    reader = DataFileReader(sink.file_io, path, file_meta=file, schema=sink.schema)
    return [key for batch in reader.batches(["k"]) for key in batch.column("k").to_pylist()]


def test_all_rows_come_out_once_in_order() -> None:
    sink = given_sink("10 kb")
    rolling = RollingFiles(sink, level=5, file_source=FileSource.COMPACT)
    for start in range(0, 3_000, 100):
        rolling.add(given_rows(start, 100))

    files = rolling.finish()

    assert [key for file in files for key in keys_of(sink, file)] == list(range(3_000))
    assert {(file.level, file.file_source) for file in files} == {(5, FileSource.COMPACT)}
    assert len(files) > 2


def test_the_bounds_of_the_files_do_not_overlap() -> None:
    sink = given_sink("10 kb")
    rolling = RollingFiles(sink, level=5, file_source=FileSource.COMPACT)
    rolling.add(given_rows(0, 2_000))
    rolling.add(given_rows(2_000, 1))

    bounds = [
        int(decode_row(key, sink.schema.key_fields)[0])  # type: ignore[call-overload]  # a BIGINT
        for file in rolling.finish()
        for key in (file.min_key, file.max_key)
    ]

    assert bounds == sorted(bounds)


def test_nothing_in_nothing_out() -> None:
    rolling = RollingFiles(given_sink("10 kb"), level=5, file_source=FileSource.COMPACT)
    rolling.add(given_rows(0, 0))

    assert rolling.finish() == ()


def test_rows_that_shrink_on_disk_fill_files_of_the_target_size() -> None:
    """The first row group is cut as if nothing compressed; each one improves the estimate for the next."""
    rolling = RollingFiles(given_sink("200 kb"), level=5, file_source=FileSource.COMPACT)
    for start in range(0, 400_000, 10_000):
        rolling.add(given_rows(start, 10_000, compressible=True))

    sizes = [file.file_size for file in rolling.finish()]

    assert all(150 * 1024 < size < 250 * 1024 for size in sizes)
    assert len(sizes) > 3


def test_no_run_ends_in_a_tiny_file() -> None:
    """A file that has reached the target takes a few more rows."""
    whole = RollingFiles(given_sink("20 kb"), level=5, file_source=FileSource.COMPACT)
    whole.add(given_rows(0, 10_000))
    rows = sum(file.row_count for file in whole.finish()[:2])

    rolling = RollingFiles(given_sink("20 kb"), level=5, file_source=FileSource.COMPACT)
    rolling.add(given_rows(0, rows + 50))
    files = rolling.finish()

    assert len(files) == 2
    assert sum(file.row_count for file in files) == rows + 50


@pytest.mark.parametrize("length", [1, 700, 2_500])
def test_metadata_do_not_depend_on_how_rows_come(length: int) -> None:
    """Nor on the number of row groups."""
    schema = given_schema(
        {"k": "BIGINT", "x": "DOUBLE", "s": "STRING", "t": "TIMESTAMP(9)", "e": "INT", "d": "DATE"},
        key=["k"],
    )
    rows = given_typed_rows(2_500)
    whole = write_level_file(
        given_sink(schema=schema), rows, level=5, file_source=FileSource.COMPACT
    )

    sink = given_sink(schema=schema)
    rolling = RollingFiles(
        sink,
        level=5,
        file_source=FileSource.COMPACT,
        row_group_bytes=rows.nbytes // 7,
        empty_columns=["e"],
    )
    for start in range(0, len(rows), length):
        rolling.add(rows.slice(start, length))
    (streamed,) = rolling.finish()

    assert replace(streamed, file_size=0) == replace(whole, file_size=0)
    assert streamed.value_stats == collect_statistics(rows, schema.fields, truncate=16)
    reader = DataFileReader(
        sink.file_io, path_of(sink, streamed), file_meta=streamed, schema=schema
    )
    found = pa.Table.from_batches(reader.batches(schema.field_names))
    assert found.num_rows == 2_500
    for name in ("k", "s", "t", "e", "d"):
        assert found.column(name).equals(rows.column(name)), name
    with sink.file_io.open_input(path_of(sink, streamed)) as source:
        metadata = pq.ParquetFile(source).metadata
    assert metadata.num_row_groups > 5


def test_memory_bounds_the_rows_of_a_row_group() -> None:
    sink = given_sink("128 mb")
    rolling = RollingFiles(
        sink, level=5, file_source=FileSource.COMPACT, row_group_bytes=33 * 1_000
    )
    rolling.add(given_rows(0, 10_000, compressible=True))

    (file,) = rolling.finish()
    with sink.file_io.open_input(path_of(sink, file)) as source:
        metadata = pq.ParquetFile(source).metadata
    groups = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]

    assert sum(groups) == 10_000
    assert max(groups) <= 1_320


def test_rows_reach_storage_before_the_file_is_finished() -> None:
    sizes: list[int] = []

    class Watching(MemoryFileIO):
        @contextmanager
        def open_output(self, path: str) -> Iterator[pa.NativeFile]:
            with super().open_output(path) as output:
                self.output = output
                yield output

    file_io = Watching()
    rolling = RollingFiles(
        given_sink("128 mb", file_io=file_io), level=5, file_source=FileSource.COMPACT
    )
    for start in range(0, 400_000, 100_000):
        rolling.add(given_rows(start, 100_000))
        sizes.append(file_io.output.tell())

    assert all(size - before > 50_000 * 8 for before, size in pairwise(sizes))
    assert len(rolling.finish()) == 1


def test_columns_without_a_value_are_left_out() -> None:
    sink = given_sink("20 kb")
    rolling = RollingFiles(sink, level=5, file_source=FileSource.COMPACT, empty_columns=["k", "v"])
    rolling.add(without_values(given_rows(0, 3_000)))

    files = rolling.finish()

    assert {stored_columns(sink, file) for file in files} == {("_KEY_k", *SYSTEM, "k")}
    assert all(file.value_stats.null_counts == (0, file.row_count) for file in files)


def test_a_column_that_was_wrongly_taken_for_empty_is_in_the_next_file() -> None:
    sink = given_sink("20 kb")
    with_column, without = ("_KEY_k", *SYSTEM, "k", "v"), ("_KEY_k", *SYSTEM, "k")
    rolling = RollingFiles(sink, level=5, file_source=FileSource.COMPACT, empty_columns=["v"])
    rolling.add(without_values(given_rows(0, 1_000)))
    rolling.add(given_rows(1_000, 500))
    rolling.add(without_values(given_rows(1_500, 5_000)))

    files = rolling.finish()

    assert [key for file in files for key in keys_of(sink, file)] == list(range(6_500))
    stored = [stored_columns(sink, file) for file in files]
    assert stored[0] == without
    assert set(stored[1:]) == {with_column}


def test_columns_stay_where_the_sink_leaves_none_out() -> None:
    sink = replace(given_sink("20 kb"), drop_null_columns=False)
    rolling = RollingFiles(sink, level=5, file_source=FileSource.COMPACT, empty_columns=["v"])
    rolling.add(without_values(given_rows(0, 10)))

    (file,) = rolling.finish()

    assert "v" in stored_columns(sink, file)


@pytest.mark.parametrize("times", [False, True], ids=["plain", "INT96"])
def test_a_run_that_breaks_off_leaves_no_half_file(*, times: bool, tmp_path: Path) -> None:
    """Neither when rows are refused, nor when their producer fails."""
    columns = {"k": "BIGINT", "v": "BIGINT NOT NULL"} | ({"t": "TIMESTAMP(9)"} if times else {})
    schema = given_schema(columns, key=["k"], options={"target-file-size": "20 kb"})
    root = str(tmp_path)
    sink = replace(
        given_sink(schema=schema, file_io=LocalFileIO()), paths=table_paths(root, schema)
    )

    def break_off(last: pa.Table | None) -> None:
        with RollingFiles(sink, level=5, file_source=FileSource.COMPACT) as rolling:
            for start in range(0, 5_000, 100):
                rolling.add(with_times(given_rows(start, 100), times=times))
            assert len(sink.file_io.list(f"{root}/bucket-0")) > 1
            if last is None:
                raise RuntimeError("the reader failed")
            rolling.add(last)
            rolling.finish()

    for last, error in [
        (None, RuntimeError),
        (with_times(without_values(given_rows(5_000, 2_000)), times=times), SchemaMismatch),
    ]:
        with pytest.raises(error):
            break_off(last)
        for status in sink.file_io.list(f"{root}/bucket-0"):
            with sink.file_io.open_input(status.path) as source:
                assert pq.ParquetFile(source).metadata.num_rows > 0, "a whole file"


@pytest.mark.parametrize("is_done", [False, True])
def test_storage_that_fails_at_any_call_leaves_no_half_file(*, is_done: bool) -> None:
    def write(sink: DataFileSink) -> tuple[DataFileMeta, ...]:
        with RollingFiles(sink, level=5, file_source=FileSource.COMPACT) as rolling:
            rolling.add(given_rows(0, 600))
            return rolling.finish()

    counted = FaultyFileIO(MemoryFileIO())
    write(given_sink("4 kb", file_io=counted))
    assert {"open_output", "write", "close_output"} <= {method for method, _ in counted.calls}

    for number in range(len(counted.calls)):
        inner = MemoryFileIO()
        file_io = FaultyFileIO(inner)
        file_io.fail_calls(number, is_done=is_done, is_lasting=False)
        with pytest.raises(StorageUnavailable):
            write(given_sink("4 kb", file_io=file_io))
        for status in inner.list(f"{ROOT}/bucket-0"):
            with inner.open_input(status.path) as source:
                assert pq.ParquetFile(source).metadata.num_rows > 0, "a whole file"


def test_a_target_below_a_row_gives_a_row_per_file() -> None:
    rolling = RollingFiles(given_sink("1 b"), level=5, file_source=FileSource.COMPACT)
    rolling.add(given_rows(0, 3))

    assert [file.row_count for file in rolling.finish()] == [1, 1, 1]
