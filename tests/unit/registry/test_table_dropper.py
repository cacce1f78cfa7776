"""A table is dropped as a whole, only without writers, and its name is free then."""

import pytest

from braid.lake import Catalog, ManualClock, MemoryFileIO, TableNotFound
from braid.registry.errors import DefinitionRefused, RegistryConflict, StreamNotStopped
from braid.registry.layout.physical_table import physical_table
from braid.registry.registrar import Registrar
from braid.registry.store.audit_log import AuditNote
from braid.registry.store.documents import RegistryStore, Versioned
from braid.registry.store.leases import LeaseStore
from braid.registry.stream_entries import Verb
from braid.registry.table_dropper import TableDropper
from tests.unit.registry.shop import definition, orders

ORDERS = "shop.orders"


class Shop:
    """A warehouse with one table."""

    def __init__(self) -> None:
        self.file_io, self.clock = MemoryFileIO(), ManualClock()
        self.catalog = Catalog("/w", file_io=self.file_io, clock=self.clock)
        self.store = RegistryStore(self.file_io, "/w", self.clock)
        self.registrar = Registrar(self.store, self.catalog, self.clock)
        self.registrar.put_table("shop", "orders", orders())

    def drop(self, *, keep_data: bool = False) -> None:
        TableDropper(
            self.store,
            self.catalog,
            file_io=self.file_io,
            warehouse="/w",
            clock=self.clock,
        ).drop(ORDERS, keep_data=keep_data)


@pytest.fixture
def shop() -> Shop:
    return Shop()


def test_document_and_files_go_and_the_name_is_free(shop: Shop) -> None:
    shop.drop()

    assert shop.store.identifiers() == []
    assert shop.catalog.list_tables() == []
    assert shop.registrar.put_table("shop", "orders", orders(buckets=9)).is_new


def test_the_files_stay_on_demand_and_can_be_registered_again(shop: Shop) -> None:
    shop.drop(keep_data=True)

    with pytest.raises(TableNotFound):
        shop.registrar.document(ORDERS)
    assert shop.catalog.list_tables() == [ORDERS]
    with pytest.raises(TableNotFound, match="registered"):
        shop.drop(keep_data=True)
    assert shop.registrar.put_table("shop", "orders", orders()).is_new


def test_a_stream_that_is_not_stopped_keeps_its_table(shop: Shop) -> None:
    shop.registrar.put_stream(ORDERS, "sales", definition())
    with pytest.raises(StreamNotStopped, match="sales"):
        shop.drop()
    shop.registrar.apply_verb(ORDERS, "sales", Verb.STOP)
    leases = LeaseStore(shop.file_io, "/w", shop.clock)
    lease = leases.acquire(ORDERS, "sales", owner="r", ttl_ms=1_000)
    assert lease is not None
    with pytest.raises(StreamNotStopped, match="still held by r"):
        shop.drop()

    leases.release(lease)
    shop.drop()

    assert shop.catalog.list_tables() == []


