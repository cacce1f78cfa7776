"""Registration: idempotent, checked, and safe against races."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.lake import (
    Catalog,
    ManualClock,
    MemoryFileIO,
    TableNotFound,
)
from braid.registry.alteration.table_changes import plan_changes
from braid.registry.errors import (
    DefinitionDiffers,
    DefinitionRefused,
    PreconditionFailed,
    RegistryError,
    StreamNotFound,
    StreamNotStopped,
)
from braid.registry.layout.physical_table import physical_table
from braid.registry.registrar import Registrar
from braid.registry.store.audit_log import AuditNote
from braid.registry.store.documents import RegistryStore
from braid.registry.store.revision import Precondition, stream_revision, table_revision
from braid.registry.stream_entries import Verb
from braid.schemas import (
    Deletes,
    DesiredState,
    SchemaChanges,
    StreamDefinition,
    StreamState,
    TableDocument,
)
from tests.unit.registry.aggregates import column, totals
from tests.unit.registry.shop import definition, mapped, orders

ORDERS = "shop.orders"


class RacingStore(RegistryStore):
    """A store that lets something happen between a reader's read and its write, once."""

    def __init__(self, file_io: MemoryFileIO, clock: ManualClock) -> None:
        super().__init__(file_io, "/w", clock)
        self.happens: Callable[[], object] | None = None

    def put_table(
        self,
        document: TableDocument,
        *,
        expected_version: int | None,
        note: AuditNote | None = None,
    ) -> int:
        happens, self.happens = self.happens, None
        if happens is not None:
            happens()
        return super().put_table(document, expected_version=expected_version, note=note)


@pytest.fixture
def catalog(file_io: MemoryFileIO, clock: ManualClock) -> Catalog:
    return Catalog("/w", file_io=file_io, clock=clock)


@pytest.fixture
def store(file_io: MemoryFileIO, clock: ManualClock) -> RacingStore:
    return RacingStore(file_io, clock)


@pytest.fixture
def registrar(store: RacingStore, catalog: Catalog, clock: ManualClock) -> Registrar:
    return Registrar(store, catalog, clock)


@pytest.fixture
def with_orders(registrar: Registrar) -> Registrar:
    registrar.put_table("shop", "orders", orders())
    return registrar


def test_a_table_is_created_in_the_warehouse_and_registered(
    registrar: Registrar, catalog: Catalog, clock: ManualClock
) -> None:
    registered = registrar.put_table("shop", "orders", orders())

    assert registered.is_new
    assert registered.document.created_ms == clock.now_ms()
    assert registrar.document(ORDERS) == registered.document
    names = [field.name for field in catalog.table(ORDERS).schema.fields]
    assert names == [field.name for field in physical_table(orders()).columns]


def test_declaring_a_table_alike_again_finds_it(with_orders: Registrar) -> None:
    registered = with_orders.put_table("shop", "orders", orders())

    assert not registered.is_new


def test_another_declaration_of_a_table_is_refused_with_the_differences(
    with_orders: Registrar,
) -> None:
    with pytest.raises(DefinitionDiffers, match="with another declaration") as caught:
        with_orders.put_table("shop", "orders", orders(buckets=8, comment="new"))

    assert [problem.field for problem in caught.value.problems] == ["buckets", "comment"]


def test_rules_for_the_status_of_rows_can_be_replaced(with_orders: Registrar) -> None:
    spec = orders(
        staleness={"groups": {"sales": 60}}, completeness={"groups": ["sales", "payments"]}
    )
    seen = table_revision(with_orders.document(ORDERS), schema_id=0)

    assert with_orders.plan_table("shop", "orders", spec).problems == ()
    stale = Precondition(revisions=frozenset({"of before"}))
    with pytest.raises(PreconditionFailed):
        with_orders.put_table("shop", "orders", spec, precondition=stale)
    registered = with_orders.put_table(
        "shop", "orders", spec, precondition=Precondition(revisions=frozenset({seen}))
    )

    assert not registered.is_new
    assert with_orders.document(ORDERS).table == spec
    with pytest.raises(DefinitionRefused, match="no such sequence group"):
        with_orders.put_table("shop", "orders", orders(completeness={"groups": ["nope"]}))


def test_a_rescaled_table_is_declared_with_its_new_buckets(with_orders: Registrar) -> None:
    before = with_orders.document(ORDERS)

    with_orders.record_buckets(ORDERS, 16)

    assert with_orders.document(ORDERS) == before.model_copy(update={"table": orders(buckets=16)})
    assert with_orders.plan_table("shop", "orders", orders(buckets=16)).problems == ()
    (problem,) = with_orders.plan_table("shop", "orders", orders()).problems
    assert (problem.message, problem.field) == ("is declared as `16`", "buckets")


