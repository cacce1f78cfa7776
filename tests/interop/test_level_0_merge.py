"""Java reads, writes on and compacts a table whose new files we merged among themselves."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from braid.lake import Table
from tests.interop.java_driver import JavaDriver
from tests.interop.ours import open_table

pytestmark = [pytest.mark.interop, pytest.mark.slow]

CASE: dict[str, Any] = {
    "id": "level_0",
    "schema": {
        "columns": [
            {"name": "k", "type": "INT NOT NULL"},
            {"name": "v", "type": "INT"},
            {"name": "w", "type": "STRING"},
        ],
        "primary_key": ["k"],
        "partition": [],
    },
    # Two levels: a compaction would rewrite everything, so merges of level 0 are worth it.
    "options": {
        "bucket": "1",
        "num-levels": "2",
        "num-sorted-run.compaction-trigger": "1",
        "write-only": "true",
    },
}


@pytest.mark.parametrize("engine", ["deduplicate", "partial-update"])
def test_java_continues_a_table_with_merged_level_0_files(
    java: JavaDriver, tmp_path: Path, engine: str
) -> None:
    path = tmp_path / "db.db" / "t"
    java.do("create", path, case={**CASE, "options": {**CASE["options"], "merge-engine": engine}})
    table = open_table(path)
    numbers = random.Random(3)
    write(table, {k: (k, numbers.randbytes(40).hex()) for k in range(5_000)})
    table.compact()
    write(table, {1: (None, "a"), 2: (2, None)})
    java.write(path, [["+I", 2, None, "b"], ["+I", 6_000, 6, None]])

    result = table.compact(full=False)

    assert (result.files_in, result.files_out) == (2, 1)
    assert levels(table) == [0, 1]
    expected = rows(table)
    assert java.rows(path) == expected
    java.write(path, [["+I", 2, 22, None]])
    assert java.rows(path) == rows(table) != expected
    java.do("compact", path, mode="full")
    assert levels(open_table(path)) == [1]
    assert java.rows(path) == rows(open_table(path))


def write(table: Table, values: Mapping[int, tuple[int | None, str | None]]) -> None:
    table.write_and_commit(
        pa.table(
            {
                "k": pa.array(values, pa.int32()),
                "v": pa.array([v for v, _ in values.values()], pa.int32()),
                "w": pa.array([w for _, w in values.values()], pa.string()),
            }
        )
    )


def rows(table: Table) -> list[list[object]]:
    """Return all rows by key."""
    return sorted([list(row.values()) for row in table.scan().to_arrow().to_pylist()])


def levels(table: Table) -> list[int]:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return sorted(entry.file.level for entry in table.live_files(snapshot))
