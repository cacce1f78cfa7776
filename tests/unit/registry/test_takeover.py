"""A stream that takes a group over continues above it, counts no record twice, and is its only writer."""

from typing import Any

import pyarrow as pa
import pytest

from braid.lake import (
    Catalog,
    GroupClaim,
    ManualClock,
    MemoryFileIO,
    StreamBatch,
    StreamFenced,
    StreamPosition,
    Table,
)
from braid.registry.errors import DefinitionDiffers, DefinitionRefused, StreamNotStopped
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.registry.store.leases import LeaseStore
from braid.registry.store.stored_documents import START_ANEW
from braid.registry.stream_entries import Verb
from braid.schemas import TableSpec
from tests.unit.registry.shop import ORDERS as DECLARED, definition, mapped, orders

ORDERS = "shop.orders"
SUMS = orders(
    columns=[
        column | ({"aggregate": {"function": "sum"}} if column["name"] == "paid" else {})
        for column in DECLARED["columns"]
    ]
)


@pytest.fixture
def catalog(file_io: MemoryFileIO, clock: ManualClock) -> Catalog:
    return Catalog("/w", file_io=file_io, clock=clock)


@pytest.fixture
def leases(file_io: MemoryFileIO, clock: ManualClock) -> LeaseStore:
    return LeaseStore(file_io, "/w", clock)


@pytest.fixture
def registrar(file_io: MemoryFileIO, catalog: Catalog, clock: ManualClock) -> Registrar:
    return Registrar(RegistryStore(file_io, "/w", clock), catalog, clock)


def given(registrar: Registrar, spec: TableSpec) -> None:
    """Register the table and the stream that owns the group `payments`."""
    registrar.put_table("shop", "orders", spec)
    registrar.put_stream(ORDERS, "payments", definition())


def claim(table: Table, stream: str, *, group: bool = True, **given: Any) -> StreamPosition:
    if group:
        given["group"] = GroupClaim(group="payments", cluster="c", partitions=1)
    start = {"topic": "orders", "topic_id": "i", "initial_offsets": {0: 0}}
    return table.committer().claim_stream(stream, **start | given)


def batch(position: StreamPosition, end: int = 0) -> StreamBatch:
    return StreamBatch(
        stream=position.stream,
        epoch=position.epoch,
        batch_id=0,
        topic="orders",
        topic_id="i",
        start=position.offsets,
        end={0: end},
    )


def deleted(registrar: Registrar, stream: str = "payments") -> None:
    registrar.apply_verb(ORDERS, stream, Verb.STOP)
    registrar.delete_stream(ORDERS, stream)


def test_a_runner_that_is_held_up_commits_nothing_after_the_deletion(
    registrar: Registrar, catalog: Catalog
) -> None:
    given(registrar, orders())
    table = catalog.table(ORDERS)
    held_up = claim(table, "payments")

    deleted(registrar)

    with pytest.raises(StreamFenced):
        table.committer().commit_stream_batch([], batch(held_up))


@pytest.mark.parametrize("is_claimed", [False, True])
def test_a_claim_that_is_held_up_comes_too_late(
    registrar: Registrar, catalog: Catalog, is_claimed: bool
) -> None:
    given(registrar, orders())
    table = catalog.table(ORDERS)
    seen = claim(table, "payments").epoch if is_claimed else 0

    deleted(registrar)

    with pytest.raises(StreamFenced):
        claim(table, "payments", expected_epoch=seen)


def test_a_stream_that_a_runner_holds_is_not_deleted(
    registrar: Registrar, leases: LeaseStore, clock: ManualClock
) -> None:
    given(registrar, orders())
    registrar.apply_verb(ORDERS, "payments", Verb.STOP)
    assert leases.acquire(ORDERS, "payments", "runner-1", 1_000) is not None

    with pytest.raises(StreamNotStopped, match="held by runner-1"):
        registrar.delete_stream(ORDERS, "payments")

    clock.advance(ms=1_001)
    registrar.delete_stream(ORDERS, "payments")
    assert registrar.document(ORDERS).streams == {}


def test_a_stream_deleted_before_it_read_anything_leaves_its_name_free(
    registrar: Registrar, catalog: Catalog
) -> None:
    given(registrar, orders())
    deleted(registrar)

    registrar.put_stream(ORDERS, "payments", definition("other"))

    assert claim(catalog.table(ORDERS), "payments").offsets == {0: 0}


