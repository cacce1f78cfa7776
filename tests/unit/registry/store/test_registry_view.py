"""The documents of all tables in memory."""

import pytest

from braid.lake import CorruptData, ManualClock, MemoryFileIO, StorageUnavailable
from braid.registry.store.audit_log import AuditNote
from braid.registry.store.documents import RegisteredTables, RegistryStore
from braid.registry.store.registry_view import LISTING_S, RegistryView
from braid.schemas import Actor, AuditAction, ColumnSpec, TableDocument, TableSpec
from tests.support.faulty_file_io import Died, FaultyFileIO, Moment

NOTE = AuditNote(
    actor=Actor(name="ann", address="host", request_id="r1"), action=AuditAction.PUT_TABLE
)


class SteadyClock:
    """Seconds that pass when they are told to, and a little with each look."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 1e-6
        return self.now_s


@pytest.fixture
def steady() -> SteadyClock:
    return SteadyClock()


@pytest.fixture
def file_io(clock: ManualClock) -> MemoryFileIO:
    return MemoryFileIO(clock=clock)


@pytest.fixture
def counted(file_io: MemoryFileIO) -> FaultyFileIO:
    """The storage of the view."""
    return FaultyFileIO(file_io)


@pytest.fixture
def writer(file_io: MemoryFileIO, clock: ManualClock) -> RegistryStore:
    """Another process."""
    return RegistryStore(file_io, "/w", clock)


@pytest.fixture
def view(counted: FaultyFileIO, clock: ManualClock, steady: SteadyClock) -> RegistryView:
    store = RegistryStore(counted, "/w", clock)
    return RegistryView(store, counted, "/w", steady_s=steady)


def document(name: str = "orders", *, comment: str | None = None) -> TableDocument:
    columns = (ColumnSpec(name="id", type="INT"),)
    spec = TableSpec(columns=columns, primary_key=("id",), comment=comment)
    return TableDocument(database="shop", name=name, table=spec)


def comments(tables: RegisteredTables) -> dict[str, str | None]:
    return {one.name: one.table.comment for one in tables.documents}


def refuse_counting(_: int, __: str, path: str) -> None:
    """The fault of a storage in which documents can be written, but no change can be counted."""
    if "/changes/" in path:
        message = "no space"
        raise StorageUnavailable(message)


def test_the_view_has_what_the_store_reads(view: RegistryView, writer: RegistryStore) -> None:
    assert view.tables() == writer.tables()

    for name in ("returns", "orders"):
        writer.put_table(document(name), expected_version=None)

    assert view.tables() == writer.tables()
    assert [one.name for one in view.tables().documents] == ["orders", "returns"]


def test_each_change_of_another_process_is_in_the_next_look(
    view: RegistryView, writer: RegistryStore, file_io: MemoryFileIO
) -> None:
    version = writer.put_table(document(), expected_version=None)
    before = view.tables()
    writer.put_table(document(comment="new"), expected_version=version)
    changed = view.tables()
    newest = writer.newest("shop.orders")
    assert newest is not None
    mark = writer.mark_dropped("shop.orders", expected=newest, keeps_data=False, note=NOTE)
    marked = view.tables()
    writer.forget("shop.orders", mark)
    forgotten = view.tables()
    writer.put_table(document(comment="another"), expected_version=None)

    assert comments(before) == {"orders": None}
    assert comments(changed) == {"orders": "new"}
    assert (comments(marked), marked.identifiers) == ({}, ["shop.orders"])
    assert forgotten.identifiers == []
    assert comments(view.tables()) == {"orders": "another"}


@pytest.mark.parametrize("tables", [10, 100])
def test_requests_do_not_grow_with_the_number_of_tables(
    view: RegistryView,
    writer: RegistryStore,
    counted: FaultyFileIO,
    steady: SteadyClock,
    tables: int,
) -> None:
    for number in range(tables):
        writer.put_table(document(f"t{number}"), expected_version=None)
    first = view.tables()
    counted.calls.clear()

    steady.now_s += 0.5
    assert view.tables() is first
    looks = [method for method, _ in counted.calls]
    counted.calls.clear()
    steady.now_s += LISTING_S
    assert view.tables() == first

    assert looks == ["read_bytes"]
    assert [method for method, _ in counted.calls] == ["list", "list_tree"]


def test_a_change_reads_the_documents_that_it_names(
    view: RegistryView, writer: RegistryStore, counted: FaultyFileIO
) -> None:
    for number in range(10):
        writer.put_table(document(f"t{number}"), expected_version=None)
    view.tables()
    writer.put_table(document("t3", comment="new"), expected_version=1)
    counted.calls.clear()

    assert comments(view.tables())["t3"] == "new"

    documents = [path for method, path in counted.calls if "/tables/" in path]
    assert {path.split("/")[4] for path in documents} == {"shop.t3"}


def test_an_uncounted_change_is_seen_by_the_next_listing(
    view: RegistryView,
    writer: RegistryStore,
    file_io: MemoryFileIO,
    clock: ManualClock,
    steady: SteadyClock,
) -> None:
    """As one of a version of the software that counts none."""
    writer.put_table(document(), expected_version=None)
    view.tables()
    uncounted = FaultyFileIO(file_io)
    uncounted.before = refuse_counting
    older = RegistryStore(uncounted, "/w", clock)
    older.put_table(document(comment="new"), expected_version=1)

    assert comments(view.tables()) == {"orders": None}
    steady.now_s += LISTING_S
    assert comments(view.tables()) == {"orders": "new"}


@pytest.mark.parametrize("moment", Moment)
def test_a_writer_that_ends_at_any_call_delays_its_change_by_one_listing_at_most(
    file_io: MemoryFileIO, clock: ManualClock, steady: SteadyClock, moment: Moment
) -> None:
    for number in range(20):
        warehouse = f"/w{number}"
        setup = RegistryStore(file_io, warehouse, clock)
        setup.put_table(document(), expected_version=None)
        view = RegistryView(setup, file_io, warehouse, steady_s=steady)
        view.tables()
        dying = FaultyFileIO(file_io)
        dying.die_at(number, moment)
        try:
            RegistryStore(dying, warehouse, clock).put_table(
                document(comment="new"), expected_version=1
            )
        except Died:
            steady.now_s += LISTING_S
        else:
            assert number > 4, "the sweep has met every call of the writer"
            break

        assert view.tables() == RegistryStore(file_io, warehouse, clock).tables()
    else:
        pytest.fail("the writer makes more calls than were swept")


def test_changes_of_the_own_process_are_seen_though_they_could_not_be_counted(
    counted: FaultyFileIO, clock: ManualClock, steady: SteadyClock, caplog: pytest.LogCaptureFixture
) -> None:
    store = RegistryStore(counted, "/w", clock)
    view = RegistryView(store, counted, "/w", steady_s=steady)
    view.tables()
    counted.before = refuse_counting
    store.put_table(document(), expected_version=None)
    counted.before = lambda *_: None

    assert comments(view.tables()) == {"orders": None}
    assert "could not be counted table=shop.orders error=no space" in caplog.text


def test_an_unreadable_document_harms_its_own_table_and_is_read_once_it_is_mended(
    view: RegistryView,
    writer: RegistryStore,
    file_io: MemoryFileIO,
    clock: ManualClock,
    steady: SteadyClock,
) -> None:
    path = "/w/_braid/tables/shop.items/00000000000000000001.json"
    writer.put_table(document(), expected_version=None)
    file_io.write_new(path, b"")
    found = view.tables()
    data = writer.read_version("shop.orders", 1)
    assert data is not None
    clock.advance(ms=1)
    file_io.overwrite(path, data.replace(b'"orders"', b'"items"'))
    steady.now_s += LISTING_S

    assert comments(found) == {"orders": None}
    assert isinstance(found.unreadable["shop.items"], CorruptData)
    assert comments(view.tables()) == {"items": None, "orders": None}


def test_an_outage_is_an_error_and_loses_no_change(
    view: RegistryView, writer: RegistryStore, counted: FaultyFileIO
) -> None:
    writer.put_table(document(), expected_version=None)
    view.tables()
    writer.put_table(document(comment="new"), expected_version=1)

    def fault(_: int, __: str, path: str) -> None:
        if "/tables/" in path:
            message = "no answer"
            raise StorageUnavailable(message)

    counted.before = fault
    with pytest.raises(StorageUnavailable, match="no answer"):
        view.tables()
    counted.before = lambda *_: None

    assert comments(view.tables()) == {"orders": "new"}


def test_a_warehouse_that_was_replaced_is_read_anew(
    view: RegistryView,
    writer: RegistryStore,
    file_io: MemoryFileIO,
    clock: ManualClock,
    steady: SteadyClock,
) -> None:
    """As from a backup: its changes are fewer than the view knows, and its versions have the same numbers."""
    for name in ("orders", "items"):
        writer.put_table(document(name), expected_version=None)
    view.tables()
    file_io.delete_tree("/w")
    clock.advance(ms=1)
    writer.put_table(document("orders", comment="restored"), expected_version=None)
    steady.now_s += 2.0

    assert comments(view.tables()) == {"orders": "restored"}


def test_changes_that_were_deleted_during_an_outage_are_found(
    view: RegistryView,
    writer: RegistryStore,
    file_io: MemoryFileIO,
    counted: FaultyFileIO,
    steady: SteadyClock,
) -> None:
    """Looks that failed a moment ago have seen no changes."""
    writer.put_table(document(), expected_version=None)
    view.tables()

    def fault(*_: object) -> None:
        message = "no answer"
        raise StorageUnavailable(message)

    counted.before = fault
    for _ in range(3):
        steady.now_s += 0.5
        with pytest.raises(StorageUnavailable):
            view.tables()
    counted.before = lambda *_: None
    writer.put_table(document(comment="new"), expected_version=1)
    file_io.delete_tree("/w/_braid/changes")  # as if many others had followed
    steady.now_s += 0.5

    assert comments(view.tables()) == {"orders": "new"}
