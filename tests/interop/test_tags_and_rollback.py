"""Java and we tag, branch, roll back and clean the same tables, and each reads what the other left."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from braid.lake import ManualClock, ReadAt, SystemClock, Table
from tests.interop.java_driver import JavaDriver
from tests.interop.java_history import copies, write_history
from tests.interop.ours import open_table

pytestmark = [pytest.mark.interop, pytest.mark.slow]

MARK = "consumer/rolling-back"
"""Our rollback leaves it, so that whoever commits looks for a gap in the chain of snapshots."""

KINDS: Mapping[str, Mapping[str, str]] = {
    "plain": {},
    "vectors": {"deletion-vectors.enabled": "true"},
    "full-compaction": {"changelog-producer": "full-compaction"},
    "input": {"changelog-producer": "input"},
    "small manifests": {"manifest.merge-min-count": "2"},
}
# Later than every file that a test writes.
TOMORROW_MS = SystemClock().now_ms() + 86_400_000


@pytest.fixture(scope="module", params=KINDS)
def original(
    request: pytest.FixtureRequest, java: JavaDriver, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return a table of ten or more snapshots that Java wrote and compacted."""
    path = tmp_path_factory.mktemp("tags") / "db.db" / "t"
    write_history(java, path, KINDS[request.param])
    return path


