"""One document per table."""

import pytest

from braid.lake import CorruptData, ManualClock, MemoryFileIO
from braid.registry.errors import RegistryConflict
from braid.registry.store.documents import RegistryStore, Versioned
from braid.schemas import ColumnSpec, TableDocument, TableSpec


@pytest.fixture
def store(file_io: MemoryFileIO, clock: ManualClock) -> RegistryStore:
    return RegistryStore(file_io, "/w/", clock)


def document(name: str = "orders", *, comment: str | None = None) -> TableDocument:
    spec = TableSpec(
        columns=(ColumnSpec(name="id", type="INT"),), primary_key=("id",), comment=comment
    )
    return TableDocument(database="shop", name=name, table=spec)


def test_a_table_without_a_document_is_none(store: RegistryStore) -> None:
    assert store.table("shop.orders") is None
    assert store.tables().documents == ()


def test_the_newest_document_is_read_with_its_version(store: RegistryStore) -> None:
    first = store.put_table(document(), expected_version=None)
    second = store.put_table(document(comment="new"), expected_version=first)

    assert store.table("shop.orders") == Versioned(version=second, value=document(comment="new"))


def test_a_write_over_an_older_version_is_a_conflict(store: RegistryStore) -> None:
    seen = store.put_table(document(), expected_version=None)
    store.put_table(document(comment="theirs"), expected_version=seen)

    with pytest.raises(RegistryConflict, match=r"version 2 of the document of shop\.orders"):
        store.put_table(document(comment="mine"), expected_version=seen)


def test_a_second_first_version_is_a_conflict(store: RegistryStore) -> None:
    store.put_table(document(), expected_version=None)

    with pytest.raises(RegistryConflict):
        store.put_table(document(comment="other"), expected_version=None)


def test_tables_come_in_alphabetical_order(store: RegistryStore) -> None:
    for name in ("returns", "orders", "items"):
        store.put_table(document(name), expected_version=None)

    assert store.identifiers() == ["shop.items", "shop.orders", "shop.returns"]
    assert [found.name for found in store.tables().documents] == ["items", "orders", "returns"]


def test_an_unreadable_document_is_named(store: RegistryStore, file_io: MemoryFileIO) -> None:
    file_io.write_new("/w/_braid/tables/shop.orders/00000000000000000001.json", b"{}")

    with pytest.raises(CorruptData, match=r"shop\.orders, version 1"):
        store.table("shop.orders")


def test_an_unreadable_document_harms_only_its_own_table(
    store: RegistryStore, file_io: MemoryFileIO
) -> None:
    store.put_table(document(), expected_version=None)
    file_io.write_new("/w/_braid/tables/shop.items/00000000000000000001.json", b"")

    found = store.tables()

    assert found.documents == (document(),)
    assert [*found.unreadable] == ["shop.items"]
    assert isinstance(found.unreadable["shop.items"], CorruptData)
