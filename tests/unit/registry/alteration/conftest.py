"""A registered table of three sequence groups, two of them with streams."""

import pytest

from braid.lake import Catalog, ManualClock, MemoryFileIO, Table
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from tests.unit.registry.alteration.changing import ORDERS
from tests.unit.registry.shop import definition, orders


@pytest.fixture
def store(file_io: MemoryFileIO, clock: ManualClock) -> RegistryStore:
    return RegistryStore(file_io, "/w", clock)


@pytest.fixture
def catalog(file_io: MemoryFileIO, clock: ManualClock) -> Catalog:
    return Catalog("/w", file_io=file_io, clock=clock)


@pytest.fixture
def registrar(store: RegistryStore, catalog: Catalog, clock: ManualClock) -> Registrar:
    registrar = Registrar(store, catalog, clock)
    registrar.put_table("shop", "orders", orders())
    for name in ("sales", "payments"):
        registrar.put_stream(ORDERS, name, definition(name))
    return registrar


@pytest.fixture
def table(registrar: Registrar, catalog: Catalog) -> Table:
    return catalog.table(ORDERS)