@pytest.mark.parametrize("of_earlier_version", [False, True])
def test_whose_group_is_taken_over_commits_no_more(
    registrar: Registrar, catalog: Catalog, leases: LeaseStore, of_earlier_version: bool
) -> None:
    """Even if its epoch was not ended: an earlier version did not end epochs."""
    registrar.put_table("shop", "orders", orders())
    table = catalog.table(ORDERS)
    former = claim(table, "payments", group=not of_earlier_version)
    lease = leases.acquire(ORDERS, "payments", "runner-1", 1_000)
    assert lease is not None
    taken = definition(sequence_group="payments")

    with pytest.raises(StreamNotStopped):
        registrar.put_stream(ORDERS, "again", taken)
    leases.release(lease)
    registrar.put_stream(ORDERS, "again", taken)

    with pytest.raises(StreamFenced):
        table.committer().commit_stream_batch([], batch(former))
    assert claim(table, "again").generation == 1


def test_a_group_with_sums_is_taken_over_only_with_a_requested_start(
    registrar: Registrar, catalog: Catalog
) -> None:
    given(registrar, SUMS)
    claim(catalog.table(ORDERS), "payments", group=False)
    deleted(registrar)
    taken = {"sequence_group": "payments"}

    with pytest.raises(DefinitionRefused) as caught:
        registrar.put_stream(ORDERS, "again", definition(**taken))

    [problem] = caught.value.problems
    assert (problem.pointer, "`paid`" in problem.message) == ("/starting_offsets", True)
    registrar.put_stream(ORDERS, "again", definition(**taken, starting_offsets="earliest"))


COUNTERS = TableSpec.model_validate(
    {
        "columns": [
            {"name": "id", "type": "BIGINT"},
            {"name": "n", "type": "BIGINT", "aggregate": {"function": "sum"}},
            {"name": "highest", "type": "BIGINT", "aggregate": {"function": "max"}},
        ],
        "primary_key": ["id"],
        "merge_engine": "aggregation",
    }
)


def test_sums_outside_of_groups_are_taken_over_only_with_a_requested_start(
    registrar: Registrar, catalog: Catalog
) -> None:
    """Without one they doubled: nothing in the table says which stream has written them."""
    registrar.put_table("shop", "orders", COUNTERS)
    registrar.put_stream(ORDERS, "clicks", definition())
    table = catalog.table(ORDERS)
    claim(table, "clicks", group=False)
    deleted(registrar, "clicks")
    registrar.put_stream(ORDERS, "highest", definition(columns=mapped("id", "highest")))

    with pytest.raises(DefinitionRefused) as caught:
        registrar.put_stream(ORDERS, "again", definition(columns=mapped("id", "n")))

    [problem] = caught.value.problems
    assert problem.pointer == "/starting_offsets"
    assert "`clicks` may have written the same columns" in problem.message
    assert "in `n`" in problem.message
    # The name that continues at its own position counts nothing again.
    registrar.put_stream(ORDERS, "clicks", definition(columns=mapped("id", "n")))
    assert registrar.entry(ORDERS, "clicks").former_epoch is None
    deleted(registrar, "clicks")
    given = definition(columns=mapped("id", "n"), starting_offsets="latest")
    registrar.put_stream(ORDERS, "again", given)


def read(table: Table, stream: str, *columns: str, until: int) -> None:
    """Run a stream of `COUNTERS` until it has read up to an offset: each record adds 1 to each of its columns."""
    position = claim(table, stream, group=False)
    ones = [1] * (until - position.offsets[0])
    writer = table.writer()
    writer.write(pa.table({name: pa.array(ones, pa.int64()) for name in ("id", *columns)}))
    table.committer().commit_stream_batch(writer.prepare_commit().messages, batch(position, until))


def counted(table: Table) -> int:
    [total] = table.scan(columns=["n"]).to_arrow().column("n").to_pylist()
    assert isinstance(total, int)
    return total


