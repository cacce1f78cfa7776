"""Snapshots are found by the time of their commits, in few reads, while others are removed."""

from dataclasses import replace

import pytest

from braid.lake.errors import StorageUnavailable
from braid.lake.format.snapshot import Snapshot
from braid.lake.snapshots.snapshot_times import newest_until
from tests.support.snapshots import given_snapshot


class Chain:
    """Snapshots by id, and how often one was read."""

    def __init__(self, times: dict[int, int]) -> None:
        self.snapshots = {
            number: replace(given_snapshot(number), time_millis=time_ms)
            for number, time_ms in times.items()
        }
        self.told = dict(times)
        self.reads = 0
        self.vanishing: list[int] = []

    def bounds(self) -> tuple[int, int] | None:
        return (min(self.snapshots), max(self.snapshots)) if self.snapshots else None

    def find(self, snapshot_id: int) -> Snapshot | None:
        self.reads += 1
        for number in self.vanishing:
            self.snapshots.pop(number)
        self.vanishing = []
        return self.snapshots.get(snapshot_id)

    def newest_until(self, time_ms: int) -> int | None:
        found = newest_until(
            time_ms, bounds=self.bounds, find=self.find, commit_time_ms=lambda s: self.told[s.id]
        )
        return None if found is None else found.id


def test_every_moment_has_the_newest_snapshot_of_then_or_before() -> None:
    times = {4: 10, 5: 20, 6: 20, 7: 20, 8: 35, 9: 35}
    chain = Chain(times)

    for moment in range(40):
        expected = max((number for number, at in times.items() if at <= moment), default=None)
        assert chain.newest_until(moment) == expected, moment


def test_without_snapshots_there_is_none() -> None:
    assert Chain({}).newest_until(10) is None


def test_the_newest_is_found_by_one_read_and_others_by_few() -> None:
    chain = Chain({number: number for number in range(1, 1001)})

    chain.newest_until(2_000)
    assert chain.reads == 1
    chain.newest_until(617)
    assert chain.reads <= 12


def test_what_expires_meanwhile_is_not_found() -> None:
    chain = Chain({1: 10, 2: 20, 3: 30, 4: 40})
    chain.vanishing = [1, 2]

    assert chain.newest_until(20) is None
    assert chain.newest_until(30) == 3


def test_a_chain_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(StorageUnavailable, match="removed faster than one can be found"):
        newest_until(1, bounds=lambda: (1, 2), find=lambda _: None, commit_time_ms=lambda _: 0)


def test_what_a_clock_that_was_ahead_committed_is_found_by_storages_time() -> None:
    chain = Chain({1: 10, 2: 9_000, 3: 9_000, 4: 9_000})
    chain.told = {1: 10, 2: 20, 3: 30, 4: 40}

    assert [chain.newest_until(moment) for moment in (9, 10, 25, 30, 50)] == [None, 1, 2, 3, 4]