def test_a_refused_table_leaves_nothing_behind(registrar: Registrar, file_io: MemoryFileIO) -> None:
    with pytest.raises(DefinitionRefused, match="primary_key"):
        registrar.put_table("shop", "orders", orders(primary_key=["nope"]))

    assert file_io.list("/w") == []


def test_a_crash_between_table_and_document_is_repaired_by_the_same_request(
    registrar: Registrar, store: RacingStore
) -> None:
    def crash() -> None:
        message = "power failure"
        raise OSError(message)

    store.happens = crash
    with pytest.raises(OSError, match="power failure"):
        registrar.put_table("shop", "orders", orders())

    assert store.table(ORDERS) is None
    assert registrar.put_table("shop", "orders", orders()).is_new


def test_an_unregistered_table_of_other_columns_is_not_taken(
    registrar: Registrar, catalog: Catalog
) -> None:
    catalog.create_table(
        ORDERS, columns=[("id", "INT")], primary_key=["id"], options={"bucket": "1"}
    )

    planned = registrar.plan_table("shop", "orders", orders())
    assert [problem.field for problem in planned.problems] == ["table"]
    with pytest.raises(DefinitionDiffers, match="not registered"):
        registrar.put_table("shop", "orders", orders())


def test_of_two_different_declarations_at_once_one_wins(
    registrar: Registrar, store: RacingStore
) -> None:
    store.happens = lambda: registrar.put_table("shop", "orders", orders())

    with pytest.raises(DefinitionDiffers) as caught:
        registrar.put_table("shop", "orders", orders(unordered="allowed"))

    assert [problem.field for problem in caught.value.problems] == ["unordered"]
    assert registrar.document(ORDERS).table == orders()


def test_a_stream_is_registered_complete_and_shall_run(with_orders: Registrar) -> None:
    registered = with_orders.put_stream(ORDERS, "sales", definition())

    entry = with_orders.entry(ORDERS, "sales")
    assert registered.is_new
    assert entry.desired_state is DesiredState.RUNNING
    assert entry.spec.sequence_group == "sales"


def test_registering_a_stream_alike_again_writes_nothing(
    with_orders: Registrar, store: RacingStore
) -> None:
    with_orders.put_stream(ORDERS, "sales", definition())
    before = store.table(ORDERS)

    assert not with_orders.put_stream(ORDERS, "sales", definition()).is_new
    assert store.table(ORDERS) == before


def test_a_changed_stream_is_a_new_version_and_keeps_its_desired_state(
    with_orders: Registrar,
) -> None:
    with_orders.put_stream(ORDERS, "sales", definition())
    with_orders.apply_verb(ORDERS, "sales", Verb.PAUSE)
    with_orders.put_stream(ORDERS, "sales", definition(trigger_ms=100))

    entry = with_orders.entry(ORDERS, "sales")
    assert (entry.desired_state, entry.version) == (DesiredState.PAUSED, 2)
    assert entry.restart_generation == 0
    assert entry.spec.trigger_ms == 100


def test_a_completed_stream_reads_once_more_only_when_its_declaration_changes(
    with_orders: Registrar,
) -> None:
    ends: dict[str, Any] = {"trigger": {"type": "available_now"}}
    with_orders.put_stream(ORDERS, "sales", definition(**ends))
    with_orders.complete_stream(ORDERS, "sales", generation=0)
    assert with_orders.entry(ORDERS, "sales").is_completed

    with_orders.put_stream(ORDERS, "sales", definition(**ends))
    assert with_orders.entry(ORDERS, "sales").is_completed

    with_orders.put_stream(ORDERS, "sales", definition(**ends, max_message_bytes=5))
    entry = with_orders.entry(ORDERS, "sales")
    assert (entry.restart_generation, entry.is_completed) == (1, False)


def test_an_interval_is_the_same_however_it_is_declared(with_orders: Registrar) -> None:
    with_orders.put_stream(ORDERS, "sales", definition(trigger_ms=200))
    trigger = {"type": "interval", "milliseconds": 200}
    with_orders.put_stream(ORDERS, "sales", definition(trigger=trigger))

    entry = with_orders.entry(ORDERS, "sales")
    assert (entry.version, entry.features) == (1, ())


