"""How a long run is cut into files."""

import itertools

import numpy as np
import pyarrow as pa

from lake.files.clock import ManualClock
from lake.files.data_file_path import table_paths
from lake.files.memory import MemoryFileIO
from lake.files.parquet import DataFileReader
from lake.format.binary_row import EMPTY_ROW, decode_row
from lake.format.data_file import DataFileMeta, FileSource
from lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND
from lake.write.level_file import DataFileSink
from lake.write.rolling_files import RollingFiles
from tests.given_tables import ROOT, given_schema


def given_sink(target: str) -> DataFileSink:
    """Return where the files of bucket 0 of a table (k BIGINT, v BIGINT) go."""
    schema = given_schema(
        {"k": "BIGINT", "v": "BIGINT"}, key=["k"], options={"target-file-size": target}
    )
    numbers = itertools.count()
    return DataFileSink(
        file_io=MemoryFileIO(),
        paths=table_paths(ROOT, schema),
        schema=schema,
        partition=EMPTY_ROW,
        bucket=0,
        new_file_name=lambda: f"data-{next(numbers)}.parquet",
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


def keys_of(sink: DataFileSink, file: DataFileMeta) -> list[int]:
    path = sink.paths.data_file("", 0, file.file_name)
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
    assert len(files) > 3


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
    """The first file is cut as if nothing shrank; from each the next is cut better."""
    rolling = RollingFiles(given_sink("200 kb"), level=5, file_source=FileSource.COMPACT)
    for start in range(0, 400_000, 10_000):
        rolling.add(given_rows(start, 10_000, compressible=True))

    sizes = [file.file_size for file in rolling.finish()]

    assert sizes[0] < 50 * 1024
    assert all(150 * 1024 < size < 300 * 1024 for size in sizes[2:-1])
    assert len(sizes) > 4


def test_memory_bounds_the_rows_of_a_file() -> None:
    rolling = RollingFiles(
        given_sink("128 mb"), level=5, file_source=FileSource.COMPACT, memory_bytes=33 * 1_000
    )
    rolling.add(given_rows(0, 10_000, compressible=True))

    assert max(file.row_count for file in rolling.finish()) <= 1_320


def test_a_target_below_a_row_gives_a_row_per_file() -> None:
    rolling = RollingFiles(given_sink("1 b"), level=5, file_source=FileSource.COMPACT)
    rolling.add(given_rows(0, 3))

    assert [file.row_count for file in rolling.finish()] == [1, 1, 1]
