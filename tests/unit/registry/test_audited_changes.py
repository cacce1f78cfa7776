"""Each change is in the audit log exactly once: also if a process dies at any storage call, and if others change the same.

The changes of a history are made one after the other, each by an actor of its own. Whether a change was made is read from
the registry, and compared with the log.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from operator import methodcaller
from typing import Any

import pytest

from braid.lake import (
    AddColumn,
    Catalog,
    FileIO,
    LakeError,
    ManualClock,
    MemoryFileIO,
    TableNotFound,
    parse_type,
)
from braid.registry.alteration.table_changes import plan_changes
from braid.registry.errors import DefinitionRefused, RegistryConflict, RegistryError
from braid.registry.registrar import Registrar
from braid.registry.store.audit_pages import AuditFilter, AuditPages
from braid.registry.store.document_changes import document_changes
from braid.registry.store.documents import RegistryStore
from braid.registry.store.versions import KEPT_MS, KEPT_VERSIONS
from braid.registry.stream_entries import Verb
from braid.registry.table_dropper import TableDropper
from braid.schemas import Actor, AuditEntry, SchemaChanges, TableDocument
from tests.support.faulty_file_io import Died, FaultyFileIO, Moment
from tests.support.table_files import copied
from tests.unit.registry.shop import definition, orders

ORDERS = "shop.orders"
ADD = {"change": "add_column", "column": "iban", "type": "STRING", "sequence_group": "payments"}


@dataclass(frozen=True)
class Shop:
    """The registry of a storage, for one actor, who acts a second after the actor before."""

    file_io: FileIO
    actor: str = "somebody"

    @property
    def clock(self) -> ManualClock:
        actors = [*HISTORY, "keeper", "dropper"]
        second = actors.index(self.actor) if self.actor in actors else len(actors)
        return ManualClock(start_ms=1_700_000_000_000 + 1_000 * second)

    @property
    def store(self) -> RegistryStore:
        return RegistryStore(self.file_io, "/w", self.clock)

    @property
    def catalog(self) -> Catalog:
        return Catalog("/w", file_io=self.file_io, clock=self.clock)

    @property
    def registrar(self) -> Registrar:
        registrar = Registrar(self.store, self.catalog, self.clock)
        return registrar.by(Actor(name=self.actor))

    def put_table(self) -> None:
        self.registrar.put_table("shop", "orders", orders())

    def put_stream(self, name: str) -> None:
        self.registrar.put_stream(ORDERS, name, definition(name))

    def verb(self, verb: Verb) -> None:
        self.registrar.apply_verb(ORDERS, "sales", verb)

    def alter(self, **change: Any) -> None:
        changes = SchemaChanges.model_validate({"changes": [ADD | change]}).changes
        self.registrar.alter(ORDERS, plan_changes(changes))

    def delete_stream(self) -> None:
        self.registrar.delete_stream(ORDERS, "sales")

    def drop(self, *, keep_data: bool = False) -> None:
        TableDropper(
            self.store,
            self.catalog,
            file_io=self.file_io,
            warehouse="/w",
            clock=self.clock,
            actor=Actor(name=self.actor),
        ).drop(ORDERS, keep_data=keep_data)

    def document(self) -> TableDocument | None:
        found = self.store.table(ORDERS)
        return None if found is None else found.value

    def entries(self) -> list[AuditEntry]:
        """Return all entries, oldest first."""
        pages = AuditPages(self.store, self.file_io)
        return list(reversed(pages.page(AuditFilter(), limit=1_000).entries))


Step = Callable[[Shop], None]
HISTORY: dict[str, Step] = {
    "create": Shop.put_table,
    "register": methodcaller("put_stream", "sales"),
    "pause": methodcaller("verb", Verb.PAUSE),
    "alter": methodcaller("alter"),
    "stop": methodcaller("verb", Verb.STOP),
    "delete": Shop.delete_stream,
    "drop": Shop.drop,
    "create again": Shop.put_table,
    "register again": methodcaller("put_stream", "payments"),
}
"""Changes by the names of their actors, in their order."""


def after(steps: int) -> MemoryFileIO:
    """Return the storage after the first steps of the history."""
    file_io = MemoryFileIO()
    for actor in list(HISTORY)[:steps]:
        HISTORY[actor](Shop(file_io, actor))
    return file_io


def actors(file_io: FileIO) -> list[str]:
    return [entry.actor.name for entry in Shop(file_io).entries()]


def test_the_log_has_the_history() -> None:
    entries = Shop(after(len(HISTORY))).entries()

    assert [entry.actor.name for entry in entries] == list(HISTORY)
    assert [entry.version for entry in entries] == [1, 2, 3, 4, 6, 7, 8, 1, 2]
    by_actor = {entry.actor.name: entry for entry in entries}
    added = {change.pointer: change.after for change in by_actor["alter"].changes}
    assert added["/table/columns/9"]["name"] == "iban"
    (dropped,) = by_actor["drop"].changes
    assert dropped.before["table"]["columns"][-1]["name"] == "iban"
    assert dropped.after is None


@pytest.mark.parametrize("moment", [Moment.BEFORE, Moment.AFTER])
@pytest.mark.parametrize("number", range(len(HISTORY)), ids=list(HISTORY))
def test_a_process_that_dies_leaves_a_change_and_its_entry_or_neither(
    number: int, moment: Moment
) -> None:
    actor, step = list(HISTORY.items())[number]
    given = after(number)
    undisturbed = FaultyFileIO(copied(given))
    step(Shop(undisturbed, actor))
    earlier = list(HISTORY)[:number]
    before, later = Shop(given).document(), Shop(undisturbed).document()
    made = []
    for call in range(len(undisturbed.calls)):
        place = f"died {moment} {call}: {undisturbed.calls[call]}"
        left = copied(given)
        dying = FaultyFileIO(left)
        dying.die_at(call, moment)
        try:
            step(Shop(dying, actor))
        except Died:
            has_died = True
        else:
            has_died = False  # there is no moment after a call that finds nothing

        # The next process completes what was proposed; it is the same change for whoever reads the log.
        touch(Shop(left))
        found = Shop(left).document()
        is_made = not same(found, before)
        assert same(found, later) == is_made, place
        told = [name for name in actors(left) if name != "somebody"]
        assert told in ([*earlier], [*earlier, actor]), place
        assert (actor in told) == is_made, place
        made += [is_made] if has_died else []
    assert made == sorted(made), "once it is made it stays"


def touch(shop: Shop) -> None:
    """Change something else, as the next process does; end a drop that was begun."""
    try:
        shop.registrar.put_stream(ORDERS, "shipping", definition("shipping"))
        shop.registrar.apply_verb(ORDERS, "shipping", Verb.STOP)
        shop.registrar.delete_stream(ORDERS, "shipping")
    except TableNotFound:
        return


def same(one: TableDocument | None, other: TableDocument | None) -> bool:
    """Return whether the same is declared."""
    return (one is None) == (other is None) and document_changes(one, other) == ()


@pytest.mark.parametrize("is_done", [False, True])
@pytest.mark.parametrize("number", range(len(HISTORY)), ids=list(HISTORY))
def test_a_request_that_failed_and_is_repeated_is_told_once(number: int, is_done: bool) -> None:
    """A lost answer may hide that the change was made: the repetition then has nothing to do."""
    actor, step = list(HISTORY.items())[number]
    given = after(number)
    undisturbed = FaultyFileIO(copied(given))
    step(Shop(undisturbed, actor))
    expected = list(HISTORY)[: number + 1]
    for call in range(len(undisturbed.calls)):
        left = copied(given)
        failing = FaultyFileIO(left)
        failing.fail_calls(call, is_done=is_done, is_lasting=False)
        for file_io in (failing, left):
            # What was made before the answer was lost may be refused the second time.
            with suppress(LakeError, RegistryError):
                step(Shop(file_io, actor))
        assert actors(left) == expected, undisturbed.calls[call]


def interfering(shop: Shop, name: str) -> None:
    shop.registrar.apply_verb(ORDERS, name, Verb.PAUSE)
    shop.registrar.apply_verb(ORDERS, name, Verb.RESUME)


def test_changes_by_others_between_two_calls_are_all_told() -> None:
    given = after(2)
    undisturbed = FaultyFileIO(copied(given))
    Shop(undisturbed, "late").put_stream("payments")
    for number in range(len(undisturbed.calls)):
        inner = copied(given)
        racing = FaultyFileIO(inner)

        def before(
            at: int, _method: str, _path: str, *, number: int = number, inner: MemoryFileIO = inner
        ) -> None:
            if at == number:
                interfering(Shop(inner, "other"), "sales")

        racing.before = before
        Shop(racing, "late").put_stream("payments")

        told = actors(inner)
        assert sorted(told[2:]) == ["late", "other", "other"], undisturbed.calls[number]
        document = Shop(inner).document()
        assert document is not None
        assert set(document.streams) == {"sales", "payments"}


def test_superseded_versions_are_deleted_and_their_entries_stay() -> None:
    clock = ManualClock()
    file_io = MemoryFileIO(clock=clock)
    store = RegistryStore(file_io, "/w", clock)
    registrar = Registrar(store, Catalog("/w", file_io=file_io, clock=clock), clock)
    registrar.put_table("shop", "orders", orders())
    registrar.put_stream(ORDERS, "sales", definition())
    for number in range(3 * KEPT_VERSIONS):
        clock.advance(ms=2 * KEPT_MS)
        verb = Verb.RESUME if number % 2 else Verb.PAUSE
        registrar.apply_verb(ORDERS, "sales", verb)

    files = file_io.list("/w/_braid/tables/shop.orders")
    entries = Shop(file_io).entries()

    assert len(files) <= KEPT_VERSIONS + 2
    assert [entry.version for entry in entries] == list(range(1, 3 * KEPT_VERSIONS + 3))


def test_what_changes_nothing_is_not_told() -> None:
    file_io = after(3)
    Shop(file_io, "again").verb(Verb.PAUSE)
    Shop(file_io, "again").put_stream("sales")
    Shop(file_io, "again").put_table()
    with pytest.raises(DefinitionRefused):
        Shop(file_io, "again").registrar.put_stream(
            ORDERS, "other", definition(sequence_group="sales")
        )

    assert "again" not in actors(file_io)


def test_what_a_runner_records_of_itself_is_not_told_and_loses_no_entry() -> None:
    file_io = after(2)
    Shop(file_io, "runner").registrar.complete_stream(ORDERS, "sales", generation=0)
    Shop(file_io, "runner").registrar.allow_replays(ORDERS)
    assert actors(file_io) == ["create", "register"]

    Shop(file_io, "later").verb(Verb.PAUSE)

    assert actors(file_io) == ["create", "register", "later"]


def test_a_table_without_a_document_is_dropped_with_an_entry() -> None:
    file_io = after(1)
    Shop(file_io, "keeper").drop(keep_data=True)
    assert Shop(file_io).catalog.list_tables() == [ORDERS]

    Shop(file_io, "dropper").drop()

    assert actors(file_io) == ["create", "keeper", "dropper"]
    assert Shop(file_io).catalog.list_tables() == []


def test_a_proposal_that_lost_its_schema_is_withdrawn_in_the_log() -> None:
    file_io = after(2)
    dying = FaultyFileIO(file_io)
    is_proposed = [path.endswith("3.json") for _, path in calls_of_alter(file_io)]
    dying.die_at(is_proposed.index(True), Moment.AFTER)
    with pytest.raises(Died):
        Shop(dying, "alter").alter()
    Shop(file_io).catalog.table(ORDERS).alter(foreign_change())

    Shop(file_io, "next").verb(Verb.PAUSE)

    told = [(entry.actor.name, entry.action) for entry in Shop(file_io).entries()[2:]]
    assert told == [
        ("alter", "change_schema"),
        ("next", "withdraw_schema_change"),
        ("next", "pause_stream"),
    ]
    withdrawn = Shop(file_io).entries()[3]
    assert {change.after for change in withdrawn.changes if "columns/9" in change.pointer} == {None}


def calls_of_alter(given: MemoryFileIO) -> list[tuple[str, str]]:
    file_io = FaultyFileIO(copied(given))
    Shop(file_io).alter()
    return [
        (method, path if method == "create_exclusive" else "") for method, path in file_io.calls
    ]


def foreign_change() -> AddColumn:
    return AddColumn(path=("other",), type=parse_type("INT"))


def test_a_conflict_that_never_ends_is_told_to_the_caller_and_not_in_the_log() -> None:
    inner = after(2)
    racing = FaultyFileIO(inner)
    verbs = [Verb.PAUSE, Verb.RESUME]

    def before(_at: int, method: str, path: str) -> None:
        if method == "create_exclusive" and "/tables/" in path:
            verbs.reverse()
            Shop(inner, "busy").verb(verbs[0])

    racing.before = before

    with pytest.raises(RegistryConflict, match="changed 20 times"):
        Shop(racing, "loser").put_stream("payments")
    assert "loser" not in actors(inner)
    assert actors(inner).count("busy") == 20
