"""Changelog files that a flush writes beside level 0 where the input is the changelog."""

import pyarrow.parquet as pq
import pytest

from braid.lake.files.data_file_path import live_file_path
from braid.lake.files.data_files import DataFileReader
from braid.lake.format.data_file import DataFileMeta, FileSource
from braid.lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND, RowKind
from braid.lake.write.table_writer import WriteResult
from tests.given_tables import ROOT, GivenTable, given_kinds, given_rows, given_schema

COLUMNS = {"k": "INT", "v": "INT", "s": "INT"}
INPUT = {"changelog-producer": "input"}


def given_table(options: dict[str, str] | None = None) -> GivenTable:
    return GivenTable(schema=given_schema(COLUMNS, key=["k"], options=INPUT | (options or {})))


def changelog_of(table: GivenTable, result: WriteResult) -> list[tuple[str, int, int, int]]:
    """Return kind, key, value and sequence number of every changelog row, in file order."""
    rows = []
    for message in result.messages:
        for file in message.changelog_files:
            path = live_file_path(
                table.paths, table.schema, message.partition, message.bucket, file
            )
            reader = DataFileReader(table.file_io, path, file_meta=file, schema=table.schema)
            for batch in reader.batches(table.schema.field_names):
                rows += [
                    (RowKind(row[VALUE_KIND]).symbol, row["k"], row["v"], row[SEQUENCE_NUMBER])
                    for row in batch.to_pylist()
                ]
    return rows


def files_of(result: WriteResult) -> list[DataFileMeta]:
    return [file for message in result.messages for file in message.changelog_files]


def test_the_changelog_has_every_row_by_key_and_arrival() -> None:
    table = given_table()

    result = table.write([2, 20, 0], [1, 10, 0], [2, 21, 0], [1, 10, 0], kinds="+I +U +U -D")

    assert changelog_of(table, result) == [
        ("+U", 1, 10, 1),
        ("-D", 1, 10, 3),
        ("+I", 2, 20, 0),
        ("+U", 2, 21, 2),
    ]
    assert (result.rows_accepted, result.rows_folded) == (2, 2)
    assert table.read() == [(2, 21, 0)]


def test_rows_of_a_key_come_by_sequence_field_and_then_by_arrival() -> None:
    table = given_table({"sequence.field": "s"})

    result = table.write([1, 10, 3], [1, 11, 1], [1, 12, None], [1, 13, 1])

    assert [value for _, _, value, _ in changelog_of(table, result)] == [12, 11, 13, 10]


def test_ignored_rows_are_not_in_the_changelog() -> None:
    table = given_table({"ignore-delete": "true"})

    result = table.write([1, 10, 0], [1, 10, 0], kinds="+I -D")

    assert changelog_of(table, result) == [("+I", 1, 10, 0)]


def test_a_file_is_named_and_described_as_a_changelog() -> None:
    table = given_table({"changelog-file.prefix": "what-happened-"})

    result = table.write([1, 10, 0], [1, 10, 0], [2, 20, 0], kinds="+I -D +I")

    (file,) = files_of(result)
    assert file.file_name.startswith("what-happened-")
    assert (file.level, file.file_source) == (0, FileSource.APPEND)
    assert (file.row_count, file.delete_row_count) == (3, 1)
    assert (file.min_sequence_number, file.max_sequence_number) == (0, 2)
    data = sum(f.file_size for message in result.messages for f in message.new_files)
    assert result.bytes_written == data + file.file_size


def test_each_bucket_and_flush_has_its_own_files() -> None:
    table = given_table({"bucket": "2"})
    writer = table.writer(buffer_bytes=2_000)
    writer.write(given_rows(table.schema, [[k, k, 0] for k in range(500)]))

    result = table.commit(writer.prepare_commit())

    assert {message.bucket for message in result.messages} == {0, 1}
    assert len(files_of(result)) > 4
    assert sorted(key for _, key, _, _ in changelog_of(table, result)) == list(range(500))


def test_files_roll_and_stay_in_order() -> None:
    table = given_table({"target-file-size": "500 b"})

    result = table.write(*[[k // 3, k, 0] for k in range(1_000)])

    assert len(files_of(result)) > 2
    assert [row[2] for row in changelog_of(table, result)] == list(range(1_000))


@pytest.mark.parametrize(
    ("options", "codec"),
    [({}, "ZSTD"), ({"changelog-file.compression": "Snappy"}, "SNAPPY")],
)
def test_the_codec_is_that_of_data_files_unless_declared(
    options: dict[str, str], codec: str
) -> None:
    table = given_table(options)
    result = table.write(*[[k, k, 0] for k in range(100)])

    (file,) = files_of(result)
    with table.file_io.open_input(f"{ROOT}/bucket-0/{file.file_name}") as source:
        assert pq.ParquetFile(source).metadata.row_group(0).column(0).compression == codec
    with table.file_io.open_input(f"{ROOT}/bucket-0/{table.entries[0].file.file_name}") as source:
        assert pq.ParquetFile(source).metadata.row_group(0).column(0).compression == "ZSTD"


def test_aborting_leaves_no_changelog_behind() -> None:
    table = given_table()
    writer = table.writer()
    writer.write(given_rows(table.schema, [[1, 10, 0]]), kinds=given_kinds("+I"))
    writer.flush()
    assert len(list(table.file_io.list(f"{ROOT}/bucket-0"))) == 2

    writer.abort()

    assert list(table.file_io.list(f"{ROOT}/bucket-0")) == []


def test_a_table_without_that_producer_writes_no_changelog() -> None:
    table = GivenTable(schema=given_schema(COLUMNS, key=["k"]))

    assert files_of(table.write([1, 10, 0])) == []
