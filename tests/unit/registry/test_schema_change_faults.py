"""A schema change broken off at each of its storage calls, and two at once: before or after, never half."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import methodcaller
from typing import Any

import pytest

from braid.lake import AddColumn, Catalog, FileIO, LakeError, ManualClock, MemoryFileIO, parse_type
from braid.registry.alteration.alteration import AlterationPlan
from braid.registry.alteration.table_changes import plan_changes
from braid.registry.declared_table import DeclaredTable, read_declared_table
from braid.registry.errors import DefinitionRefused, PreconditionFailed, RegistryError
from braid.registry.layout.physical_table import physical_table
from braid.registry.layout.stream_columns import stream_columns
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.registry.store.named_request import NamedRequest
from braid.registry.store.registry_view import RegistryView
from braid.registry.store.revision import Precondition
from braid.schemas import SchemaChanges
from tests.support.faulty_file_io import Died, FaultyFileIO, Moment
from tests.support.table_files import copied
from tests.unit.registry.shop import definition, orders

pytestmark = pytest.mark.slow

ORDERS = "shop.orders"
RENAME = {"change": "rename_column", "column": "paid", "to": "settled"}
ADD = {"change": "add_column", "column": "iban", "type": "STRING", "sequence_group": "payments"}


def plan(*changes: dict[str, Any]) -> AlterationPlan:
    return plan_changes(SchemaChanges.model_validate({"changes": changes}).changes)


ONCE = NamedRequest(key="once", digest="rename, add")


@dataclass(frozen=True)
class Shop:
    """A registry over a storage."""

    file_io: FileIO

    @property
    def store(self) -> RegistryStore:
        return RegistryStore(self.file_io, "/w", ManualClock())

    @property
    def catalog(self) -> Catalog:
        return Catalog("/w", file_io=self.file_io, clock=ManualClock())

    @property
    def registrar(self) -> Registrar:
        return Registrar(self.store, self.catalog, ManualClock())

    def state(self) -> DeclaredTable:
        return read_declared_table(self.store, self.catalog, ORDERS)


@pytest.fixture
def given(file_io: MemoryFileIO) -> MemoryFileIO:
    registrar = Shop(file_io).registrar
    registrar.put_table("shop", "orders", orders())
    for name in ("sales", "payments"):
        registrar.put_stream(ORDERS, name, definition(name))
    return file_io


def fits(state: DeclaredTable) -> bool:
    """Say whether the table is what is declared, and every stream could be started."""
    document, schema = state.document, state.table.schema
    columns = [(field.name, str(field.type)) for field in physical_table(document.table).columns]
    written = [
        name
        for entry in document.streams.values()
        for name in stream_columns(document.table, entry.spec).written
    ]
    return (
        columns == [(field.name, str(field.type)) for field in schema.fields]
        and set(written) <= set(schema.field_names)
        and document.pending is None
        and document.schema_id == schema.id
    )


def declared(state: DeclaredTable) -> tuple[str, ...]:
    return state.document.table.column_names


def calls_of(given: MemoryFileIO) -> list[tuple[str, str]]:
    file_io = FaultyFileIO(copied(given))
    Shop(file_io).registrar.named(ONCE).alter(ORDERS, plan(RENAME, ADD))
    return file_io.calls


def broken_off(
    given: MemoryFileIO, prepare: Callable[[FaultyFileIO], None]
) -> tuple[MemoryFileIO, BaseException | None]:
    """Make the change on a copy of the storage with a fault; return what is left of both."""
    inner = copied(given)
    file_io = FaultyFileIO(inner)
    prepare(file_io)
    try:
        Shop(file_io).registrar.named(ONCE).alter(ORDERS, plan(RENAME, ADD))
    except (Died, LakeError, RegistryError) as error:
        return inner, error
    return inner, None


def check_what_is_left(given: MemoryFileIO, left: MemoryFileIO, place: str) -> bool:
    """Check that a reader sees the state before or after, and that the next writer completes it."""
    before = declared(Shop(given).state())
    seen = Shop(left).state()
    assert fits(seen), place
    is_made = declared(seen) != before
    assert ("settled" in declared(seen)) == ("iban" in declared(seen)) == is_made, place

    # Somebody else changes something: what was proposed is completed, not lost and not doubled.
    other = copied(left)
    proposed = Shop(other).store.stored(ORDERS)
    assert proposed is not None
    was_proposed = proposed.value.pending is not None
    Shop(other).registrar.put_stream(ORDERS, "sales", definition("sales", trigger_ms=700))
    after = Shop(other).state()
    assert fits(after), place
    assert ("settled" in declared(after)) == (is_made or was_proposed), place
    stored = Shop(other).store.stored(ORDERS)
    assert stored is not None
    assert stored.value.pending is None

    # The request is repeated, and the change is there once.
    document = Shop(left).registrar.named(ONCE).alter(ORDERS, plan(RENAME, ADD))
    last = Shop(left).state()
    assert fits(last), place
    assert last.document == document, place
    assert last.table.schema.id == 1, place
    assert document.streams["payments"].version == 2, place
    return is_made


@pytest.mark.parametrize("moment", list(Moment))
def test_a_process_that_dies_leaves_the_table_before_or_after(
    given: MemoryFileIO, moment: Moment
) -> None:
    made = []
    for number, (method, path) in enumerate(calls_of(given)):
        if moment is Moment.MIDST and method != "create_exclusive":
            continue
        left, error = broken_off(given, methodcaller("die_at", number, moment))
        is_made = check_what_is_left(given, left, f"died {moment} {number}: {method} {path}")
        # There is no moment after a call that finds nothing, and nothing left to do after the last.
        assert isinstance(error, Died) or is_made
        made += [is_made] if error is not None else []

    assert made == sorted(made), "once it is made it stays"
    assert set(made) == {False, True}


@pytest.mark.parametrize("is_done", [False, True])
@pytest.mark.parametrize("is_lasting", [False, True])
def test_a_call_that_fails_leaves_the_table_before_or_after(
    given: MemoryFileIO, is_done: bool, is_lasting: bool
) -> None:
    for number, (method, path) in enumerate(calls_of(given)):
        fail = methodcaller("fail_calls", number, is_done=is_done, is_lasting=is_lasting)
        left, error = broken_off(given, fail)
        is_made = check_what_is_left(given, left, f"failed {number}: {method} {path}")
        assert error is not None or is_made


def alter_too(shop: Shop) -> None:
    add = {"change": "add_column", "column": "other", "type": "INT", "sequence_group": "sales"}
    shop.registrar.alter(ORDERS, plan(add))


def alter_the_same(shop: Shop) -> None:
    shop.registrar.named(ONCE).alter(ORDERS, plan(RENAME, ADD))


def change_a_stream(shop: Shop) -> None:
    shop.registrar.put_stream(ORDERS, "sales", definition("sales", trigger_ms=700))


def alter_without_the_registry(shop: Shop) -> None:
    shop.catalog.table(ORDERS).alter(AddColumn(path=("other",), type=parse_type("INT")))


@pytest.mark.parametrize(
    "meanwhile", [alter_too, alter_the_same, change_a_stream, alter_without_the_registry]
)
def test_two_changes_at_once_are_both_applied_once(
    given: MemoryFileIO, meanwhile: Callable[[Shop], None]
) -> None:
    for number, (method, path) in enumerate(calls_of(given)):
        inner = copied(given)
        file_io = FaultyFileIO(inner)

        def before(
            at: int, _method: str, _path: str, *, number: int = number, inner: MemoryFileIO = inner
        ) -> None:
            if at == number:
                meanwhile(Shop(inner))
                seen = Shop(inner).state()
                assert seen.document.pending is None

        file_io.before = before
        Shop(file_io).registrar.named(ONCE).alter(ORDERS, plan(RENAME, ADD))

        place = f"call {number}: {method} {path}"
        state = Shop(inner).state()
        assert {"settled", "iban"} <= set(declared(state)), place
        assert {"settled", "iban"} <= set(state.table.schema.field_names), place
        assert state.document.streams["payments"].version == 2, place
        assert len(state.document.applied) == 1, place
        is_other = meanwhile in (alter_too, alter_without_the_registry)
        assert ("other" in state.table.schema.field_names) == is_other, place
        assert state.table.schema.id == 1 + is_other, place
        if meanwhile is change_a_stream:
            assert state.document.streams["sales"].spec.trigger_ms == 700, place
        if meanwhile is not alter_without_the_registry:
            assert fits(state), place


NEW = Precondition(exists=False)
EQUAL_REQUESTS: dict[str, Callable[[Registrar], object]] = {
    "a column": lambda registrar: registrar.alter(ORDERS, plan(ADD)),
    "a stream": lambda registrar: registrar.put_stream(
        ORDERS, "shipping", definition("shipping"), precondition=NEW
    ),
    "a table": lambda registrar: registrar.put_table("shop", "more", orders(), precondition=NEW),
}


@pytest.mark.parametrize("request_of", EQUAL_REQUESTS.values(), ids=EQUAL_REQUESTS.keys())
def test_of_two_equal_writes_in_one_millisecond_one_is_a_conflict(
    given: MemoryFileIO, request_of: Callable[[Registrar], object]
) -> None:
    undisturbed = FaultyFileIO(copied(given))
    request_of(Shop(undisturbed).registrar)
    for number, (method, path) in enumerate(undisturbed.calls):
        inner = copied(given)
        file_io = FaultyFileIO(inner)
        made: list[str] = []

        def ask(who: str, shop: Shop, *, made: list[str] = made) -> None:
            try:
                request_of(shop.registrar)
            except (DefinitionRefused, PreconditionFailed):
                return
            made.append(who)

        def before(
            at: int,
            _method: str,
            _path: str,
            *,
            number: int = number,
            inner: MemoryFileIO = inner,
            ask: Callable[[str, Shop], None] = ask,
        ) -> None:
            if at == number:
                ask("the other", Shop(inner))

        file_io.before = before
        ask("the one", Shop(file_io))

        assert len(made) == 1, (number, method, path, made)


def test_a_reader_takes_document_and_schema_of_one_moment(given: MemoryFileIO) -> None:
    undisturbed = FaultyFileIO(copied(given))
    Shop(undisturbed).state()
    for number in range(len(undisturbed.calls)):
        inner = copied(given)
        file_io = FaultyFileIO(inner)

        def before(
            at: int, _method: str, _path: str, *, number: int = number, inner: MemoryFileIO = inner
        ) -> None:
            if at == number:
                alter_the_same(Shop(inner))

        file_io.before = before
        assert fits(Shop(file_io).state()), number


def test_a_view_of_all_tables_has_at_each_call_what_is_in_effect(given: MemoryFileIO) -> None:
    file_io = FaultyFileIO(given)
    view = RegistryView(Shop(given).store, given, "/w")
    seen: list[bool] = []

    def compare(_: int, method: str, path: str) -> None:
        tables = view.tables()
        # A version that is written and not counted yet is not seen: the other one is in effect, or nothing has changed.
        if "/changes/" not in path:
            assert tables == Shop(given).store.tables(), (method, path)
        seen.append("settled" in tables.documents[0].table.column_names)

    file_io.before = compare
    Shop(file_io).registrar.alter(ORDERS, plan(RENAME, ADD))

    assert seen == sorted(seen), "once it is made it stays"
    assert set(seen) == {False, True}


def test_a_proposal_that_was_left_and_overtaken_is_never_in_effect(given: MemoryFileIO) -> None:
    before = Shop(given).state().document
    calls = calls_of(given)
    number = next(at for at, call in enumerate(calls) if call[1].endswith("/schema/schema-1"))
    left, _ = broken_off(given, methodcaller("die_at", number, Moment.BEFORE))
    stored = Shop(left).store.stored(ORDERS)
    assert stored is not None
    assert stored.value.pending is not None

    alter_without_the_registry(Shop(left))

    assert Shop(left).state().document == before
    change_a_stream(Shop(left))
    after = Shop(left).state()
    assert after.document.table == before.table
    assert "other" in after.table.schema.field_names
