"""Ranges of changes: bounds by snapshot, tag and time, and the mode."""

from typing import Any

import pytest

from braid.lake import (
    Catalog,
    ChangesExpired,
    ChangesMode,
    InvalidRequest,
    ManualClock,
    MemoryFileIO,
    ReadAt,
    Table,
)
from tests.unit.lake.table.given_changes import changes_by_snapshot, write

START = ManualClock().now_ms()
OUTLIVING = {
    "snapshot.num-retained.min": "1",
    "changelog.num-retained.min": "9",
    "changelog.num-retained.max": "9",
}
WRITTEN = [(number, [("+I", number, "x")]) for number in range(1, 5)]


def given_table(producer: str = "none", **options: str) -> Table:
    """Return a table with a commit each second, the second and fourth of them tagged."""
    clock = ManualClock()
    table = Catalog("/wh", file_io=MemoryFileIO(), clock=clock).create_table(
        "db.t",
        columns=[("k", "INT"), ("v", "STRING")],
        primary_key=["k"],
        options={"bucket": "1", "changelog-producer": producer, **options},
    )
    for number in range(1, 5):
        write(table, ("+I", number, "x"))
        if number % 2 == 0:
            table.create_tag(f"at-{number}")
        clock.advance(ms=1_000)
    return table


@pytest.mark.parametrize(
    ("after", "until", "ids"),
    [
        (ReadAt(snapshot_id=1), ReadAt(snapshot_id=3), (1, 3)),
        (ReadAt(tag="at-2"), None, (2, 4)),
        (1, ReadAt(tag="at-2"), (1, 2)),
        (ReadAt(tag="at-2"), ReadAt(tag="at-4"), (2, 4)),
        (ReadAt(timestamp=START - 1), ReadAt(timestamp=START + 1_999), (0, 2)),
        (ReadAt(timestamp=START + 1_000), ReadAt(timestamp=START + 99_000), (2, 4)),
        (ReadAt(timestamp=START - 2), ReadAt(timestamp=START - 1), (0, 0)),
        (2, ReadAt(), (2, 4)),
        (ReadAt(), None, (4, 4)),
    ],
    ids=str,
)
def test_a_range_is_bounded_by_states(after: Any, until: Any, ids: tuple[int, int]) -> None:
    changes = given_table().changes(after, until)

    assert (changes.after_snapshot_id, changes.until_snapshot_id) == ids
    assert changes_by_snapshot(changes) == WRITTEN[ids[0] : ids[1]]


@pytest.mark.parametrize(
    ("after", "until", "expected"),
    [
        (ReadAt(tag="at-4"), ReadAt(tag="at-2"), "from 4 to 4"),
        (ReadAt(snapshot_id=9), None, "from 0 to 4"),
        (ReadAt(tag="x"), None, "expected one of at-2, at-4"),
        (ReadAt(timestamp=START + 9_000), ReadAt(timestamp=START), "from 4 to 4"),
    ],
    ids=str,
)
def test_an_invalid_range_is_refused(after: Any, until: Any, expected: str) -> None:
    with pytest.raises(InvalidRequest, match=expected):
        given_table().changes(after, until)


def test_a_time_whose_snapshots_have_expired_cannot_begin_a_range() -> None:
    table = given_table()
    table.expire(retain_min=2, older_than_ms=START + 99_000)

    with pytest.raises(
        ChangesExpired, match="not kept; the oldest that are kept are those of snapshot 3"
    ):
        table.changes(ReadAt(timestamp=START + 1_500))
    assert changes_by_snapshot(table.changes(ReadAt(timestamp=START + 2_000))) == WRITTEN[3:]
    assert changes_by_snapshot(table.changes(ReadAt(tag="at-2"))) == WRITTEN[2:]


def test_a_time_whose_changes_are_kept_can_begin_a_range() -> None:
    table = given_table(**OUTLIVING)
    table.expire(retain_min=1, older_than_ms=START + 99_000)

    assert changes_by_snapshot(table.changes(ReadAt(timestamp=START + 1_500))) == WRITTEN[2:]


def test_delta_mode_reads_written_records_beside_a_changelog() -> None:
    table = given_table("lookup")
    table.compact()
    write(table, ("-D", 1, "x"))
    table.compact()

    assert changes_by_snapshot(table.changes(0, mode="delta")) == [*WRITTEN, (6, [("-D", 1, "x")])]
    assert changes_by_snapshot(table.changes(0, mode=ChangesMode.CHANGELOG)) == changes_by_snapshot(
        table.changes(0)
    )
    assert [number for number, _ in changes_by_snapshot(table.changes(0))] == [5, 7]


def test_written_records_expire_with_their_snapshot_although_the_changelog_is_kept() -> None:
    table = given_table("input", **OUTLIVING)
    table.expire(retain_min=1, older_than_ms=START + 99_000)

    assert changes_by_snapshot(table.changes(0)) == WRITTEN
    with pytest.raises(ChangesExpired, match="the oldest that are kept are those of snapshot 4"):
        table.changes(0, mode="delta")
    assert changes_by_snapshot(table.changes(3, mode="delta")) == WRITTEN[3:]


def test_a_reader_in_delta_mode_leases_the_snapshot_itself() -> None:
    table = given_table("input", **OUTLIVING)

    with table.changes(1, mode="delta").lease(what="a test"):
        table.expire(retain_min=1, older_than_ms=START + 99_000)
        assert changes_by_snapshot(table.changes(1, mode="delta")) == WRITTEN[1:]


@pytest.mark.parametrize(
    ("mode", "field"),
    [("changelog", "has no changelog"), ("both", "one of auto, delta"), (1, "mode")],
)
def test_a_mode_that_the_table_does_not_have_is_refused(mode: Any, field: str) -> None:
    with pytest.raises(InvalidRequest, match=field) as refused:
        given_table().changes(0, mode=mode)

    assert [problem.field for problem in refused.value.problems] == ["mode"]
