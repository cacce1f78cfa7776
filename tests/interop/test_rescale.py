"""Rescaled tables of Java: Java reads the same rows, and both engines continue to write and compact."""

from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from braid.lake import CommitConflict, ManualClock, SystemClock, Table
from tests.interop.java_driver import JavaDriver, JavaRefused
from tests.interop.ours import open_table

pytestmark = [pytest.mark.interop, pytest.mark.slow]

CASE: dict[str, Any] = {
    "id": "rescaled",
    "schema": {
        "columns": [
            {"name": "p", "type": "STRING NOT NULL"},
            {"name": "k", "type": "INT NOT NULL"},
            {"name": "v", "type": "INT"},
            {"name": "w", "type": "INT"},
        ],
        "primary_key": ["p", "k"],
        "partition": ["p"],
    },
}
KINDS: Mapping[str, Mapping[str, str]] = {
    "plain": {},
    "partial-update": {"merge-engine": "partial-update", "ignore-delete": "true"},
    "first-row": {"merge-engine": "first-row", "ignore-delete": "true"},
    "vectors": {"deletion-vectors.enabled": "true"},
    "lookup": {"changelog-producer": "lookup"},
    "full-compaction": {"changelog-producer": "full-compaction"},
}
# Later than every file that a test writes.
TOMORROW_MS = SystemClock().now_ms() + 86_400_000


def java_writes(java: JavaDriver, path: Path, numbers: range) -> None:
    for number in numbers:
        rows = [
            ["+I", f"p{k % 3}", k, None if k % 5 == 0 else number, number + k]
            for k in range(number % 4, 40, 1 + number % 3)
        ]
        if number % 3 == 1:
            rows += [["-D", "p0", 3, 5, 5]]
        java.write(path, rows)
        if number % 3 == 2:
            java.do("compact", path, mode="full" if number % 2 else "normal")


def given_table(java: JavaDriver, path: Path, kind: str, *, buckets: int) -> Path:
    options = {"bucket": str(buckets), "write-only": "true", **KINDS[kind]}
    java.do("create", path, case={**CASE, "options": options})
    java_writes(java, path, range(7))
    return path


def rows(path: Path) -> list[list[Any]]:
    found = open_table(path).scan().to_arrow().to_pylist()
    return sorted(list(row.values()) for row in found)


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [(kind, *counts) for kind, counts in zip(KINDS, cycle([(2, 5), (4, 3), (3, 1)]))],
)
def test_java_continues_a_table_that_we_rescaled(
    java: JavaDriver, tmp_path: Path, kind: str, old: int, new: int
) -> None:
    # The other one is never rescaled, and has the same done to it otherwise.
    path, twin = (
        given_table(java, tmp_path / name / "db.db" / "t", kind, buckets=old)
        for name in ("ours", "twin")
    )
    before = java.rows(path)
    newest = java.do("snapshots", path)[-1][0]

    open_table(path).rescale(new)

    assert java.rows(path) == before == rows(path) == java.rows(twin)
    assert java.rows(path, snapshot=newest) == before

    java_writes(java, path, range(7, 12))
    java_writes(java, twin, range(7, 12))
    for mode in ("normal", "full"):
        java.do("compact", path, mode=mode)
        java.do("compact", twin, mode=mode)
        assert java.rows(path) == rows(path) == java.rows(twin) == rows(twin)
    open_table(path).rescale(old)
    java.do("expire", path, retain=1)
    assert java.rows(path) == rows(path) == rows(twin)
    later = Table.open(str(path), clock=ManualClock(start_ms=TOMORROW_MS))
    later.clean_orphans(min_age_ms=0, delete=True)
    assert java.rows(path) == rows(path) == rows(twin)
    assert java.do("orphans", path) == []


def test_javas_changelog_has_no_rows_for_a_rescale(java: JavaDriver, tmp_path: Path) -> None:
    path = given_table(java, tmp_path / "db.db" / "t", "lookup", buckets=2)
    java.do("compact", path, mode="normal")
    first = java.do("snapshots", path)[-1][0]
    expected = {tuple(row[:2]): row for row in rows(path)}

    open_table(path).rescale(5)
    java_writes(java, path, range(7, 10))
    java.do("compact", path, mode="full")

    newest = java.do("snapshots", path)[-1][0]
    for _, changes in java.do("changelog", path, **{"from": first + 1, "to": newest}):
        for kind, *row in changes:
            key = tuple(row[:2])
            if kind in ("-D", "-U"):
                assert expected.pop(key) == row
            else:
                expected[key] = row
    assert sorted(expected.values()) == rows(path) == java.rows(path)


def test_between_schema_and_commit_java_is_turned_back_too(
    java: JavaDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = given_table(java, tmp_path / "db.db" / "t", "plain", buckets=2)
    before = rows(path)
    table = open_table(path)

    def refuse(*_: Any, **__: Any) -> None:
        message = "broken off"
        raise KeyboardInterrupt(message)

    with monkeypatch.context() as patched:
        patched.setattr(type(table.committer()), "commit", refuse)
        with pytest.raises(KeyboardInterrupt):
            table.rescale(3)

    assert open_table(path).schema.table_options.bucket == 3
    assert java.rows(path) == before == rows(path)
    with pytest.raises(JavaRefused, match="bucket"):
        java.write(path, [["+I", "p0", 3, 1, 1]])
    with pytest.raises(CommitConflict):
        open_table(path).follow_schema(wait_ms=0)
    open_table(path).rescale(3)
    java.write(path, [["+I", "p0", 3, 1, 1]])
    assert java.rows(path) == rows(path) != before
