"""Pages of the audit log: newest first, each entry once, wherever it is."""

import random
from collections.abc import Callable

import orjson
import pytest

from braid.lake import Catalog, ManualClock, MemoryFileIO
from braid.registry.registrar import Registrar
from braid.registry.store import audit_pages
from braid.registry.store.audit_log import EntryName
from braid.registry.store.audit_pages import AuditFilter, AuditPages
from braid.registry.store.documents import RegistryStore
from braid.registry.stream_entries import Verb
from braid.schemas import Actor, AuditEntry
from tests.unit.registry.shop import definition, orders

ALL = AuditFilter()


class Shop:
    """A warehouse with the changes of two people on two tables."""

    def __init__(self, file_io: MemoryFileIO, clock: ManualClock) -> None:
        self.file_io, self.clock = file_io, clock
        self.store = RegistryStore(file_io, "/w", clock)
        catalog = Catalog("/w", file_io=file_io, clock=clock)
        self._registrar = Registrar(self.store, catalog, clock)
        self.ann, self.bob = (self._registrar.by(Actor(name=name)) for name in ("ann", "bob"))
        for table in ("orders", "items"):
            self.ann.put_table("shop", table, orders())
            self.bob.put_stream(f"shop.{table}", "sales", definition())
            clock.advance(ms=1_000)

    def verb(self, table: str, verb: Verb) -> None:
        self.ann.apply_verb(f"shop.{table}", "sales", verb)

    def pages(self) -> AuditPages:
        return AuditPages(self.store, self.file_io)

    def all(self, conditions: AuditFilter = ALL, *, limit: int = 1_000) -> list[AuditEntry]:
        found: list[AuditEntry] = []
        before: EntryName | None = None
        while True:
            page = self.pages().page(conditions, limit=limit, before=before)
            assert len(page.entries) <= limit
            found += page.entries
            before = page.next
            if before is None:
                return found


@pytest.fixture
def shop(file_io: MemoryFileIO, clock: ManualClock) -> Shop:
    return Shop(file_io, clock)


def told(entries: list[AuditEntry]) -> list[tuple[str, str, str | None]]:
    return [(entry.actor.name, entry.action, entry.table) for entry in entries]


def test_entries_come_newest_first_from_the_log_and_from_documents(shop: Shop) -> None:
    shop.verb("orders", Verb.PAUSE)

    assert told(shop.all()) == [
        ("ann", "pause_stream", "shop.orders"),
        ("bob", "put_stream", "shop.items"),
        ("ann", "put_table", "shop.items"),
        ("bob", "put_stream", "shop.orders"),
        ("ann", "put_table", "shop.orders"),
    ]


def test_times_of_a_document_do_not_go_back_with_a_clock(shop: Shop) -> None:
    before = [entry.id for entry in shop.all(AuditFilter(table="shop.orders"))]
    shop.clock.advance(ms=-60_000)
    shop.verb("orders", Verb.PAUSE)

    entries = shop.all(AuditFilter(table="shop.orders"))

    assert [entry.id for entry in entries[1:]] == before
    assert entries[0].action == "pause_stream"


@pytest.mark.parametrize(
    ("conditions", "actions"),
    [
        (AuditFilter(table="shop.items"), ["put_stream", "put_table"]),
        (AuditFilter(stream="sales"), ["pause_stream", "put_stream", "put_stream"]),
        (AuditFilter(actor="bob"), ["put_stream", "put_stream"]),
        (AuditFilter(action="put_table"), ["put_table", "put_table"]),
        (AuditFilter(actor="ann", stream="sales"), ["pause_stream"]),
        (AuditFilter(table="shop.gone"), []),
    ],
    ids=repr,
)
def test_filters(shop: Shop, conditions: AuditFilter, actions: list[str]) -> None:
    shop.verb("orders", Verb.PAUSE)

    assert [entry.action for entry in shop.all(conditions)] == actions


def test_since_is_in_the_range_and_until_is_not(shop: Shop) -> None:
    start = shop.clock.now_ms() - 2_000

    def tables(since_ms: int | None, until_ms: int | None) -> set[str | None]:
        return {one.table for one in shop.all(AuditFilter(since_ms=since_ms, until_ms=until_ms))}

    assert tables(start, start + 1_000) == {"shop.orders"}
    assert tables(start + 1_000, None) == {"shop.items"}
    assert tables(None, start) == set()


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_pages_have_each_entry_once_while_changes_go_on(shop: Shop, limit: int) -> None:
    """An entry that moves from a document to the log between two pages keeps its place."""
    known = [entry.id for entry in shop.all()]
    found: list[str] = []
    before: EntryName | None = None
    verbs = [Verb.PAUSE, Verb.RESUME] * 10
    while True:
        page = shop.pages().page(ALL, limit=limit, before=before)
        found += [entry.id for entry in page.entries]
        before = page.next
        if before is None:
            break
        shop.verb("orders", verbs.pop())
        shop.verb("items", verbs[-1])

    assert found == known


def test_entries_of_many_days_come_in_their_order(shop: Shop) -> None:
    hours = random.Random(7)
    verbs = [Verb.PAUSE, Verb.RESUME]
    for number in range(40):
        shop.clock.advance(ms=hours.randrange(24 * 3_600_000))
        shop.verb("orders", verbs[number % 2])

    entries = shop.all(limit=7)

    times = [entry.time_ms for entry in entries]
    assert times == sorted(times, reverse=True)
    assert len(entries) == 44


def test_a_page_reads_a_bounded_number_of_entries(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_pages, "READS_MAX", 10)
    monkeypatch.setattr(audit_pages, "_CHUNK", 5)
    for verb in (Verb.PAUSE, Verb.RESUME) * 20:
        shop.verb("orders", verb)
    rare = AuditFilter(action="put_table")

    first = shop.pages().page(rare, limit=5)

    assert first.entries == ()
    assert first.next is not None
    assert told(shop.all(rare, limit=5)) == [
        ("ann", "put_table", "shop.items"),
        ("ann", "put_table", "shop.orders"),
    ]


def test_an_unreadable_document_hides_only_its_own_newest_entry(shop: Shop) -> None:
    path = "/w/_braid/tables/shop.orders/00000000000000000003.json"
    shop.file_io.write_new(path, b"\xff")

    assert told(shop.all())[:2] == [
        ("bob", "put_stream", "shop.items"),
        ("ann", "put_table", "shop.items"),
    ]


@pytest.mark.parametrize("changed", [lambda entry: {**entry, "later": 1}, lambda entry: {}])
def test_an_entry_of_a_newer_version_is_read_as_far_as_it_is_known(
    shop: Shop, changed: Callable[[dict[str, object]], dict[str, object]]
) -> None:
    newest = shop.store.newest("shop.orders")
    assert newest is not None
    held = shop.store.held_entry("shop.orders", newest)
    assert held is not None
    whole = shop.file_io.read_bytes(
        path := "/w/_braid/tables/shop.orders/00000000000000000002.json"
    )
    content = orjson.loads(whole)
    content["audit"] = changed(content["audit"])
    shop.file_io.overwrite(path, orjson.dumps(content))

    assert ("ann", "put_table", "shop.orders") in told(shop.all())
