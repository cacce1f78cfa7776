"""Leases of streams."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from braid.lake import ManualClock, MemoryFileIO
from braid.registry.store.leases import UNREADABLE_MS, Lease, LeaseStore

TTL_MS = 10_000
NOW_MS = 1_700_000_000_000
DAY_MS = 86_400_000
DIFFERENCES = [-DAY_MS, -TTL_MS, 0, TTL_MS, DAY_MS]
"""By how much one machine's clock is ahead of storage's, and the other's behind, milliseconds."""


@pytest.fixture
def leases(file_io: MemoryFileIO, clock: ManualClock) -> LeaseStore:
    return LeaseStore(file_io, "/w", clock)


def acquire(leases: LeaseStore, owner: str) -> Lease | None:
    return leases.acquire("shop.orders", "pay", owner, TTL_MS)


def test_a_free_lease_is_granted(leases: LeaseStore, clock: ManualClock) -> None:
    lease = acquire(leases, "r1")

    assert lease is not None
    assert lease.expires_ms == clock.now_ms() + TTL_MS
    assert leases.holder("shop.orders", "pay") == lease


def test_a_live_lease_is_not_granted_to_another_owner(leases: LeaseStore) -> None:
    acquire(leases, "r1")

    assert acquire(leases, "r2") is None


def test_leases_of_other_streams_and_tables_are_apart(leases: LeaseStore) -> None:
    acquire(leases, "r1")

    assert leases.acquire("shop.orders", "ship", "r2", TTL_MS) is not None
    assert leases.acquire("shop.returns", "pay", "r2", TTL_MS) is not None


def test_the_owner_of_a_live_lease_gets_it_again(leases: LeaseStore) -> None:
    first = acquire(leases, "r1")
    second = acquire(leases, "r1")

    assert first is not None
    assert second is not None
    assert second.version == first.version + 1


def test_an_expired_lease_is_granted_to_another_owner_and_lost_to_the_former(
    leases: LeaseStore, clock: ManualClock
) -> None:
    old = acquire(leases, "r1")
    clock.advance(ms=TTL_MS)
    new = acquire(leases, "r2")

    assert old is not None
    assert new is not None
    assert leases.renew(old) is None
    assert leases.holder("shop.orders", "pay") == new


