"""The metadata of a data file describes exactly its content."""

from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise

import pytest

from braid.lake.format.binary_row import decode_row, decode_rows
from braid.lake.format.data_file import FileSource
from braid.lake.format.statistics import collect_statistics
from tests.given_tables import ROOT, GivenTable, given_rows, given_schema

COLUMNS = {"k": "INT", "s": "STRING", "v": "STRING"}


@pytest.fixture
def table() -> GivenTable:
    """A table with a composite key."""
    return GivenTable(schema=given_schema(COLUMNS, key=["k", "s"]))


def test_keys_and_sequence_numbers_are_those_of_the_rows(table: GivenTable) -> None:
    table.next_sequence_number = 40
    table.write([2, "b", "x"], [1, "z", "y"], [2, "a", None], [2, "b", "last"])
    file = table.entries[0].file
    key_fields = table.schema.key_fields

    assert decode_row(file.min_key, key_fields) == (1, "z")
    assert decode_row(file.max_key, key_fields) == (2, "b")
    assert decode_rows([file.key_stats.min_values], key_fields).to_pylist() == [{"k": 1, "s": "a"}]
    assert decode_rows([file.key_stats.max_values], key_fields).to_pylist() == [{"k": 2, "s": "z"}]
    assert file.key_stats.null_counts == (0, 0)
    assert (file.min_sequence_number, file.max_sequence_number) == (41, 43)
    assert file.row_count == 3


def test_value_statistics_cover_all_columns_and_are_cut(table: GivenTable) -> None:
    table.write([1, "k" * 20, "v" * 20], [2, "k", None])
    stats = table.entries[0].file.value_stats
    fields = table.schema.fields

    assert table.entries[0].file.value_stats_cols is None
    assert decode_row(stats.min_values, fields) == (1, "k", "v" * 16)
    assert decode_row(stats.max_values, fields) == (2, "k" * 15 + "l", "v" * 15 + "w")
    assert stats.null_counts == (0, 0, 1)
    key_stats = table.entries[0].file.key_stats
    assert decode_row(key_stats.max_values, table.schema.key_fields) == (2, "k" * 20)


def test_retracts_are_counted(table: GivenTable) -> None:
    table.write([1, "", "a"], [2, "", "b"], [3, "", "c"], kinds="+I -D -U")

    assert table.entries[0].file.delete_row_count == 2


def test_a_new_file_has_its_source(table: GivenTable) -> None:
    table.write([1, "", "a"])
    file = table.entries[0].file

    assert (file.level, file.file_source, file.schema_id) == (0, FileSource.APPEND, 0)
    assert file.file_size == table.file_io.size(f"{ROOT}/bucket-0/{file.file_name}")


def test_creation_time_is_local_wall_time(table: GivenTable) -> None:
    table.write([1, "", "a"])
    created_ms = table.entries[0].file.creation_time_ms

    now = datetime.fromtimestamp(table.clock.now_ms() / 1000, tz=UTC).astimezone()
    local_as_utc = now.replace(tzinfo=UTC)
    assert created_ms == round(local_as_utc.timestamp() * 1000)


def test_files_roll_at_the_target_size_and_do_not_overlap() -> None:
    options = {"target-file-size": "1 kb"}
    table = GivenTable(schema=given_schema({"k": "INT", "v": "INT"}, key=["k"], options=options))
    table.write(*[[k, k] for k in range(999, -1, -1)])
    files = [entry.file for entry in table.entries]
    bounds = [
        (
            decode_row(file.min_key, table.schema.key_fields),
            decode_row(file.max_key, table.schema.key_fields),
        )
        for file in files
    ]

    assert len(files) > 5
    assert sum(file.row_count for file in files) == 1_000
    assert all(low[1] < high[0] for low, high in pairwise(bounds))
    assert len({file.file_name for file in files}) == len(files)
    assert len(table.read()) == 1_000


def test_data_files_can_lie_in_a_directory_of_their_own() -> None:
    options = {"data-file.path-directory": "data", "data-file.prefix": "part-"}
    schema = given_schema(
        {"k": "INT", "p": "INT"}, key=["k", "p"], partition=["p"], options=options
    )
    table = GivenTable(schema=schema)
    table.write([1, 5])

    (status,) = table.file_io.list(f"{ROOT}/data/p=5/bucket-0")
    assert status.name.startswith("part-")
    assert table.read() == [(1, 5)]


def test_statistics_are_those_of_the_rows_whatever_parquet_keeps() -> None:
    """Floats with NaN, INT96 and texts too long for a footer have no bounds there."""
    columns = {
        "k": "INT",
        "x": "DOUBLE",
        "s": "STRING",
        "t": "TIMESTAMP(9)",
        "d": "DECIMAL(20, 2)",
        "b": "BOOLEAN",
        "l": {"type": "ARRAY", "element": "INT"},
    }
    table = GivenTable(schema=given_schema(columns, key=["k"]))
    stamp = datetime.fromtimestamp(0, tz=UTC).replace(tzinfo=None)
    rows: list[list[object]] = [
        [1, float("nan"), "x" * 5_000, stamp, Decimal("-1.50"), True, [1]],
        [2, -0.0, None, None, None, None, None],
        [3, 1.0, "y", stamp, Decimal("2.25"), False, []],
    ]
    table.write(*rows)

    expected = collect_statistics(given_rows(table.schema, rows), table.schema.fields, truncate=16)
    assert table.entries[0].file.value_stats == expected
