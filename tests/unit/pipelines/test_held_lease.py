"""A held lease is renewed in time, and lost when another owner has it."""

from dataclasses import dataclass, field

import pytest

from braid.lake import ManualClock, MemoryFileIO, StorageUnavailable
from braid.pipelines.held_lease import HeldLease
from braid.registry.store.leases import LeaseStore

TTL_MS = 9_000


@dataclass
class Bench:
    clock: ManualClock = field(default_factory=ManualClock)

    def __post_init__(self) -> None:
        self.store = LeaseStore(MemoryFileIO(), "/w", self.clock)
        self.lease = self.held_by("me")

    def held_by(self, owner: str) -> HeldLease:
        """Return a lease of the same stream for an owner."""
        return HeldLease(
            self.store, table="db.t", name="s", owner=owner, ttl_ms=TTL_MS, clock=self.clock
        )


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_one_owner_holds_a_lease_at_a_time(bench: Bench) -> None:
    other = bench.held_by("other")

    assert bench.lease.hold()
    assert not other.hold()
    bench.lease.release()
    assert other.hold()
    assert not bench.lease.hold()


def test_a_lease_is_renewed_after_a_third_of_its_time(bench: Bench) -> None:
    bench.lease.hold()
    granted_ms = bench.clock.now_ms()
    bench.clock.advance(ms=TTL_MS // 3 - 1)
    assert bench.lease.hold()
    assert bench.lease.answered_ms == granted_ms
    bench.clock.advance(ms=1)
    assert bench.lease.hold()

    assert bench.lease.answered_ms == granted_ms + TTL_MS // 3
    bench.clock.advance(ms=TTL_MS - 1)
    assert not bench.held_by("other").hold()


def test_a_clock_that_is_set_back_delays_no_renewal(bench: Bench) -> None:
    bench.lease.hold()
    bench.clock.advance(ms=-86_400_000)
    bench.lease.hold()

    assert bench.lease.answered_ms == bench.clock.now_ms()


def test_a_lease_that_another_owner_took_is_lost(bench: Bench) -> None:
    bench.lease.hold()
    bench.clock.advance(ms=TTL_MS)
    assert bench.held_by("other").hold()

    assert bench.lease.is_held
    assert not bench.lease.hold()
    assert not bench.lease.is_held


def test_a_doubtful_lease_is_verified_before_its_time(bench: Bench) -> None:
    bench.lease.hold()
    bench.clock.advance(ms=1)
    bench.lease.verify_next()
    bench.lease.hold()

    assert bench.lease.answered_ms == bench.clock.now_ms()


def test_an_error_of_storage_leaves_the_lease_as_it_was(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.lease.hold()
    bench.clock.advance(ms=TTL_MS // 2)

    def fail(_lease: object) -> None:
        message = "away"
        raise StorageUnavailable(message)

    with monkeypatch.context() as patch:
        patch.setattr(bench.store, "renew", fail)
        with pytest.raises(StorageUnavailable, match="away"):
            bench.lease.hold()

    assert bench.lease.is_held
    assert bench.lease.hold()


def test_releasing_a_lease_that_is_not_held_does_nothing(bench: Bench) -> None:
    bench.lease.release()

    assert not bench.lease.is_held