@pytest.fixture
def pair(original: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Return a copy for Java and one for us."""
    return copies(original, tmp_path)


def ours(path: Path) -> Table:
    return Table.open(str(path))


def tomorrow(path: Path) -> Table:
    """Open a table at a time at which its files are old; nothing is committed by such a clock."""
    return Table.open(str(path), clock=ManualClock(start_ms=TOMORROW_MS))


def rows(table: Table, at: int | ReadAt | None = None) -> list[list[Any]]:
    found = table.scan(at=at).to_arrow().to_pylist()
    return sorted(list(row.values()) for row in found)


def ids(java: JavaDriver, path: Path) -> list[int]:
    return [number for number, _ in java.do("snapshots", path)]


def left(path: Path) -> set[str]:
    """Return the names of all files but hints, relative."""
    return {
        str(file.relative_to(path))
        for file in path.rglob("*")
        if file.is_file() and file.name not in ("LATEST", "EARLIEST")
    }


def orphans(table: Table) -> set[str]:
    return {file.path for file in table.clean_orphans(min_age_ms=0).files}


def test_a_rollback_leaves_what_javas_leaves(java: JavaDriver, pair: tuple[Path, Path]) -> None:
    by_java, by_us = pair
    for path in pair:
        java.do("tag", path, name="early", snapshot=3)
        java.do("tag", path, name="late", snapshot=8)

    java.do("rollback", by_java, snapshot=5)
    open_table(by_us).rollback(snapshot_id=5)

    assert left(by_us) == left(by_java) | {MARK}
    assert ids(java, by_us) == ids(java, by_java) == [1, 2, 3, 4, 5]
    assert java.rows(by_us) == java.rows(by_java) == rows(ours(by_us)) == rows(ours(by_java))
    assert java.rows(by_us, tag="early") == rows(ours(by_java), ReadAt(tag="early"))


def test_java_continues_after_our_rollback_and_we_continue_after_javas(
    java: JavaDriver, pair: tuple[Path, Path]
) -> None:
    by_java, by_us = pair
    more = [["+I", "p0", 3, 90], ["+I", "p1", 1, 91], ["-D", "p2", 2, 92]]

    java.do("rollback", by_java, snapshot=4)
    ours(by_us).rollback(snapshot_id=4)
    for path in pair:
        java.write(path, more)
        ours(path).compact()
        java.do("compact", path, mode="full")

    assert java.rows(by_us) == java.rows(by_java) == rows(ours(by_us)) == rows(ours(by_java))
    for path in pair:
        before = java.rows(path)
        tomorrow(path).clean_orphans(min_age_ms=0, delete=True)
        assert java.rows(path) == before == rows(ours(path))
        assert java.do("orphans", path) == []


def test_a_rollback_to_an_expired_tag_leaves_what_javas_leaves(
    java: JavaDriver, pair: tuple[Path, Path]
) -> None:
    by_java, by_us = pair
    for path in pair:
        java.do("tag", path, name="three", snapshot=3)
        java.do("tag", path, name="six", snapshot=6)
        java.do("expire", path, retain=2)

    java.do("rollback", by_java, tag="three")
    ours(by_us).rollback(tag="three")

    assert left(by_us) == left(by_java) | {MARK}
    assert ids(java, by_us) == [3]
    assert java.rows(by_us) == java.rows(by_java) == rows(ours(by_us))
    java.write(by_us, [["+I", "p0", 3, 90]])
    java.do("compact", by_us, mode="full")
    assert ["p0", 3, 90] in rows(ours(by_us))


def test_deleted_tags_take_the_files_that_javas_take(
    java: JavaDriver, pair: tuple[Path, Path]
) -> None:
    by_java, by_us = pair
    for path in pair:
        for number in (2, 4, 7):
            java.do("tag", path, name=f"t{number}", snapshot=number)
        java.do("expire", path, retain=1)

    for name in ("t4", "t2", "t7"):
        java.do("delete_tag", by_java, name=name)
        ours(by_us).delete_tag(name)

        gone = left(by_java) - left(by_us)
        assert left(by_us) <= left(by_java)
        # Java keeps what a neighbour's manifests mention; what we take besides is needed by nobody.
        assert {f"{by_java}/{file}" for file in gone} <= orphans(tomorrow(by_java))
        assert java.rows(by_us) == java.rows(by_java) == rows(ours(by_us))
    assert orphans(tomorrow(by_us)) == set()


def test_javas_tag_of_our_snapshot_is_that_snapshot(
    java: JavaDriver, pair: tuple[Path, Path]
) -> None:
    """Java leaves out of a tag what its version does not know, `uuid` for one."""
    for path, use in zip(pair, ("delete", "rollback"), strict=True):
        table = ours(path)
        table.write_and_commit(pa.table({"p": ["p9"], "k": [9], "v": [9]}))
        position = table.committer().claim_stream("s", topic="t", initial_offsets={0: 4})
        java.do("tag", path, name="javas")
        tagged = rows(table)
        java.write(path, [["+I", "p0", 1, 1]])
        java.do("compact", path, mode="full")

        if use == "delete":
            expected = java.rows(path)
            assert ours(path).delete_tag("javas").deleted_files == 0
        else:
            expected = tagged
            ours(path).rollback(tag="javas")
            found = ours(path).committer().stream_positions()["s"]
            assert found.offsets == position.offsets
            assert found.epoch > position.epoch

        assert java.rows(path) == expected == rows(ours(path))
        tomorrow(path).clean_orphans(min_age_ms=0, delete=True)
        assert java.rows(path) == expected


def test_times_to_live_are_read_by_the_other(java: JavaDriver, pair: tuple[Path, Path]) -> None:
    _, path = pair
    java.do("tag", path, name="java", snapshot=2, seconds=18_000)
    table = open_table(path)
    table.create_tag("ours", snapshot_id=3, retained_ms=18_000_000)

    found = {tag.name: tag for tag in table.tags()}

    assert found["java"].retained_ms == found["ours"].retained_ms == 18_000_000
    assert found["java"].created is not None
    assert found["ours"].created is not None
    assert abs(found["java"].created - found["ours"].created) < timedelta(minutes=5)
    assert java.rows(path, tag="ours") == rows(table, 3)
    assert rows(table, ReadAt(tag="java")) == java.rows(path, snapshot=2)
    assert {done.name for done in tomorrow(path).expire_tags()} == {"java", "ours"}


def test_a_branch_of_java_is_read_and_kept(java: JavaDriver, pair: tuple[Path, Path]) -> None:
    _, path = pair
    compacted = 4
    before = java.rows(path, snapshot=compacted)
    java.do("tag", path, name="t", snapshot=compacted)
    java.do("branch", path, name="b", tag="t")
    java.write(path, [["+I", "p0", 0, 77]], options={"branch": "b"})
    java.do("compact", path, mode="full", options={"branch": "b"})
    on_branch = java.rows(path, options={"branch": "b"})

    table = ours(path)
    table.expire(retain_max=1, older_than_ms=TOMORROW_MS)
    table.delete_tag("t")
    tomorrow(path).clean_orphans(min_age_ms=0, delete=True)

    assert before != on_branch
    assert rows(ours(path).branch("b")) == on_branch
    assert rows(ours(path).branch("b"), ReadAt(tag="t")) == before
    assert java.rows(path, options={"branch": "b"}) == on_branch


def test_what_java_takes_for_orphans_we_do_too(java: JavaDriver, pair: tuple[Path, Path]) -> None:
    _, path = pair
    for name in ("bucket-0/x", "manifest/x", "index/x", "snapshot/x", "p=p0/bucket-0/x"):
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"")
    java.do("tag", path, name="t", snapshot=4)
    java.do("expire", path, retain=3, min=3)
    java.do("rollback", path, snapshot=max(ids(java, path)) - 1)

    by_java, by_us = set(java.do("orphans", path)), orphans(tomorrow(path))

    assert by_java <= by_us
    reads = [java.rows(path), java.rows(path, tag="t")]
    tomorrow(path).clean_orphans(min_age_ms=0, delete=True)
    assert [java.rows(path), java.rows(path, tag="t")] == reads
    assert java.do("orphans", path) == []
