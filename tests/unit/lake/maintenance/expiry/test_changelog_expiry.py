"""Changelogs that outlive their snapshots."""

import json
from collections.abc import Mapping

import pytest

from braid.lake import ReadAt, Table
from braid.lake.maintenance.expiry.changelog_expiry import ChangelogExpiry
from braid.lake.maintenance.expiry.file_removal import FileRemoval
from braid.lake.snapshots.changelog_store import ChangelogStore
from tests.unit.lake.maintenance.given_compactions import read, write
from tests.unit.lake.maintenance.given_expiries import (
    HOUR_MS,
    expire_all,
    given_history,
    kept_ids,
    needed,
    stored,
)

OUTLIVING = {
    "snapshot.num-retained.min": "1",
    "changelog.num-retained.min": "5",
    "changelog.num-retained.max": "5",
}
PRODUCERS = pytest.mark.parametrize("producer", ["none", "input", "lookup", "full-compaction"])


def changes(table: Table, after: int, until: int) -> list[tuple[object, ...]]:
    """Return all changes of a range of snapshots, read without any cache, as (snapshot, kind, ...)."""
    fresh = Table.open(table.path, file_io=table.file_io)
    found: list[tuple[object, ...]] = []
    for change in fresh.changes(after, until):
        rows = change.to_arrow().to_pylist()
        found += [(change.snapshot_id, *row.values()) for row in rows]
    return found


def kept_changelogs(table: Table) -> list[int]:
    return ChangelogStore(table.file_io, table.paths).list_ids()


def options(producer: str, more: Mapping[str, str] = OUTLIVING) -> dict[str, str]:
    return {"changelog-producer": producer, **more}


@PRODUCERS
def test_changes_outlive_their_snapshots(producer: str) -> None:
    table, _ = given_history(options(producer))
    before = {after: changes(table, after, 8) for after in range(8)}
    rows = read(table)

    result = table.expire(retain_min=1, older_than_ms=1 << 60, max_deletes=3)

    # 4 to 8 are the newest five changes; the newest that outlived its snapshot stays as well.
    assert (result.snapshots, result.changelogs) == ((1, 2, 3), (1, 2))
    assert kept_changelogs(table) == [3]
    assert {after: changes(table, after, 8) for after in range(2, 8)} == {
        after: found for after, found in before.items() if after >= 2
    }
    assert stored(table) == needed(table)

    result = expire_all(table)

    # 8 has its snapshot, 4 to 7 outlive theirs.
    assert (result.snapshots, result.changelogs) == ((4, 5, 6, 7), (3,))
    assert (kept_changelogs(table), kept_ids(table)) == ([4, 5, 6, 7], [8])
    assert {after: changes(table, after, 8) for after in range(3, 8)} == {
        after: found for after, found in before.items() if after >= 3
    }
    assert read(table) == rows
    assert stored(table) == needed(table)


@PRODUCERS
def test_repeated_expiries_leak_no_file(producer: str) -> None:
    table, clock = given_history(
        options(
            producer,
            {
                "snapshot.num-retained.min": "1",
                "snapshot.time-retained": "2 h",
                "changelog.num-retained.min": "1",
                "changelog.time-retained": "5 h",
            },
        )
    )
    for number in range(9, 20):
        if number % 3:
            write(table, (number % 4, number))
        else:
            table.compact()
        table.expire()
        assert stored(table) == needed(table), number
        clock.advance(ms=HOUR_MS)

    assert len(kept_ids(table)) <= 4
    assert 1 <= len(kept_changelogs(table)) <= 4
    first = kept_changelogs(table)[0]
    assert changes(table, first - 1, kept_ids(table)[-1])


def test_hints_of_changelogs_follow() -> None:
    table, _ = given_history(options("none"))

    expire_all(table)

    store = table.file_io
    assert store.read_bytes(table.paths.latest_changelog_hint) == b"7"
    assert store.read_bytes(table.paths.earliest_changelog_hint) == b"4"


def test_a_consumer_holds_changelogs() -> None:
    table, _ = given_history({**options("input"), "consumer.changelog-only": "true"})
    table.reset_consumer("reports", 2)

    result = expire_all(table)

    assert (result.earliest, result.changelogs) == (8, (1,))
    assert kept_changelogs(table) == [2, 3, 4, 5, 6, 7]
    assert stored(table) == needed(table)


@PRODUCERS
def test_a_tag_keeps_its_files_when_its_changelog_goes(producer: str) -> None:
    for tagged in range(1, 8):
        table, _ = given_history(options(producer))
        expected = read(table, tagged)
        table.create_tag("a", snapshot_id=tagged)

        expire_all(table)

        fresh = Table.open(table.path, file_io=table.file_io)
        found = [
            tuple(row.values()) for row in fresh.scan(at=ReadAt(tag="a")).to_arrow().to_pylist()
        ]
        assert sorted(found, key=repr) == expected
        assert needed(table) <= stored(table)


def test_changelogs_above_a_snapshot_that_a_rollback_brought_back_leave_it_whole() -> None:
    """As after a rollback to a tag that was interrupted before it removed the changelogs above."""
    table, _ = given_history(options("none"))
    expected = read(table, 5)
    table.create_tag("a", snapshot_id=5)
    expire_all(table)
    store = table._opened.store
    store.file_io.overwrite(
        store.paths.snapshot(5), store.file_io.read_bytes(store.paths.changelog(5))
    )
    store.snapshots.write_earliest_hint(5)
    store.file_io.delete(store.paths.tag("a"))

    removed = ChangelogExpiry(store=store, removal=FileRemoval(store=store)).run([4, 5, 6, 7], 7)

    assert removed == (4, 5, 6)
    fresh = Table.open(table.path, file_io=table.file_io)
    assert fresh.snapshot(5).id == 5
    assert read(fresh, 5) == expected


@PRODUCERS
def test_without_the_options_kept_changelogs_expire_like_snapshots(producer: str) -> None:
    table, _ = given_history(options(producer))
    expire_all(table)
    write(table, (1, 1))
    plain = with_options(table, {"changelog-producer": producer})

    result = plain.expire(retain_min=1, older_than_ms=1 << 60)

    # By default ten changes stay; nothing was lost on the way.
    assert (result.snapshots, result.changelogs) == ((8,), ())
    assert stored(plain) == needed(plain)


def with_options(table: Table, changed: Mapping[str, str]) -> Table:
    """Return the table opened with other options."""
    document = table.file_io.read_bytes(table.paths.schema(0)).decode()
    kept = {**changed, "bucket": "1"}
    schema = json.loads(document)
    schema["options"] = kept
    table.file_io.overwrite(table.paths.schema(0), json.dumps(schema).encode())
    return Table.open(table.path, file_io=table.file_io)
