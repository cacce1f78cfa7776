"""Live files as entries of Iceberg manifests."""

from dataclasses import replace

import pytest

from braid.lake import MemoryFileIO
from braid.lake.files.paths import TablePaths
from braid.lake.format.binary_row import encode_row
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.schema import TableSchema
from braid.lake.format.statistics import SimpleStats
from braid.lake.iceberg.data_files import iceberg_data_file, published_files
from braid.lake.iceberg.manifest_entries import IcebergDataFile
from tests.unit.lake.maintenance.given_compactions import PATH, given_table, live, write
from tests.unit.lake.merge.given_schemas import given_schema

SCHEMA = given_schema("k INT, v DOUBLE, d DATE")


@pytest.fixture(scope="module")
def entry() -> ManifestEntry:
    """A compacted file."""
    table = given_table(file_io=MemoryFileIO())
    write(table, (1, 10))
    table.compact()
    (found,) = live(table)
    return found


def of(entry: ManifestEntry, stats: SimpleStats, *columns: str) -> IcebergDataFile:
    file = replace(entry.file, value_stats=stats, value_stats_cols=columns)
    schema: TableSchema = SCHEMA
    return iceberg_data_file(
        replace(entry, file=file),
        paths=TablePaths(PATH),
        schema=schema,
        schema_of=lambda _number: schema,
    )


def test_statistics_of_some_columns_are_those_of_their_ids(entry: ManifestEntry) -> None:
    fields = [SCHEMA.field("v"), SCHEMA.field("k")]
    stats = SimpleStats(
        min_values=encode_row([-1.0, 1], fields),
        max_values=encode_row([2.5, 9], fields),
        null_counts=(3, None),
    )

    found = of(entry, stats, "v", "k")

    assert found.null_counts == {1: 3}
    assert found.lower_bounds == {1: b"\0\0\0\0\0\0\xf0\xbf", 0: b"\1\0\0\0"}
    assert found.upper_bounds == {1: b"\0\0\0\0\0\0\x04\x40", 0: b"\t\0\0\0"}
    assert found.path == f"{PATH}/bucket-0/{entry.file.file_name}"


def test_a_bound_that_is_no_number_or_no_date_of_python_is_left_out(entry: ManifestEntry) -> None:
    fields = [SCHEMA.field("v")]
    nan = encode_row([float("nan")], fields)
    year_10183 = bytes([0, 0, 0, 1]) + bytes(8) + (3_000_000).to_bytes(8, "little")

    for column, row in (("v", nan), ("d", year_10183)):
        stats = SimpleStats(min_values=row, max_values=row, null_counts=(0,))
        assert of(entry, stats, column).lower_bounds == {}
        assert len(of(entry, stats, column).null_counts) == 1


def test_files_with_deletes_or_of_other_formats_are_not_published(entry: ManifestEntry) -> None:
    schema = given_schema("k INT")
    names = [entry.file.file_name, "data-1.orc"]
    files = [
        replace(entry.file),
        replace(entry.file, file_name=names[1]),
        replace(entry.file, file_name="data-2.parquet", delete_row_count=1),
        replace(entry.file, file_name="data-3.parquet", level=4),
    ]

    found = published_files((replace(entry, file=file) for file in files), schema)

    assert list(found) == names[:1]
