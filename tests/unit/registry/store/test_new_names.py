"""Names of tables that are created at the same time differ in more than case."""

import threading
from concurrent.futures import ThreadPoolExecutor

from braid.lake import Catalog, ManualClock, MemoryFileIO
from braid.registry.errors import DefinitionRefused
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.registry.store.new_names import KEPT_MS, NewNames
from tests.unit.registry.shop import orders

NAMES = ("orders", "Orders")


def test_of_two_tables_that_are_created_at_once_at_most_one_exists() -> None:
    for _ in range(20):
        file_io, clock = MemoryFileIO(), ManualClock()
        registrars = [
            Registrar(
                RegistryStore(file_io, "/w", clock),
                Catalog("/w", file_io=file_io, clock=clock),
                clock,
            )
            for _ in NAMES
        ]
        begin = threading.Barrier(len(NAMES))

        def put(registrar: Registrar, name: str, begin: threading.Barrier = begin) -> bool:
            begin.wait()
            try:
                registrar.put_table("shop", name, orders())
            except DefinitionRefused:
                return False
            return True

        with ThreadPoolExecutor(len(NAMES)) as threads:
            made = list(threads.map(put, registrars, NAMES))

        assert sum(made) <= 1
        assert registrars[0].put_table(
            "shop", NAMES[made.index(True) if any(made) else 0], orders()
        )
        assert len(RegistryStore(file_io, "/w", clock).identifiers()) == 1


def test_an_announcement_is_visible_until_it_ends(
    file_io: MemoryFileIO, clock: ManualClock
) -> None:
    names = NewNames(file_io, "/w", clock)

    with names.announced("shop.orders"), names.announced("shop.orders"):
        assert names.identifiers() == {"shop.orders"}

    assert names.identifiers() == set()


def test_the_announcement_of_a_process_that_died_is_forgotten(clock: ManualClock) -> None:
    file_io = MemoryFileIO(clock=clock)
    names = NewNames(file_io, "/w", clock)
    died = names.announced("shop.orders")
    died.__enter__()

    clock.advance(ms=KEPT_MS)
    assert names.identifiers() == {"shop.orders"}
    clock.advance(ms=1)
    assert names.identifiers() == set()
    assert file_io.list("/w/_braid/new-names") == []
