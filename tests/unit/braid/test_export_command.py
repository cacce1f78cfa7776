"""`braid table export`: complete files or none, with the selected rows and columns."""

import csv
import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from braid.cli.export import command
from braid.cli.main import app
from braid.lake import Catalog, Table, UpdateColumnType, parse_type, variant_of_json

TABLE = "shop.parcels"
ROW = {
    "id": 7,
    "paid": Decimal("12.50"),
    "weight": 1.5,
    "city": 'Bad "Ischl"\nand, more',
    "data": b"\x00\x01",
    "day": date(2026, 1, 31),
    "hour": time(5, 15),
    "at": datetime(2026, 1, 31, 5, 15, tzinfo=UTC),
    "tags": ["a", "b"],
    "is_open": True,
    "doc": dict(
        zip(("value", "metadata"), variant_of_json('{"b":9007199254740993.5}'), strict=True)
    ),
}
COLUMNS = [
    ("id", "BIGINT"),
    ("paid", "DECIMAL(10, 2)"),
    ("weight", "DOUBLE"),
    ("city", "STRING"),
    ("data", "BYTES"),
    ("day", "DATE"),
    ("hour", "TIME"),
    ("at", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
    ("tags", "ARRAY<STRING>"),
    ("is_open", "BOOLEAN"),
    ("doc", "VARIANT"),
]


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """Return a warehouse with a row of every kind of value, and one of nulls and an empty text."""
    path = tmp_path / "warehouse"
    table = Catalog(str(path)).create_table(
        TABLE, columns=COLUMNS, primary_key=["id"], options={"bucket": "1"}
    )
    write(table, ROW, {"id": 8, "city": ""})
    return path


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    """Return a warehouse whose table has the keys 0 to 9, and a tag `double` of doubled values."""
    path = tmp_path / "warehouse"
    table = Catalog(str(path)).create_table(
        TABLE,
        columns=[("id", "BIGINT"), ("paid", "DOUBLE")],
        primary_key=["id"],
        options={"bucket": "1"},
    )
    write(table, *({"id": number, "paid": 2.0 * number} for number in range(10)))
    table.create_tag("double")
    write(table, *({"id": number, "paid": float(number)} for number in range(10)))
    return path


def write(table: Table, *rows: Mapping[str, object]) -> None:
    schema = table.schema.arrow_schema
    table.write_and_commit(pa.Table.from_pylist([dict(row) for row in rows], schema=schema))


def export(warehouse: Path, target: Path, *options: str) -> Result:
    arguments = ["table", "export", TABLE, str(target), "--warehouse", str(warehouse), *options]
    return CliRunner().invoke(app, arguments)


def exported(warehouse: Path, target: Path, *options: str) -> Path:
    done = export(warehouse, target, *options)
    assert done.exit_code == 0, done.output
    return target


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_rows_keep_their_types(warehouse: Path, tmp_path: Path, ending: str) -> None:
    target = exported(warehouse, tmp_path / f"parcels.{ending}")

    found = pq.read_table(target) if ending == "parquet" else pa.ipc.open_file(target).read_all()
    assert found == Catalog(str(warehouse)).table(TABLE).scan().to_arrow()


def test_json_lines_have_values_as_http_has(warehouse: Path, tmp_path: Path) -> None:
    target = exported(warehouse, tmp_path / "parcels.jsonl")

    first, second = map(json.loads, target.read_text().splitlines())
    assert '"doc":{"b":9007199254740993.5}' in target.read_text()
    assert first == {
        "id": 7,
        "paid": "12.50",
        "weight": 1.5,
        "city": 'Bad "Ischl"\nand, more',
        "data": "AAE=",
        "day": "2026-01-31",
        "hour": "05:15:00.000",
        "at": "2026-01-31T05:15:00.000Z",
        "tags": ["a", "b"],
        "is_open": True,
        "doc": {"b": 9007199254740993.5},
    }
    assert second == dict.fromkeys(ROW) | {"id": 8, "city": ""}


def test_null_and_empty_text_differ_in_csv(warehouse: Path, tmp_path: Path) -> None:
    target = exported(warehouse, tmp_path / "parcels.csv")

    with target.open(newline="") as file:
        header, first, _ = list(csv.reader(file))
    assert header == list(ROW)
    assert first == [
        *("7", "12.50", "1.5", 'Bad "Ischl"\nand, more', "AAE=", "2026-01-31", "05:15:00.000"),
        *("2026-01-31 05:15:00.000Z", '["a","b"]', "true", '{"b":9007199254740993.5}'),
    ]
    assert target.read_text().endswith('\n8,,,"",,,,,,,\n')


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ((), [[number, float(number)] for number in range(10)]),
        (("--columns", "paid,id", "--where", "id >= 8"), [[8.0, 8], [9.0, 9]]),
        (("--where", "paid>3", "--where", "id in (2, 4, 6)"), [[4, 4.0], [6, 6.0]]),
        (("--where", "paid = 18", "--tag", "double"), [[9, 18.0]]),
        (("--where", "id = 9", "--snapshot", "1"), [[9, 18.0]]),
        (("--where", "id = 9", "--timestamp", "9999-01-01T00:00Z"), [[9, 9.0]]),
        (("--where", "paid is null"), []),
        (("--where", "id != 0", "--where", "paid IS NOT NULL", "--where", "id<2"), [[1, 1.0]]),
        (("--where", "id > 6 AND paid < 9", "--where", "id <> 7"), [[8, 8.0]]),
    ],
    ids=str,
)
def test_columns_rows_and_state_are_selected(
    numbers: Path, tmp_path: Path, options: tuple[str, ...], rows: list[list[object]]
) -> None:
    target = exported(numbers, tmp_path / "out.jsonl", *options)

    lines = [list(json.loads(line).values()) for line in target.read_text().splitlines()]
    assert lines == rows


