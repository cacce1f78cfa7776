"""A stream is held by the living runner that the assignment names, or by a lease of an earlier version."""

import pytest

from braid.lake import ManualClock, MemoryFileIO
from braid.registry.placement.assignment import Assignment, Member, Place
from braid.registry.store.assignments import AssignmentStore
from braid.registry.store.leases import LeaseStore
from braid.registry.store.progress import ProgressStore
from braid.registry.store.stream_holders import StreamHolders
from braid.schemas import RunnerProgress

ASSIGNED = Assignment(
    runners={"a": Member(owner="a-1", ttl_ms=5_000)},
    streams={"db.t/s": Place(owner="a-1"), "db.t/former": Place(owner="a-0")},
)


@pytest.mark.parametrize("storage_has_a_clock", [True, False])
def test_a_runner_holds_its_streams_until_its_time_to_live_has_passed(
    storage_has_a_clock: bool,
) -> None:
    clock = ManualClock()
    file_io = MemoryFileIO(clock=clock if storage_has_a_clock else None)
    holders = StreamHolders(file_io, "/w", clock)
    assert holders.holder("db.t", "s") is None
    AssignmentStore(file_io, "/w", clock).change(lambda _: ASSIGNED)
    assert holders.holder("db.t", "s") is None, "without a heartbeat"
    report = RunnerProgress(runner="a", started_ms=0, updated_ms=clock.now_ms(), owner="a-1")
    ProgressStore(file_io, "/w", clock).write(report)

    assert holders.holders("db.t", "s", "former", "other") == {"s": "a"}
    assert holders.alive(ASSIGNED) == {"a-1"}
    clock.advance(ms=4_999)
    assert holders.holder("db.t", "s") == "a"
    clock.advance(ms=1)
    assert holders.holder("db.t", "s") is None
    assert not holders.alive(ASSIGNED)


def test_a_heartbeat_dated_far_ahead_is_of_a_storage_whose_clock_was_set_back() -> None:
    clock = ManualClock()
    file_io = MemoryFileIO(clock=clock)
    AssignmentStore(file_io, "/w", clock).change(lambda _: ASSIGNED)
    file_io.write_new("/w/_braid/runners/a.json", b"{")
    clock.advance(ms=-60_000)

    assert StreamHolders(file_io, "/w", clock).holder("db.t", "s") is None


def test_a_lease_of_an_earlier_version_counts() -> None:
    clock = ManualClock()
    file_io = MemoryFileIO(clock=clock)
    LeaseStore(file_io, "/w", clock).acquire("db.t", "s", "old-1", 5_000)
    holders = StreamHolders(file_io, "/w", clock)

    assert holders.holder("db.t", "s") == "old-1"
    clock.advance(ms=5_000)
    assert holders.holder("db.t", "s") is None
