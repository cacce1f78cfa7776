"""Java and we remove the same expired rows, and Java reads our tables; where its compactions go wrong is pinned."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from braid.lake import Catalog, SystemClock, Table
from tests.interop.java_driver import JavaDriver
from tests.interop.java_history import copies
from tests.interop.ours import json_rows, open_table

pytestmark = pytest.mark.interop

HOUR = 3_600


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, tz=UTC).replace(tzinfo=None)


TIMES: dict[str, tuple[str, Callable[[int], object]]] = {
    "int": ("INT", int),
    "bigint seconds": ("BIGINT", int),
    "bigint milliseconds": ("BIGINT", lambda seconds: seconds * 1_000 + 7),
    "timestamp ms": ("TIMESTAMP(3)", at),
    "timestamp us": ("TIMESTAMP(6)", at),
    "timestamp ns": ("TIMESTAMP(9)", at),
    "with zone": ("TIMESTAMP(3) WITH LOCAL TIME ZONE", at),
}


def given_table(path: Path, time_type: str, **options: str) -> Table:
    ttl = {"record-level.expire-time": "1 d", "record-level.time-field": "t"}
    return Catalog(str(path)).create_table(
        "db.t",
        columns=[("k", "INT"), ("t", time_type), ("v", "INT")],
        primary_key=["k"],
        options={"bucket": "1"} | ttl | options,
    )


def write(table: Table, *rows: Sequence[object]) -> None:
    columns = zip(*rows, strict=True)
    fields = table.schema.arrow_schema
    arrays = [pa.array(column, field.type) for column, field in zip(columns, fields, strict=True)]
    table.write_and_commit(pa.table(dict(zip(fields.names, arrays, strict=True))))


def read(path: Path) -> list[list[object]]:
    return sorted(
        json_rows(open_table(path).scan().to_arrow()), key=lambda row: str(row[0]).zfill(9)
    )


@pytest.mark.parametrize(
    ("kind", "options"),
    [*((kind, {}) for kind in TIMES), ("int", {"deletion-vectors.enabled": "true"})],
    ids=[*TIMES, "deletion vectors"],
)
def test_java_and_we_remove_the_same_rows(
    java: JavaDriver, kind: str, options: dict[str, str], tmp_path: Path
) -> None:
    time_type, value = TIMES[kind]
    table = given_table(tmp_path, time_type, **options)
    now = SystemClock().now_ms() // 1_000
    # Far from the boundary, which a slow machine might reach meanwhile: unit tests have that second.
    ages = [0, -5 * HOUR, 23 * HOUR, 25 * HOUR, 1_000 * HOUR, 20_000 * HOUR, None]
    times = [None if age is None else value(now - age) for age in ages]
    for first in (0, 4):
        rows = [(key, times[key], key) for key in range(first, min(first + 4, len(times)))]
        write(table, *rows)
    before = read(Path(table.path))
    theirs, ours = copies(Path(table.path), tmp_path / "copies")

    java.do("compact", theirs, mode="full")
    open_table(ours).compact()

    left = read(ours)
    assert [row[0] for row in left] == [0, 1, 2, 6]
    # A table with deletion vectors shows its first rows after a compaction.
    assert before == ([] if options else left)
    assert java.rows(theirs) == java.rows(ours) == read(theirs) == left
    newest = [open_table(path).latest_snapshot() for path in (theirs, ours)]
    assert [None if one is None else one.total_record_count for one in newest] == [4, 4]


def test_java_shows_expired_rows_until_a_compaction(java: JavaDriver, tmp_path: Path) -> None:
    table = given_table(tmp_path, "INT")
    write(table, (1, 1, 10), (2, None, 20))

    assert [row[0] for row in java.rows(table.path)] == [1, 2]
    assert [row[0] for row in read(Path(table.path))] == [2]


def test_java_removes_records_and_we_remove_rows(java: JavaDriver, tmp_path: Path) -> None:
    """The anomalies of Java's compactions: half of a row stays, and a replaced row comes back."""
    now = SystemClock().now_ms() // 1_000
    partial = given_table(tmp_path / "partial", "INT", **{"merge-engine": "partial-update"})
    write(partial, (1, 1, 10), (2, 1, None), (3, now, 30))
    write(partial, (1, now, None), (2, None, 20), (3, None, 31))
    newest = given_table(tmp_path / "newest", "INT")
    write(newest, (1, None, 10))
    write(newest, (1, 1, 11))

    found = []
    for table in (partial, newest):
        theirs, ours = copies(Path(table.path), Path(table.path).parent / "copies")
        java.do("compact", theirs, mode="full")
        open_table(ours).compact()
        assert read(ours) == java.rows(ours) == read(Path(table.path))
        found.append((java.rows(theirs), java.rows(ours)))

    assert found == [
        ([[1, now, None], [2, None, 20], [3, now, 31]], [[1, now, 10], [3, now, 31]]),
        ([[1, None, 10]], []),
    ]
