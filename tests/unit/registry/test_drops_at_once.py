"""A drop that stalls at any of its storage calls, while the table is dropped and created anew, leaves the new one whole."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
import pytest

from braid.lake import Catalog, FileIO, LakeError, ManualClock, MemoryFileIO, TableNotFound
from braid.registry.errors import RegistryError
from braid.registry.registrar import Registrar
from braid.registry.store.audit_log import UNKNOWN_ACTOR, AuditNote
from braid.registry.store.documents import RegistryStore
from braid.registry.table_dropper import TableDropper
from braid.schemas import AuditAction
from tests.support.faulty_file_io import Died, FaultyFileIO
from tests.support.table_files import copied
from tests.unit.registry.shop import orders

ORDERS = "shop.orders"
OLD = [{"id": 1, "region": "eu"}]
NEW = [{"id": 2, "region": "us"}]
DELETIONS = ("delete", "delete_tree")


@dataclass(frozen=True)
class Shop:
    """The processes of a warehouse."""

    file_io: FileIO
    clock: ManualClock

    @property
    def catalog(self) -> Catalog:
        return Catalog("/w", file_io=self.file_io, clock=self.clock)

    @property
    def store(self) -> RegistryStore:
        return RegistryStore(self.file_io, "/w", self.clock)

    def drop(self) -> None:
        TableDropper(
            self.store, self.catalog, file_io=self.file_io, warehouse="/w", clock=self.clock
        ).drop(ORDERS)

    def create(self, rows: list[dict[str, object]]) -> None:
        Registrar(self.store, self.catalog, self.clock).put_table("shop", "orders", orders())
        schema = pa.schema([("id", pa.int64()), ("region", pa.string())])
        self.catalog.table(ORDERS).write_and_commit(pa.Table.from_pylist(rows, schema=schema))

    def rows(self) -> object:
        """Return the rows of the table if it is registered; None if there is no trace of it."""
        if self.store.stored(ORDERS) is None:
            assert self.store.identifiers() == []
            assert self.file_io.list("/w/shop.db/orders") == []
            return None
        return self.catalog.table(ORDERS).scan(columns=["id", "region"]).to_arrow().to_pylist()


def registered(shop: Shop) -> None:
    shop.create(OLD)


def registered_with_versions(shop: Shop) -> None:
    """A new document begins with version 1 again, not with that of the old one."""
    shop.create(OLD)
    stored = shop.store.stored(ORDERS)
    assert stored is not None
    shop.store.put_table(stored.value, expected_version=stored.version)


def dropped_in_part(shop: Shop) -> None:
    """The process that dropped the table has died before the first file was deleted."""
    shop.create(OLD)
    dying = FaultyFileIO(shop.file_io)

    def die(_number: int, method: str, _path: str) -> None:
        if method == "delete":
            raise Died

    dying.before = die
    with pytest.raises(Died):
        Shop(dying, shop.clock).drop()


def unregistered_in_part(shop: Shop) -> None:
    """The process that dropped the table and keeps its files has died after its mark."""
    shop.create(OLD)
    newest = shop.store.newest(ORDERS)
    assert newest is not None
    note = AuditNote(actor=UNKNOWN_ACTOR, action=AuditAction.DROP_TABLE)
    shop.store.mark_dropped(ORDERS, expected=newest, keeps_data=True, note=note)


def unregistered(shop: Shop) -> None:
    shop.create(OLD)
    shop.file_io.delete_tree("/w/_braid/tables/shop.orders")


@pytest.mark.parametrize(
    "given",
    [registered, registered_with_versions, dropped_in_part, unregistered_in_part, unregistered],
)
def test_a_drop_that_stalls_deletes_nothing_of_a_table_that_was_created_since(
    given: Callable[[Shop], None],
) -> None:
    storage, clock = MemoryFileIO(), ManualClock()
    given(Shop(storage, clock))
    undisturbed = copied(storage)
    calls = FaultyFileIO(undisturbed)
    Shop(calls, clock).drop()
    assert Shop(undisturbed, clock).rows() is None
    # Until then the drop has not chosen its table: a new one is the one that it drops, whole.
    begins = next(n for n, call in enumerate(calls.calls) if call[1].endswith("/schema-0"))
    marks = [n for n, call in enumerate(calls.calls) if call[0] == "create_exclusive"]
    begun = max([begins, *marks])

    windows = []
    for stalled in range(len(calls.calls)):
        found = _stalled_at(stalled, storage)
        if calls.calls[stalled][0] in DELETIONS:
            windows.append(stalled)  # decided already: see `TableDropper`
        elif stalled > begun:
            assert found == NEW, calls.calls[stalled]
        else:
            assert found in (NEW, None), calls.calls[stalled]
    assert windows


def _stalled_at(number: int, storage: MemoryFileIO) -> object:
    """Return the rows when the table is dropped and created anew before a call of a drop, None: no table."""
    stored, clock = copied(storage), ManualClock()
    slow, other = FaultyFileIO(stored), Shop(stored, clock)

    def replace(at: int, _method: str, _path: str) -> None:
        if at == number:
            clock.advance(ms=1)
            with suppress(TableNotFound):  # the slow one has deleted everything
                other.drop()
            other.create(NEW)

    slow.before = replace
    with suppress(LakeError, RegistryError):  # an answer, too
        Shop(slow, clock).drop()
    try:
        return other.rows()
    except (LakeError, AssertionError) as error:
        return error
