"""A stream counts as stopped when that is its desired state and no runner holds it."""

import pytest

from braid.lake import Catalog, ManualClock, MemoryFileIO
from braid.registry.errors import StreamNotStopped
from braid.registry.registrar import Registrar
from braid.registry.stopped_streams import check_streams_stopped
from braid.registry.store.documents import RegistryStore
from braid.registry.store.leases import LeaseStore
from braid.registry.stream_entries import Verb
from tests.unit.registry.shop import definition, orders

TABLE = "shop.orders"
WAREHOUSE = "/w"


@pytest.fixture
def registrar(file_io: MemoryFileIO, clock: ManualClock) -> Registrar:
    """Return a registrar of a table with the streams `sales` and `payments`."""
    store = RegistryStore(file_io, WAREHOUSE, clock)
    registrar = Registrar(store, Catalog(WAREHOUSE, file_io=file_io, clock=clock), clock)
    registrar.put_table("shop", "orders", orders())
    for name in ("sales", "payments"):
        registrar.put_stream(TABLE, name, definition(sequence_group=name))
    return registrar


def check(file_io: MemoryFileIO, clock: ManualClock, table: str = TABLE) -> None:
    check_streams_stopped(file_io, WAREHOUSE, table, clock=clock)


def test_streams_whose_desired_state_is_not_stopped_are_named(
    registrar: Registrar, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    """By their desired states: whether one has failed is only in the report of its runner."""
    registrar.apply_verb(TABLE, "payments", Verb.PAUSE)

    with pytest.raises(
        StreamNotStopped,
        match=r"payments \(desired state PAUSED\), sales \(desired state RUNNING\)",
    ):
        check(file_io, clock)


def test_a_stream_that_a_runner_still_holds_is_not_stopped(
    registrar: Registrar, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    for name in ("sales", "payments"):
        registrar.apply_verb(TABLE, name, Verb.STOP)
    lease = LeaseStore(file_io, WAREHOUSE, clock).acquire(TABLE, "sales", "r1", 5_000)
    assert lease is not None

    with pytest.raises(StreamNotStopped, match=r"not stopped: sales \(still held by r1\)"):
        check(file_io, clock)
    clock.advance(ms=5_000)
    check(file_io, clock)


def test_a_table_that_is_not_registered_has_no_streams(
    file_io: MemoryFileIO, clock: ManualClock
) -> None:
    check(file_io, clock, "shop.unknown")
