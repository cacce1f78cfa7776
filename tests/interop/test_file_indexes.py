"""Bloom filters of data files: Java believes ours, and we believe Java's."""

from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

from braid.lake import Catalog, Condition, LocalFileIO, Machine, Table
from braid.lake.format.indexes.file_index import BLOOM_FILTER, decode_file_index
from tests.conformance.case import parse_case
from tests.conformance.execute import create_declared, write_rows
from tests.conformance.values import to_arrow
from tests.interop.java_driver import JavaDriver
from tests.interop.ours import json_rows, open_table
from tests.support.table_files import missing_files, unneeded_files

pytestmark = pytest.mark.interop

BLOOM: Final = "file-index.bloom-filter"
COLUMNS: Final = {
    "k": "INT NOT NULL",
    "s": "STRING",
    "f": "FLOAT",
    "t": "TIMESTAMP(6)",
    "m": {"type": "MAP", "key": "STRING", "value": "BIGINT"},
}
INDEXED: Final = ("k", "s", "f", "t")
PLACES = pytest.mark.parametrize("threshold", ["0 b", "1 mb"], ids=["beside", "in manifest"])
PRESENT: Final = range(0, 60, 2)
ABSENT: Final = range(1, 400, 2)


def value(column: str, number: int) -> Any:
    """Return a value of a column in the form of the conformance cases."""
    match column:
        case "s":
            return f"text {number}"
        case "f":
            return number / 4
        case "t":
            return f"{1900 + number % 100:04}-02-03T04:05:06.{number:06}"
        case "m":
            return [["x", number], ["y", None]]
        case _:
            return number


def rows(numbers: range) -> list[list[Any]]:
    return [["+I", *(value(column, number) for column in COLUMNS)] for number in numbers]


def given_case(threshold: str, **options: str) -> dict[str, Any]:
    return {
        "id": "t",
        "schema": {
            "columns": [{"name": name, "type": kind} for name, kind in COLUMNS.items()],
            "primary_key": ["k"],
        },
        "options": {
            "bucket": "1",
            f"{BLOOM}.columns": ",".join([*INDEXED, "m[x]"]),
            **{f"{BLOOM}.{name}.items": "100" for name in (*INDEXED, "m")},
            "file-index.in-manifest-threshold": threshold,
            **options,
        },
        "steps": [],
        "expect": {},
    }


def written_by_java(java: JavaDriver, path: Path, case: dict[str, Any]) -> None:
    """Let Java write two files whose ranges overlap."""
    java.do("create", path, case=case)
    java.write(path, rows(range(0, 60, 4)), options={"write-only": "true"})
    java.write(path, rows(range(2, 60, 4)), options={"write-only": "true"})


def opened(table: Table, column: str, number: int) -> tuple[int, int]:
    """Return how many rows a scan finds by a value, and how many files it opened."""
    kind = table.schema.arrow_schema.field(column).type
    wanted = to_arrow([value(column, number)], kind)[0].as_py()
    scan = table.scan(columns=["k"], where=[Condition(column=column, op="=", value=wanted)])
    return scan.to_arrow().num_rows, scan.counters.files


def assert_used_by_java(java: JavaDriver, path: Path, *, place: str) -> None:
    """Check that no index denies Java a value that is there, and that it denies most others."""
    for column in INDEXED:
        values = [value(column, number) for number in (*PRESENT, *ABSENT)]
        ((name, where, remain),) = java.do("file_index", path, column=column, values=values)
        assert where == ("manifest" if place == "1 mb" else f"{name}.index")
        assert all(remain[: len(PRESENT)]), column
        assert sum(remain[len(PRESENT) :]) < len(ABSENT) / 4, column


@PLACES
def test_java_uses_what_we_wrote(java: JavaDriver, tmp_path: Path, threshold: str) -> None:
    case = parse_case(given_case(threshold))
    catalog = Catalog(str(tmp_path), file_io=LocalFileIO())
    table = create_declared(case, catalog, case.id)
    path = tmp_path / "t.db" / "t"

    write_rows(table, rows(range(0, 60, 4)), case.arrow_schema, machine=Machine.COLUMN)
    write_rows(table, rows(range(2, 60, 4)), case.arrow_schema, machine=Machine.COLUMN)
    first, second = (
        java.do("file_index", path, column="k", values=list(range(60)))[number][2]
        for number in range(2)
    )
    together = {number for number in range(60) if first[number] and second[number]}
    assert {number for number in range(60) if first[number] or second[number]} >= set(PRESENT)
    assert len(together) < 20
    table.compact()
    assert_used_by_java(java, path, place=threshold)
    assert java.rows(path) == json_rows(table.scan().to_arrow())