def test_two_streams_that_want_one_group_at_once_do_not_both_get_it(
    with_orders: Registrar, store: RacingStore
) -> None:
    """The loser of the race reads the winner's document, and is checked against that."""
    store.happens = lambda: with_orders.put_stream(
        ORDERS, "theirs", definition(sequence_group="sales", topic="t")
    )

    with pytest.raises(DefinitionRefused, match="`theirs` owns this sequence group"):
        with_orders.put_stream(ORDERS, "mine", definition(sequence_group="sales"))

    assert list(with_orders.document(ORDERS).streams) == ["theirs"]


def test_streams_that_can_live_together_all_survive_a_race(with_orders: Registrar) -> None:
    with ThreadPoolExecutor(3) as threads:
        names = ["sales", "payments", "shipping"]
        list(threads.map(lambda n: with_orders.put_stream(ORDERS, n, definition(n)), names))

    assert sorted(with_orders.document(ORDERS).streams) == sorted(names)


def test_many_streams_that_want_one_group_leave_one_owner(with_orders: Registrar) -> None:
    def register(name: str) -> bool:
        try:
            with_orders.put_stream(ORDERS, name, definition(name, sequence_group="sales"))
        except RegistryError:
            return False
        return True

    with ThreadPoolExecutor(6) as threads:
        won = list(threads.map(register, [f"s{n}" for n in range(6)]))

    assert won.count(True) == 1
    assert len(with_orders.document(ORDERS).streams) == 1


def test_a_dry_run_reports_the_same_problems_and_changes_nothing(
    with_orders: Registrar, store: RacingStore
) -> None:
    before, document = store.table(ORDERS), with_orders.document(ORDERS)
    bad = definition(columns=[{"column": "nope"}])

    with pytest.raises(DefinitionRefused) as dry:
        with_orders.plan_stream(document, "sales", bad)
    with pytest.raises(DefinitionRefused) as caught:
        with_orders.put_stream(ORDERS, "sales", bad)
    planned = with_orders.plan_stream(document, "sales", definition())

    assert dry.value.problems == caught.value.problems
    assert planned.spec.name == "sales"
    assert store.table(ORDERS) == before


def test_a_name_that_is_not_the_addresss_is_refused(with_orders: Registrar) -> None:
    with pytest.raises(DefinitionRefused, match="the address names `sales`"):
        with_orders.put_stream(ORDERS, "sales", definition(name="payments"))


def claim(catalog: Catalog, stream: str) -> None:
    committer = catalog.table(ORDERS).committer()
    committer.claim_stream(
        stream, topic="orders", topic_id="t", initial_offsets={0: 0}, fallback=None
    )


def test_the_topic_changes_until_the_table_holds_what_was_read(
    with_orders: Registrar, catalog: Catalog
) -> None:
    with_orders.put_stream(ORDERS, "sales", definition("orders"))
    with_orders.put_stream(ORDERS, "sales", definition("orders2"))
    claim(catalog, "sales")

    with pytest.raises(DefinitionDiffers, match="topic") as caught:
        with_orders.put_stream(ORDERS, "sales", definition("orders3"))

    assert caught.value.kind == "stream"
    assert [problem.field for problem in caught.value.problems] == ["topic"]


def test_a_group_passes_to_another_stream_when_its_owner_is_deleted(
    with_orders: Registrar,
) -> None:
    with_orders.put_stream(ORDERS, "sales", definition())
    with_orders.apply_verb(ORDERS, "sales", Verb.STOP)
    with_orders.delete_stream(ORDERS, "sales")
    with_orders.put_stream(ORDERS, "sales2", definition("new", sequence_group="sales"))

    assert list(with_orders.document(ORDERS).streams) == ["sales2"]


def test_a_stream_that_may_write_is_not_deleted(with_orders: Registrar) -> None:
    with_orders.put_stream(ORDERS, "sales", definition())

    with pytest.raises(StreamNotStopped, match="is RUNNING"):
        with_orders.delete_stream(ORDERS, "sales")


def test_a_deleted_streams_name_continues_with_its_topic_only(
    with_orders: Registrar, catalog: Catalog
) -> None:
    with_orders.put_stream(ORDERS, "sales", definition("orders"))
    claim(catalog, "sales")
    with_orders.apply_verb(ORDERS, "sales", Verb.STOP)
    with_orders.delete_stream(ORDERS, "sales")

    with pytest.raises(DefinitionDiffers, match="was `orders`"):
        with_orders.put_stream(ORDERS, "sales", definition("other"))
    assert with_orders.put_stream(ORDERS, "sales", definition("orders")).is_new


