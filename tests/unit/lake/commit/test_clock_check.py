"""A clock that is ahead commits nothing, and one that did harms neither expiry nor time travel."""

from dataclasses import replace

import pyarrow as pa
import pytest

from braid.lake import Catalog, InvalidRequest, ManualClock, MemoryFileIO, ReadAt, Table
from braid.lake.commit.clock_check import ClockCheck
from braid.lake.files.paths import TablePaths
from braid.lake.format.snapshot import serialize_snapshot
from tests.support.faulty_file_io import FaultyFileIO

YEAR_MS = 365 * 86_400_000
PATHS = TablePaths("/w/db.db/t")


class Bed:
    """A table on storage with a clock, and machines whose clocks are their own."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.file_io = MemoryFileIO(clock=self.clock)
        self.table = Catalog("/w", file_io=self.file_io, clock=self.clock).create_table(
            "db.t",
            columns=[("id", "BIGINT"), ("v", "BIGINT")],
            primary_key=["id"],
            options={
                "bucket": "1",
                "snapshot.num-retained.min": "1",
                "snapshot.time-retained": "1 min",
            },
        )

    def at(self, *, ahead_ms: int) -> Table:
        """Open the table on a machine whose clock is ahead."""
        clock = ManualClock(start_ms=self.clock.now_ms() + ahead_ms)
        return Catalog("/w", file_io=self.file_io, clock=clock).table("db.t")

    def commit_by_a_clock_that_is_ahead(self) -> None:
        """Commit as an older version did, which compared no clocks."""
        commit(self.table)
        snapshot = self.table.latest_snapshot()
        assert snapshot is not None
        ahead = replace(snapshot, time_millis=snapshot.time_millis + YEAR_MS)
        self.file_io.overwrite(PATHS.snapshot(snapshot.id), serialize_snapshot(ahead))


def commit(table: Table) -> None:
    """Add a row to each existing one."""
    count = table.scan().count()
    table.write_and_commit(pa.table({"id": [count], "v": [1]}))


@pytest.fixture
def bed() -> Bed:
    return Bed()


def test_a_clock_that_is_ahead_commits_nothing(bed: Bed) -> None:
    with pytest.raises(InvalidRequest, match="at most 5 minutes after storage's clock") as raised:
        commit(bed.at(ahead_ms=300_001))

    assert raised.value.committed_nothing
    assert bed.table.latest_snapshot() is None
    assert bed.table.clean_orphans(min_age_ms=0).files == ()


@pytest.mark.parametrize("ahead_ms", [300_000, -YEAR_MS])
def test_a_clock_that_is_about_right_or_late_commits(bed: Bed, ahead_ms: int) -> None:
    commit(bed.at(ahead_ms=ahead_ms))

    assert bed.table.latest_snapshot() is not None


def test_the_time_of_storage_is_read_at_most_once_a_minute(bed: Bed) -> None:
    observed = FaultyFileIO(bed.file_io)
    check = ClockCheck(observed, PATHS)
    bed.file_io.write_new(PATHS.manifest("m"), b"")
    start_ms = bed.clock.now_ms()

    for passed_ms in (0, 10, 59_999, 60_000, 60_001):
        check.compare(start_ms + passed_ms, written="m")

    assert len(observed.calls) == 2


def test_a_snapshot_of_a_clock_ahead_expires_by_the_time_of_its_file(bed: Bed) -> None:
    for _ in range(2):
        commit(bed.table)
        bed.commit_by_a_clock_that_is_ahead()
    bed.clock.advance(ms=30_000)
    commit(bed.table)
    assert bed.table.expire().snapshots == ()
    bed.clock.advance(ms=60_001)

    assert bed.table.expire().snapshots == (1, 2, 3, 4)


def test_a_snapshot_of_a_clock_ahead_is_found_in_time_travel(bed: Bed) -> None:
    moments = []
    for is_ahead in (False, True, False, True):
        bed.clock.advance(ms=1_000)
        moments.append(bed.clock.now_ms())
        if is_ahead:
            bed.commit_by_a_clock_that_is_ahead()
        else:
            commit(bed.table)

    found = [bed.table.scan(at=ReadAt(timestamp=moment)).count() for moment in moments]

    assert found == [1, 2, 3, 4]


def test_the_next_commit_has_the_time_of_its_own_clock(bed: Bed) -> None:
    bed.commit_by_a_clock_that_is_ahead()
    bed.clock.advance(ms=5)

    commit(bed.table)

    newest = bed.table.latest_snapshot()
    assert newest is not None
    assert newest.time_millis == bed.clock.now_ms()
