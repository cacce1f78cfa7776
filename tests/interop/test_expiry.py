"""Java and we expire the same tables: what is left is the same, file by file, and Java reads it."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from braid.lake import Table
from tests.interop.java_driver import JavaDriver
from tests.interop.java_history import copies, write_history
from tests.interop.ours import open_table

pytestmark = [pytest.mark.interop, pytest.mark.slow]

KINDS: Mapping[str, Mapping[str, str]] = {
    "plain": {},
    "vectors": {"deletion-vectors.enabled": "true"},
    "lookup": {"changelog-producer": "lookup"},
    "full-compaction": {"changelog-producer": "full-compaction"},
    "input": {"changelog-producer": "input"},
    "dynamic": {"bucket": "-1"},
    "small manifests": {"manifest.merge-min-count": "2"},
}
FEWEST = 9


@pytest.fixture(scope="module", params=KINDS)
def original(
    request: pytest.FixtureRequest, java: JavaDriver, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return a table of nine or more snapshots that Java wrote, compacted and tagged."""
    path = tmp_path_factory.mktemp("expiry") / "db.db" / "t"
    write_history(java, path, KINDS[request.param], tagged=(3, 6))
    return path


def left(path: Path) -> set[str]:
    """Return the names of all files, relative; hints are compared by what they say."""
    return {
        str(file.relative_to(path))
        for file in path.rglob("*")
        if file.is_file() and file.name != "LATEST" and not file.name.startswith(".")
    }


def hint(path: Path, name: str) -> str | None:
    file = path / name
    return file.read_text() if file.exists() else None


def newest_id(path: Path) -> int:
    newest = open_table(path).latest_snapshot()
    assert newest is not None
    return newest.id


def expire(path: Path, *, kept: int) -> Table:
    table = open_table(path)
    table.expire(retain_min=kept, older_than_ms=1 << 60)
    return table


def test_what_is_left_is_what_java_leaves(original: Path, java: JavaDriver, tmp_path: Path) -> None:
    latest = newest_id(original)
    assert latest >= FEWEST
    for kept in (1, latest // 2, latest - 1):
        by_java, by_us = copies(original, tmp_path / str(kept))

        java.do("expire", by_java, retain=1 << 30, min=kept)
        expire(by_us, kept=kept)

        assert left(by_us) == left(by_java), kept
        assert hint(by_us, "snapshot/EARLIEST") == hint(by_java, "snapshot/EARLIEST")
        for tag in ("after-3", "after-6"):
            assert java.rows(by_us, tag=tag) == java.rows(original, tag=tag)
        for number in range(latest - kept + 1, latest + 1):
            assert java.rows(by_us, snapshot=number) == java.rows(original, snapshot=number)


def test_step_by_step_and_in_turn_it_is_the_same(
    original: Path, java: JavaDriver, tmp_path: Path
) -> None:
    latest = newest_id(original)
    by_java, in_turn = copies(original, tmp_path)

    for kept in range(latest - 1, 0, -1):
        java.do("expire", by_java, retain=1 << 30, min=kept)
        if kept % 2:
            java.do("expire", in_turn, retain=1 << 30, min=kept)
        else:
            expire(in_turn, kept=kept)
        assert left(in_turn) == left(by_java), kept


def test_java_continues_a_table_whose_snapshots_we_expired(
    original: Path, java: JavaDriver, tmp_path: Path
) -> None:
    _, path = copies(original, tmp_path)
    expire(path, kept=2)

    java.write(path, [["+I", "p0", 100, 1]])
    java.do("compact", path, mode="full")
    rows = java.rows(path)
    java.do("expire", path, retain=1 << 30, min=1)

    assert ["p0", 100, 1] in rows
    assert java.rows(path) == rows
    table = open_table(path)
    assert sorted(map(list, (row.values() for row in table.scan().to_arrow().to_pylist()))) == rows


def test_changelogs_outlive_snapshots_as_java_does_it(
    original: Path, java: JavaDriver, tmp_path: Path
) -> None:
    latest = newest_id(original)
    for kept, changelogs in ((1, 4), (3, 5), (2, 8)):
        by_java, by_us = copies(original, tmp_path / str(kept))
        options = {
            "changelog.num-retained.min": str(changelogs),
            "changelog.num-retained.max": str(changelogs),
            "changelog.time-retained": "1 ms",
            "snapshot.num-retained.min": "1",
        }
        for path in (by_java, by_us):
            set_options(path, options)

        for _ in range(2):
            java.do("expire", by_java, retain=1 << 20, min=kept, changelogs=changelogs)
            expire(by_us, kept=kept)

        assert left(by_us) == left(by_java), (kept, changelogs)
        for name in ("EARLIEST", "LATEST"):
            assert hint(by_us, f"changelog/{name}") == hint(by_java, f"changelog/{name}")
        first = max(latest - changelogs + 1, 1)
        told = java.do("changelog", by_us, **{"from": first, "to": latest})
        assert told == java.do("changelog", original, **{"from": first, "to": latest})


def set_options(path: Path, options: Mapping[str, str]) -> None:
    file = path / "schema" / "schema-0"
    schema = json.loads(file.read_text())
    schema["options"] |= options
    file.write_text(json.dumps(schema))


def test_java_respects_our_leases(original: Path, java: JavaDriver, tmp_path: Path) -> None:
    _, path = copies(original, tmp_path)
    table = open_table(path)
    expected = java.rows(original, snapshot=4)

    with table.lease(4, holder="a test"):
        assert java.do("expire", path, retain=1 << 30, min=1) == 4
        assert java.rows(path, snapshot=4) == expected

    assert java.do("expire", path, retain=1 << 30, min=1) == newest_id(path)


def test_positions_are_known_below_what_java_commits_and_merges(
    original: Path, java: JavaDriver, tmp_path: Path
) -> None:
    """Its snapshots do not say what they follow; the manifests that it merges have the same files."""
    _, path = copies(original, tmp_path)
    claimed = open_table(path).committer().claim_stream("s", topic="t", initial_offsets={0: 4})
    claim_id = newest_id(path)

    for mode in ("full", "minor"):
        java.do("compact", path, mode=mode)
        java.write(path, [["+I", "p0", 1, 1]])
    java.do("expire", path, retain=1 << 30, min=1)

    assert newest_id(path) > claim_id
    assert min(number for number, _ in java.do("snapshots", path)) == claim_id
    assert open_table(path).committer().stream_positions() == {"s": claimed}