@pytest.mark.parametrize(
    ("verb", "state", "generation"),
    [
        (Verb.START, DesiredState.RUNNING, 1),
        (Verb.PAUSE, DesiredState.PAUSED, 0),
        (Verb.RESUME, DesiredState.RUNNING, 1),
        (Verb.RESTART, DesiredState.RUNNING, 1),
        (Verb.STOP, DesiredState.STOPPED, 0),
    ],
)
def test_a_verb_sets_the_desired_state(
    with_orders: Registrar, verb: Verb, state: DesiredState, generation: int
) -> None:
    with_orders.put_stream(ORDERS, "sales", definition())
    answered = with_orders.apply_verb(ORDERS, "sales", verb)

    entry = with_orders.entry(ORDERS, "sales")
    assert (entry.desired_state, entry.restart_generation) == (state, generation)
    assert answered.document.streams["sales"] == entry


def test_a_verb_with_nothing_to_do_writes_nothing(with_orders: Registrar) -> None:
    with_orders.put_stream(ORDERS, "sales", definition())
    before = with_orders.document(ORDERS)
    answered = with_orders.apply_verb(ORDERS, "sales", Verb.START, reported=StreamState.RUNNING)

    assert answered.message == "is RUNNING already: nothing to do"
    assert with_orders.document(ORDERS) == before


def test_what_is_not_registered_is_named(with_orders: Registrar) -> None:
    with pytest.raises(TableNotFound, match=r"shop\.returns"):
        with_orders.put_stream("shop.returns", "sales", definition())
    with pytest.raises(StreamNotFound, match="has no stream sales; it has: none"):
        with_orders.apply_verb(ORDERS, "sales", Verb.STOP)


def test_a_change_of_another_revision_is_refused(with_orders: Registrar) -> None:
    with_orders.put_stream(ORDERS, "sales", definition())
    seen = Precondition(revisions=frozenset({stream_revision(with_orders.entry(ORDERS, "sales"))}))
    with_orders.put_stream(ORDERS, "sales", definition(trigger_ms=100))

    with pytest.raises(PreconditionFailed):
        with_orders.put_stream(ORDERS, "sales", definition(trigger_ms=200), precondition=seen)
    with pytest.raises(PreconditionFailed):
        with_orders.put_table("shop", "orders", orders(), precondition=Precondition(exists=False))


def test_a_stream_that_names_no_declared_schema_registry_is_refused(
    with_orders: Registrar,
) -> None:
    definition = StreamDefinition.model_validate(
        {"topic": "sales", "format": {"type": "json", "schema_registry": "shop"}}
    )

    with pytest.raises(DefinitionRefused, match=r"format\.schema_registry: no schema registry"):
        with_orders.put_stream(ORDERS, "sales", definition)


def test_a_table_from_before_sums_could_not_be_cleared_takes_streams_that_retract_in_any_order(
    store: RacingStore, registrar: Registrar
) -> None:
    spec = totals(column("a", "INT", "sum"), column("b", "INT", "sum"), column("c", "INT", "max"))
    registrar.put_table("shop", "sums", spec)
    registrar.put_stream("shop.sums", "first", definition(columns=mapped("id", "a")))
    stored = store.stored("shop.sums")
    assert stored is not None
    table = stored.value.table.model_copy(update={"deletes": Deletes.CLEAR_COLUMNS})
    older = stored.value.model_copy(update={"table": table})
    store.put_table(older, expected_version=stored.version)

    registrar.put_stream("shop.sums", "second", definition(columns=mapped("id", "b")))
    with pytest.raises(DefinitionRefused, match="the value of `max` of `c` after a delete"):
        registrar.put_stream("shop.sums", "third", definition(columns=mapped("id", "c")))


def test_a_stream_that_names_an_address_is_refused_and_one_that_is_stored_is_altered(
    store: RacingStore, catalog: Catalog, clock: ManualClock, with_orders: Registrar
) -> None:
    lab = KafkaClusters(addresses=("lab:9092",))
    definition = StreamDefinition.model_validate(
        {"topic": "sales", "kafka": {"bootstrap_servers": "lab:9092"}}
    )

    with pytest.raises(DefinitionRefused, match=r"kafka\.bootstrap_servers"):
        with_orders.put_stream(ORDERS, "sales", definition)
    Registrar(store, catalog, clock, clusters=lab).put_stream(ORDERS, "sales", definition)
    rename = SchemaChanges.model_validate(
        {"changes": [{"change": "rename_column", "column": "total", "to": "sum"}]}
    )
    with_orders.alter(ORDERS, plan_changes(rename.changes))

    assert with_orders.entry(ORDERS, "sales").spec.kafka.bootstrap_servers == "lab:9092"