def test_the_result_is_printed(numbers: Path, tmp_path: Path) -> None:
    done = export(numbers, tmp_path / "out.csv")

    assert done.stdout == f"{TABLE}: 10 rows of snapshot 2 in {tmp_path}/out.csv\n"


def test_progress_is_printed_on_stderr(
    numbers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_REPORT_INTERVAL_S", 0.0)

    done = export(numbers, tmp_path / "out.csv")

    assert done.stderr == f"{TABLE}: 10 rows written, 99 % of 20 records read\n"


def test_rows_are_cut_into_files_of_a_folder(numbers: Path, tmp_path: Path) -> None:
    target = exported(numbers, tmp_path / "out", "--format", "jsonl", "--rows-per-file", "4")

    files = sorted(target.iterdir())
    assert [file.name for file in files] == [f"part-{n:05d}.jsonl" for n in (1, 2, 3)]
    assert [len(file.read_text().splitlines()) for file in files] == [4, 4, 2]


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "jsonl"])
def test_no_rows_make_an_empty_file(numbers: Path, tmp_path: Path, ending: str) -> None:
    target = exported(numbers, tmp_path / f"out.{ending}", "--where", "id > 99")

    if ending == "parquet":
        assert pq.read_table(target).num_rows == 0
    else:
        assert target.exists()


def test_an_existing_file_is_replaced_only_with_the_option(numbers: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    target.write_text("mine")

    refused = export(numbers, target)
    assert (refused.exit_code, target.read_text()) == (2, "mine")
    assert "--overwrite replaces it" in refused.stderr
    exported(numbers, target, "--overwrite")
    assert len(target.read_text().splitlines()) == 10


@pytest.mark.parametrize("options", [(), ("--rows-per-file", "4")], ids=["file", "folder"])
@pytest.mark.parametrize("before", [None, "mine"])
def test_a_failed_export_leaves_the_folder_unchanged(
    numbers: Path, tmp_path: Path, options: tuple[str, ...], before: str | None
) -> None:
    folder = tmp_path / "exports"
    folder.mkdir()
    target = folder / "out.jsonl"
    if before is not None and not options:
        target.write_text(before)
    there = sorted(folder.iterdir())
    for file in numbers.glob("shop.db/parcels/bucket-0/*.parquet"):
        file.write_bytes(file.read_bytes()[:-8])

    done = export(numbers, target, "--overwrite", *options)

    assert done.exit_code == 1
    assert "error: table shop.parcels" in done.stderr
    assert sorted(folder.iterdir()) == there
    assert before is None or options or target.read_text() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--where", "paid"), "where: cannot be read at `the end`"),
        (("--where", "paid = x"), "text, dates and times are in single quotes"),
        (("--where", "id in 2, 4"), "the values of IN in parentheses"),
        (("--where", "nothing = 1"), "nothing"),
        (("--columns", "id,nothing"), "nothing"),
        (("--tag", "x"), "expected one of double"),
        (("--tag", "double", "--snapshot", "1"), "cannot be given together with snapshot_id"),
        (("--timestamp", "2026-01-31"), "ISO 8601 with a zone"),
        (("--format", "xml"), "expected one of parquet, csv, jsonl, arrow"),
    ],
    ids=str,
)
def test_a_wrong_argument_is_refused_in_one_line(
    numbers: Path, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    done = export(numbers, tmp_path / "out.csv", *options)

    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["warehouse"]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", 1_700_000_000_000),
        ("TIMESTAMP(6)", 253_402_300_800),
        ("TIMESTAMP(6)", -62_135_596_801),
    ],
)
def test_times_outside_the_years_of_iso_8601_are_refused_in_text_formats(
    tmp_path: Path, ending: str, sql: str, number: int
) -> None:
    warehouse = tmp_path / "warehouse"
    table = Catalog(str(warehouse)).create_table(
        TABLE,
        columns=[("id", "INT"), ("at", "BIGINT")],
        primary_key=["id"],
        options={"bucket": "1"},
    )
    table.write_and_commit(pa.table({"id": pa.array([1], pa.int32()), "at": [number]}))
    table.alter(UpdateColumnType(path=("at",), type=parse_type(sql)))
    target = tmp_path / f"out.{ending}"

    result = export(warehouse, target)

    assert result.exit_code == 2
    assert "column `at`" in result.stderr
    assert not target.exists()


def test_a_target_on_an_object_store_is_refused_as_such(numbers: Path) -> None:
    done = export(numbers, Path("s3://bucket/out.csv"))

    assert done.exit_code == 2
    assert "nothing can be exported to s3://bucket/out.csv" in done.stderr
    assert "a local disk" in done.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out.txt", "expected the suffix parquet, csv, jsonl, arrow, or --format"),
        ("nowhere/out.csv", "its folder does not exist"),
    ],
)
def test_an_invalid_target_is_refused(
    numbers: Path, tmp_path: Path, name: str, message: str
) -> None:
    done = export(numbers, tmp_path / name)

    assert done.exit_code == 2
    assert message in done.stderr