def test_sums_outside_of_groups_are_not_taken_over_by_a_change(
    registrar: Registrar, catalog: Catalog
) -> None:
    """A stream that had not started read its topic from the beginning, and the sum doubled."""
    registrar.put_table("shop", "orders", COUNTERS)
    registrar.put_stream(ORDERS, "again", definition(columns=mapped("id", "highest")))
    registrar.put_stream(ORDERS, "clicks", definition(columns=mapped("id", "n")))
    table = catalog.table(ORDERS)
    read(table, "clicks", "n", until=10)
    deleted(registrar, "clicks")

    for start in ({}, {"starting_offsets": "latest"}):
        with pytest.raises(DefinitionRefused, match="`clicks` may have written `n`") as caught:
            registrar.put_stream(ORDERS, "again", definition(columns=mapped("id", "n"), **start))
        assert caught.value.problems[0].pointer == "/columns"

    deleted(registrar, "again")
    # The stream never read anything, so its name has no position at which it would continue.
    with pytest.raises(DefinitionRefused, match="starting_offsets"):
        registrar.put_stream(ORDERS, "again", definition(columns=mapped("id", "n")))
    registrar.put_stream(
        ORDERS, "again", definition(columns=mapped("id", "n"), starting_offsets="latest")
    )
    assert counted(table) == 10


def test_a_stream_adds_sums_once_it_has_read_as_far_as_their_former_stream(
    registrar: Registrar, catalog: Catalog
) -> None:
    """It counted the records in between again."""
    registrar.put_table("shop", "orders", COUNTERS)
    registrar.put_stream(ORDERS, "clicks", definition(columns=mapped("id", "n")))
    registrar.put_stream(ORDERS, "again", definition(columns=mapped("id", "highest")))
    table = catalog.table(ORDERS)
    read(table, "clicks", "n", until=10)
    read(table, "again", "highest", until=4)
    deleted(registrar, "clicks")
    both = definition(columns=mapped("id", "n", "highest"))

    with pytest.raises(DefinitionRefused, match="were read by `clicks` before"):
        registrar.put_stream(ORDERS, "again", both)
    read(table, "again", "highest", until=10)
    registrar.put_stream(ORDERS, "again", both)
    read(table, "again", "n", "highest", until=12)

    assert counted(table) == 12


def test_a_stream_adds_sums_whose_former_stream_has_read_another_topic(
    registrar: Registrar, catalog: Catalog
) -> None:
    registrar.put_table("shop", "orders", COUNTERS)
    registrar.put_stream(ORDERS, "clicks", definition("other", columns=mapped("id", "n")))
    registrar.put_stream(ORDERS, "again", definition(columns=mapped("id", "highest")))
    table = catalog.table(ORDERS)
    claim(table, "clicks", group=False, topic="other", initial_offsets={0: 10})
    claim(table, "again", group=False)
    deleted(registrar, "clicks")

    registrar.put_stream(ORDERS, "again", definition(columns=mapped("id", "n", "highest")))


@pytest.mark.parametrize("of_earlier_version", [False, True])
def test_a_group_is_not_taken_over_by_a_change(
    registrar: Registrar, catalog: Catalog, of_earlier_version: bool
) -> None:
    """A change fenced nobody: the former owner could commit, if an earlier version had deleted it."""
    registrar.put_table("shop", "orders", SUMS)
    registrar.put_stream(ORDERS, "again", definition(sequence_group="sales"))
    table = catalog.table(ORDERS)
    former = claim(table, "payments", group=not of_earlier_version)
    taken = definition(sequence_group="payments", starting_offsets="latest")

    with pytest.raises(DefinitionRefused, match="may have written the group") as caught:
        registrar.put_stream(ORDERS, "again", taken)
    deleted(registrar, "again")
    registrar.put_stream(ORDERS, "again", taken)

    assert caught.value.problems[0].pointer == "/sequence_group"
    with pytest.raises(StreamFenced):
        table.committer().commit_stream_batch([], batch(former))


def test_a_takeover_is_confirmed_by_each_change_until_the_stream_starts(
    registrar: Registrar, catalog: Catalog
) -> None:
    """A change without `starting_offsets` set the default, and all that the topic held counted again."""
    given(registrar, SUMS)
    table = catalog.table(ORDERS)
    claim(table, "payments")
    deleted(registrar)
    taken: dict[str, Any] = {"sequence_group": "payments"}
    slower: dict[str, Any] = {**taken, "trigger_ms": 9_000}
    registrar.put_stream(ORDERS, "again", definition(**taken, starting_offsets="latest"))

    for changed in (taken, slower):
        with pytest.raises(DefinitionRefused, match="starting_offsets"):
            registrar.put_stream(ORDERS, "again", definition(**changed))
    registrar.put_stream(ORDERS, "again", definition(**slower, starting_offsets="earliest"))
    # The declaration is the same: nothing changes.
    registrar.put_stream(ORDERS, "again", definition(**slower))

    claim(table, "again")
    registrar.put_stream(ORDERS, "again", definition(**taken))