def test_renewal_prolongs_and_can_be_repeated(leases: LeaseStore, clock: ManualClock) -> None:
    lease = acquire(leases, "r1")
    for _ in range(3):
        assert lease is not None
        clock.advance(ms=TTL_MS // 2)
        lease = leases.renew(lease)

    assert lease is not None
    assert lease.expires_ms == clock.now_ms() + TTL_MS
    assert acquire(leases, "r2") is None


def test_an_expired_lease_without_another_owner_is_renewed(
    leases: LeaseStore, clock: ManualClock
) -> None:
    lease = acquire(leases, "r1")
    clock.advance(ms=3 * TTL_MS)

    assert lease is not None
    assert leases.renew(lease) is not None


def test_a_released_lease_is_free_at_once(leases: LeaseStore) -> None:
    lease = acquire(leases, "r1")
    assert lease is not None
    leases.release(lease)

    assert leases.holder("shop.orders", "pay") is None
    assert acquire(leases, "r2") is not None


def test_a_lost_lease_cannot_release_that_of_another_owner(
    leases: LeaseStore, clock: ManualClock
) -> None:
    old = acquire(leases, "r1")
    clock.advance(ms=TTL_MS)
    new = acquire(leases, "r2")
    assert old is not None
    leases.release(old)

    assert leases.holder("shop.orders", "pay") == new


def test_of_many_that_see_an_expired_lease_one_gets_it(
    leases: LeaseStore, clock: ManualClock
) -> None:
    acquire(leases, "r0")
    clock.advance(ms=TTL_MS)

    with ThreadPoolExecutor(8) as threads:
        granted = list(threads.map(lambda n: acquire(leases, f"r{n}"), range(1, 9)))

    assert len([lease for lease in granted if lease is not None]) == 1
    holder = leases.holder("shop.orders", "pay")
    assert holder in granted


@pytest.mark.parametrize("data", [b"", b'{"owner": "r1"', b"\0\0"])
def test_an_unreadable_lease_is_held_by_an_unknown_owner_until_it_is_old(
    leases: LeaseStore, file_io: MemoryFileIO, clock: ManualClock, data: bytes
) -> None:
    path = "/w/_braid/leases/shop.orders.pay/00000000000000000001.json"
    file_io.write_new(path, data)
    (written,) = file_io.list("/w/_braid/leases/shop.orders.pay")

    clock.advance(ms=written.modified_ms + UNREADABLE_MS - 1 - clock.now_ms())
    assert acquire(leases, "r2") is None
    clock.advance(ms=1)
    lease = acquire(leases, "r2")

    assert lease is not None
    assert leases.holder("shop.orders", "pay") == lease


def test_the_owner_of_a_lease_that_became_unreadable_repairs_it(
    leases: LeaseStore, file_io: MemoryFileIO
) -> None:
    lease = acquire(leases, "r1")
    assert lease is not None
    file_io.overwrite("/w/_braid/leases/shop.orders.pay/00000000000000000001.json", b"")

    renewed = leases.renew(lease)

    assert renewed is not None
    assert leases.holder("shop.orders", "pay") == renewed


@dataclass
class Machine:
    """A machine that takes leases, with a clock of its own."""

    storage: MemoryFileIO
    ahead_ms: int

    def __post_init__(self) -> None:
        self.clock = ManualClock(start_ms=NOW_MS + self.ahead_ms)
        self.leases = LeaseStore(self.storage, "/w", self.clock)


class Room:
    """Machines whose clocks differ, and the storage that they share."""

    def __init__(self, ahead_ms: int) -> None:
        """Let the clock of the second machine be ahead of storage's, as that of the first is behind."""
        self.clock = ManualClock(start_ms=NOW_MS)
        storage = MemoryFileIO(clock=self.clock)
        self.first, self.second = Machine(storage, -ahead_ms), Machine(storage, ahead_ms)

    def advance(self, ms: int) -> None:
        """Let time pass, on all clocks alike."""
        for clock in (self.clock, self.first.clock, self.second.clock):
            clock.advance(ms=ms)


@pytest.mark.parametrize("ahead_ms", DIFFERENCES)
def test_a_dead_owners_lease_lasts_for_its_time_whatever_the_clocks_show(ahead_ms: int) -> None:
    room = Room(ahead_ms)
    assert acquire(room.first.leases, "dead") is not None

    for _ in range(TTL_MS // 100 - 1):
        room.advance(100)
        assert acquire(room.second.leases, "r2") is None
    room.advance(100)

    assert room.second.leases.holder("shop.orders", "pay") is None
    assert acquire(room.second.leases, "r2") is not None


@pytest.mark.parametrize("ahead_ms", DIFFERENCES)
def test_a_renewing_owner_keeps_its_lease_whatever_the_clocks_show(ahead_ms: int) -> None:
    room = Room(ahead_ms)
    lease = acquire(room.first.leases, "r1")

    for _ in range(20):
        room.advance(TTL_MS // 3)
        assert acquire(room.second.leases, "r2") is None
        assert LeaseStore(room.second.storage, "/w", room.second.clock).holder("shop.orders", "pay")
        assert lease is not None
        lease = room.first.leases.renew(lease)
    assert lease is not None


@pytest.mark.parametrize("jump_ms", [DAY_MS, -DAY_MS, 3_000, -3_000])
def test_a_readers_clock_that_is_set_robs_no_living_owner_and_keeps_no_dead_one(
    jump_ms: int,
) -> None:
    room = Room(0)
    lease = acquire(room.first.leases, "r1")
    assert lease is not None
    assert acquire(room.second.leases, "r2") is None
    room.advance(TTL_MS - 2_000)
    lease = room.first.leases.renew(lease)
    room.second.clock.advance(ms=jump_ms)
    assert acquire(room.second.leases, "r2") is None

    room.advance(TTL_MS - 1)
    assert acquire(room.second.leases, "r2") is None
    room.advance(5_000)
    assert acquire(room.second.leases, "r2") is not None


def test_storages_clock_that_is_set_back_keeps_no_dead_owners_lease() -> None:
    room = Room(0)
    acquire(room.first.leases, "dead")
    room.clock.advance(ms=-DAY_MS)
    room.advance(TTL_MS)

    lease = acquire(room.second.leases, "r2")

    assert lease is not None
    assert acquire(room.first.leases, "r1") is None
    assert room.second.leases.renew(lease) is not None
