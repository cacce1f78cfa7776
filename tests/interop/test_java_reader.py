"""The Java reader reads what Java wrote, and executes cases, exactly as recorded."""

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.interop import java_reader

TABLES = Path(__file__).with_name("tables")

pytestmark = pytest.mark.interop


def expected(name: str) -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads((TABLES / name / "expected.json").read_text())
    return recorded


@pytest.mark.parametrize("name", ["g02_seqgroups_v142", "g04_dv_v142"])
def test_rows_of_a_golden_table_are_the_recorded_ones(name: str) -> None:
    read = java_reader.read_rows(TABLES / name / "table")

    assert read.rows == expected(name)["final_rows"]
    assert read.row_count == len(expected(name)["final_rows"])


def test_snapshot_and_changelog_of_a_golden_table_are_the_recorded_ones() -> None:
    steps = expected("g02_seqgroups_v142")["expect"]["steps"]

    read = java_reader.read_rows(
        TABLES / "g02_seqgroups_v142" / "table", snapshot=2, with_changelog=True
    )

    assert read.rows == steps[1]["rows"]
    assert read.changelog == [entry for step in steps for entry in step["changelog"]]


def test_a_case_ends_as_recorded_and_its_table_can_be_kept(tmp_path: Path) -> None:
    recorded = expected("g02_seqgroups_v142")
    cases = tmp_path / "cases.jsonl"
    cases.write_text(json.dumps({key: recorded[key] for key in recorded if key != "expect"}))

    (answer,) = java_reader.run_cases(cases, tmp_path / "out.jsonl", keep=tmp_path / "kept")

    assert answer["expect"] == recorded["expect"]
    assert (tmp_path / "kept" / "t.db" / recorded["id"] / "snapshot" / "LATEST").exists()


def test_bulk_table_is_counted_and_read_to_parquet(tmp_path: Path) -> None:
    table = tmp_path / "bulk"
    java_reader.write_bulk(table, rows=1000, keys=50, commits=2, is_compacted=True)

    files = java_reader.read_to_parquet(table, tmp_path / "out")

    assert java_reader.count_rows(table)[0] == 50
    assert sum(pq.read_metadata(file).num_rows for file in files) == 50


def test_a_damaged_table_is_refused_with_javas_reason(tmp_path: Path) -> None:
    table = tmp_path / "table"
    shutil.copytree(TABLES / "g02_seqgroups_v142" / "table", table)
    for file in table.glob("bucket-0/*.parquet"):
        file.write_bytes(b"PAR1 nothing PAR1")

    with pytest.raises(java_reader.JavaReaderFailed, match="parquet"):
        java_reader.read_rows(table)