def test_a_start_in_another_topic_is_confirmed_by_each_change_until_the_stream_starts(
    registrar: Registrar, catalog: Catalog
) -> None:
    given(registrar, SUMS)
    table = catalog.table(ORDERS)
    claim(table, "payments")
    deleted(registrar)
    former = register_again(registrar, "other", starting_offsets="latest")

    with pytest.raises(DefinitionDiffers) as caught:
        register_again(registrar, "other")
    assert "`starting_offsets`" in (caught.value.problems[0].hint or "")

    claim(table, "payments", topic="other", former_epoch=former, initial_offsets={0: 20})
    register_again(registrar, "other")


def register_again(registrar: Registrar, topic: str = "orders", **given: Any) -> int | None:
    """Register `payments` again; return what its claims say of the former registration."""
    registrar.put_stream(ORDERS, "payments", definition(topic, **given))
    return registrar.entry(ORDERS, "payments").former_epoch


def test_a_stream_that_returns_to_a_group_starts_as_requested_and_only_once(
    registrar: Registrar, catalog: Catalog
) -> None:
    """It went on at the position of its former registration, below what was counted since."""
    given(registrar, SUMS)
    table = catalog.table(ORDERS)
    claim(table, "payments")
    deleted(registrar)
    registrar.put_stream(
        ORDERS, "again", definition(sequence_group="payments", starting_offsets="latest")
    )
    claim(table, "again", initial_offsets={0: 10})
    deleted(registrar, "again")

    with pytest.raises(DefinitionRefused, match="`again` has written the group"):
        registrar.put_stream(ORDERS, "payments", definition())
    former = register_again(registrar, starting_offsets="latest")

    assert claim(table, "payments", former_epoch=former, initial_offsets={0: 20}).offsets == {0: 20}
    assert claim(table, "payments", former_epoch=former, initial_offsets={0: 30}).offsets == {0: 20}


def test_a_stream_that_returns_to_an_unchanged_group_continues(
    registrar: Registrar, catalog: Catalog
) -> None:
    """Also if the request sets a start: a declaration that is kept in a file does."""
    given(registrar, SUMS)
    table = catalog.table(ORDERS)
    claim(table, "payments", initial_offsets={0: 7})
    deleted(registrar)

    former = register_again(registrar, starting_offsets="earliest")

    assert claim(table, "payments", former_epoch=former).offsets == {0: 7}


def test_a_name_whose_position_is_of_another_topic_is_taken_with_a_start(
    registrar: Registrar, catalog: Catalog
) -> None:
    """Nothing else could free it: the table keeps the position, also after its files are kept."""
    given(registrar, SUMS)
    table = catalog.table(ORDERS)
    claim(table, "payments")
    deleted(registrar)

    with pytest.raises(DefinitionDiffers) as caught:
        register_again(registrar, "other")
    assert "`starting_offsets`" in (caught.value.problems[0].hint or "")
    former = register_again(registrar, "other", starting_offsets="latest")

    position = claim(table, "payments", topic="other", former_epoch=former, initial_offsets={0: 20})
    assert (position.topic, position.offsets, position.generation) == ("other", {0: 20}, 1)


def test_older_versions_do_not_run_a_stream_with_a_former_epoch(
    registrar: Registrar, catalog: Catalog
) -> None:
    given(registrar, orders())
    assert registrar.entry(ORDERS, "payments").features == ()
    claim(catalog.table(ORDERS), "payments")
    deleted(registrar)

    register_again(registrar, starting_offsets="earliest")

    assert registrar.entry(ORDERS, "payments").features == (START_ANEW,)


def test_a_group_without_sums_and_an_owner_that_returns_need_no_start(
    registrar: Registrar, catalog: Catalog
) -> None:
    given(registrar, SUMS)
    claim(catalog.table(ORDERS), "payments")
    deleted(registrar)

    registrar.put_stream(ORDERS, "payments", definition())
    registrar.put_stream(ORDERS, "sales", definition())

    assert set(registrar.document(ORDERS).streams) == {"payments", "sales"}