def test_a_stream_that_is_started_meanwhile_prevents_the_drop(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.registrar.put_stream(ORDERS, "sales", definition())
    shop.registrar.apply_verb(ORDERS, "sales", Verb.STOP)
    mark = shop.store.mark_dropped

    def start_first(
        identifier: str, *, expected: Versioned[bytes], keeps_data: bool, note: AuditNote
    ) -> Versioned[bytes]:
        monkeypatch.undo()
        shop.registrar.apply_verb(ORDERS, "sales", Verb.START)
        return mark(identifier, expected=expected, keeps_data=keeps_data, note=note)

    monkeypatch.setattr(shop.store, "mark_dropped", start_first)

    with pytest.raises(StreamNotStopped, match="RUNNING"):
        shop.drop()
    assert shop.catalog.list_tables() == [ORDERS]


def test_an_interrupted_drop_continues(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(_identifier: str, **_more: object) -> None:
        raise OSError("died")

    monkeypatch.setattr(shop.catalog, "drop_table", die)
    with pytest.raises(OSError, match="died"):
        shop.drop()
    monkeypatch.undo()
    with pytest.raises(TableNotFound):
        shop.registrar.document(ORDERS)

    shop.drop()

    assert shop.catalog.list_tables() == []
    assert shop.store.identifiers() == []


def test_what_is_left_of_a_document_goes_with_the_next_drop(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise OSError("died")

    monkeypatch.setattr(shop.store, "forget", die)
    with pytest.raises(OSError, match="died"):
        shop.drop()
    monkeypatch.undo()
    assert shop.store.identifiers() == [ORDERS]

    with pytest.raises(TableNotFound):
        shop.drop()

    assert shop.store.identifiers() == []


def given_interrupted_drop(shop: Shop, monkeypatch: pytest.MonkeyPatch, *, keep_data: bool) -> None:
    """A drop that dies right after its mark."""

    def die(*_: object, **_more: object) -> None:
        raise OSError("died")

    if keep_data:
        monkeypatch.setattr(shop.store, "forget", die)
    else:
        monkeypatch.setattr(shop.catalog, "drop_table", die)
    with pytest.raises(OSError, match="died"):
        shop.drop(keep_data=keep_data)
    monkeypatch.undo()
    assert shop.store.identifiers() == [ORDERS]


def test_an_interrupted_drop_that_keeps_the_files_continues(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_interrupted_drop(shop, monkeypatch, keep_data=True)

    shop.drop(keep_data=True)

    assert shop.store.identifiers() == []
    assert shop.catalog.list_tables() == [ORDERS]
    with pytest.raises(TableNotFound, match="registered"):
        shop.drop(keep_data=True)


def test_files_that_an_interrupted_drop_has_kept_can_be_deleted(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_interrupted_drop(shop, monkeypatch, keep_data=True)

    shop.drop()

    assert shop.store.identifiers() == []
    assert shop.catalog.list_tables() == []


def test_a_drop_that_keeps_the_files_does_not_end_one_that_deletes_them(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its mark the other would stop deleting in the midst."""
    given_interrupted_drop(shop, monkeypatch, keep_data=False)

    with pytest.raises(TableNotFound, match="registered"):
        shop.drop(keep_data=True)
    shop.drop()

    assert shop.store.identifiers() == []
    assert shop.catalog.list_tables() == []


def test_a_drop_that_keeps_the_files_does_not_stop_one_that_deletes_them_later(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_interrupted_drop(shop, monkeypatch, keep_data=True)
    kept = shop.store.newest(ORDERS)
    given_interrupted_drop(shop, monkeypatch, keep_data=False)

    shop.store.forget(ORDERS, kept)

    assert shop.store.identifiers() == [ORDERS]


def test_a_writer_that_slept_does_not_bring_the_document_back(shop: Shop) -> None:
    stored = shop.store.stored(ORDERS)
    assert stored is not None
    shop.drop()

    with pytest.raises(RegistryConflict):
        shop.store.put_table(stored.value, expected_version=stored.version)
    assert shop.store.stored(ORDERS) is None


def test_what_is_not_there_is_not_dropped(shop: Shop) -> None:
    shop.drop()

    with pytest.raises(TableNotFound, match="there is no table"):
        shop.drop()


@pytest.mark.parametrize(
    ("database", "name", "place"),
    [("shop", "Orders", "/table"), ("SHOP", "orders", "/database"), ("Shop", "x", "/database")],
)
def test_names_that_differ_in_case_only_are_refused(
    shop: Shop, database: str, name: str, place: str
) -> None:
    (problem,) = shop.registrar.plan_table(database, name, orders()).problems

    assert problem.pointer == place
    with pytest.raises(DefinitionRefused, match="in case only"):
        shop.registrar.put_table(database, name, orders())


def test_an_existing_table_is_not_adopted_beside_a_name_of_another_case(shop: Shop) -> None:
    layout = physical_table(orders())
    shop.catalog.create_table(
        "shop.Orders",
        columns=layout.columns,
        primary_key=layout.primary_key,
        partition_keys=layout.partition_keys,
        options=layout.options,
        comment=layout.comment,
    )

    (problem,) = shop.registrar.plan_table("shop", "Orders", orders()).problems

    assert problem.pointer == "/table"
    with pytest.raises(DefinitionRefused, match="in case only"):
        shop.registrar.put_table("shop", "Orders", orders())