@PLACES
def test_we_use_what_java_wrote(java: JavaDriver, tmp_path: Path, threshold: str) -> None:
    path = tmp_path / "t"
    written_by_java(java, path, given_case(threshold))
    table = open_table(path)

    found = [opened(table, "k", number) for number in PRESENT]
    assert [count for count, _ in found] == [1] * len(PRESENT)
    assert sum(files for _, files in found) < 1.5 * len(PRESENT)
    java.do("compact", path, mode="full")
    table = open_table(path)
    for column in INDEXED:
        # Between the bounds of the one file there is.
        inside = [opened(table, column, number) for number in range(1, 59, 2)]
        assert all(count == 0 for count, _ in inside)
        assert sum(files for _, files in inside) < 12, column
        assert [opened(table, column, number)[0] for number in PRESENT] == [1] * len(PRESENT)

    lookup = table.lookup_at()
    absent = pa.table({"k": pa.array(range(1, 59, 2), pa.int32())})
    assert lookup.rows(absent).num_rows == 0
    assert lookup.rows(pa.table({"k": pa.array(PRESENT, pa.int32())})).num_rows == len(PRESENT)


def test_filters_of_the_same_rows_are_the_same(java: JavaDriver, tmp_path: Path) -> None:
    raw = given_case("1 mb")
    java.do("create", tmp_path / "java", case=raw)
    java.write(tmp_path / "java", rows(PRESENT), options={"write-only": "true"})
    case = parse_case(raw)
    ours = create_declared(case, Catalog(str(tmp_path / "wh"), file_io=LocalFileIO()), "t")
    write_rows(ours, rows(PRESENT), case.arrow_schema, machine=Machine.COLUMN)

    one, other = (index_of(table) for table in (open_table(tmp_path / "java"), ours))

    assert one.keys() == other.keys() == {*INDEXED, "m[x]"}
    assert one == other


def index_of(table: Table) -> dict[str, bytes]:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    (entry,) = table.live_files(snapshot)
    assert entry.file.embedded_file_index is not None
    indexes = decode_file_index(entry.file.embedded_file_index)
    return {column: bytes(kinds[BLOOM_FILTER] or b"") for column, kinds in indexes.items()}


def test_tables_with_indexes_that_only_java_has_are_read_and_compacted(
    java: JavaDriver, tmp_path: Path
) -> None:
    """Java writes them, we compact and write on without, and Java reads that."""
    path = tmp_path / "t"
    kinds = {
        "file-index.bitmap.columns": "s",
        "file-index.bsi.columns": "k",
        "file-index.range-bitmap.columns": "k,s",
    }
    written_by_java(java, path, given_case("0 b", **kinds))
    table = open_table(path)

    assert opened(table, "s", 4)[0] == 1
    assert opened(table, "s", 5) == (0, 0)
    assert table.lookup(pa.table({"k": pa.array([4, 5], pa.int32())})).num_rows == 1
    table.compact()
    assert opened(table, "s", 4) == (1, 1)
    assert java.rows(path) == json_rows(table.scan().to_arrow())


def test_either_removes_the_index_files_of_the_other(java: JavaDriver, tmp_path: Path) -> None:
    path = tmp_path / "t"
    written_by_java(java, path, given_case("0 b"))
    table = open_table(path)
    table.compact()
    table.expire(retain_max=1, retain_min=1, older_than_ms=1 << 60)
    assert missing_files(table.file_io, table) == unneeded_files(table.file_io, table) == set()

    table.write_and_commit(pa.table({"k": pa.array([1], pa.int32())}))
    java.do("compact", path, mode="full")
    java.do("expire", path, retain=1)
    table = open_table(path)
    assert java.do("orphans", path) == []
    assert missing_files(table.file_io, table) == unneeded_files(table.file_io, table) == set()
    assert opened(table, "k", 1) == (1, 1)
