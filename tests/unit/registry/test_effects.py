"""The effects of changes, in words, as dry runs announce them: derived from what the change would write."""

from typing import Any

import pytest

from braid.lake import Catalog, ManualClock, MemoryFileIO
from braid.registry.alteration.table_changes import plan_changes
from braid.registry.effects import EFFECTS_MAX
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.registry.stream_entries import Verb
from braid.schemas import DesiredState, SchemaChanges
from tests.unit.registry.shop import definition, mapped, orders

ORDERS = "shop.orders"


@pytest.fixture
def catalog(file_io: MemoryFileIO, clock: ManualClock) -> Catalog:
    return Catalog("/w", file_io=file_io, clock=clock)


@pytest.fixture
def registrar(file_io: MemoryFileIO, clock: ManualClock, catalog: Catalog) -> Registrar:
    return Registrar(RegistryStore(file_io, "/w", clock), catalog, clock)


@pytest.fixture
def shop(registrar: Registrar) -> Registrar:
    registrar.put_table("shop", "orders", orders())
    registrar.put_stream(ORDERS, "sales", definition())
    return registrar


def effects_of_schema_changes(shop: Registrar, *changes: dict[str, Any]) -> tuple[str, ...]:
    plan = plan_changes(SchemaChanges.model_validate({"changes": changes}).changes)
    planned = shop.plan_alteration(ORDERS, plan)
    assert planned.problems == ()
    before = shop.document(ORDERS)
    after = shop.alter(ORDERS, plan)
    follow = [name for name, one in after.streams.items() if one.version != before.streams[name].version]  # fmt: skip
    assert [f"the stream `{name}` follows" in " ".join(planned.effects) for name in after.streams] == [name in follow for name in after.streams]  # fmt: skip
    return planned.effects


def test_a_table_is_created_or_adopted(registrar: Registrar, catalog: Catalog) -> None:
    created = registrar.plan_table("shop", "orders", orders())
    registrar.put_table("shop", "orders", orders())

    assert created.effects == (
        "creates the table `shop.orders` with 9 declared and 12 generated columns, in 4 buckets of each partition",
        "sequence groups, each for one stream: `sales`, `payments`, `shipping`",
        "rewrites nothing",
    )
    assert registrar.plan_table("shop", "orders", orders()).effects == ("changes nothing",)


def test_an_added_column_is_read_by_the_stream_of_its_group(shop: Registrar) -> None:
    effects = effects_of_schema_changes(
        shop,
        {"change": "add_column", "column": "note", "type": "STRING", "sequence_group": "sales"},
    )

    assert effects[0] == "adds the column `note` (STRING)"
    assert effects[-2:] == (
        "rewrites nothing: files keep the schema that they were written by",
        "the stream `sales` follows at its next micro-batch, without a restart",
    )


def test_each_kind_of_schema_change_is_told(shop: Registrar) -> None:
    effects = effects_of_schema_changes(
        shop,
        {"change": "rename_column", "column": "method", "to": "means"},
        {"change": "update_column_type", "column": "order_version", "type": "BIGINT"},
        {"change": "drop_column", "column": "shipped"},
        {"change": "update_column_comment", "column": "paid", "description": "in euros"},
        {"change": "update_comment", "comment": "orders"},
        {"change": "set_option", "key": "snapshot.num-retained.max", "value": "90"},
        {"change": "update_column_position", "column": "carrier", "position": {"place": "first"}},
    )

    text = "\n".join(effects)
    for words in (
        "renames the column `method` to `means`",
        "changes the type of `order_version` to BIGINT",
        "drops the column `shipped`: its values are not readable any more",
        "changes the description of `paid`",
        "changes the comment of the table",
        "sets the option `snapshot.num-retained.max` to `90`",
        "moves the column `carrier`",
    ):
        assert words in text


def test_a_schema_change_that_changes_nothing_says_so(shop: Registrar) -> None:
    assert effects_of_schema_changes(shop, {"change": "update_comment", "comment": None}) == (
        "changes nothing",
    )


def test_many_effects_are_counted(shop: Registrar) -> None:
    changes = [
        {"change": "add_column", "column": f"c{number}", "type": "INT", "sequence_group": "sales"}
        for number in range(EFFECTS_MAX + 20)
    ]
    plan = plan_changes(SchemaChanges.model_validate({"changes": changes}).changes)

    effects = shop.plan_alteration(ORDERS, plan).effects

    assert len(effects) == EFFECTS_MAX
    assert effects[-1] == "and 23 more effects"


def test_the_registration_of_a_stream_says_where_it_begins(
    shop: Registrar, catalog: Catalog
) -> None:
    document = shop.document(ORDERS)

    new = shop.plan_stream(document, "payments", definition("paid"))
    stopped = shop.plan_stream(
        document,
        "payments",
        definition("paid", starting_offsets="latest"),
        initial_state=DesiredState.STOPPED,
    )
    catalog.table(ORDERS).committer().claim_stream(
        "payments", topic="paid", topic_id="t", initial_offsets={0: 7}
    )
    known = shop.plan_stream(document, "payments", definition("paid"))

    assert new.effects == (
        "registers the stream `payments`: the topic `paid` feeds the group `payments`",
        "it begins with the earliest records of its topic",
        "it runs as soon as a runner takes it",
        "rewrites nothing",
    )
    assert "it begins with the latest records of its topic" in stopped.effects
    assert "it is STOPPED until it is started" in stopped.effects
    assert known.effects[1] == "it continues at the position that the table has of this name"


@pytest.mark.parametrize(
    ("fields", "state", "told"),
    [
        ({"columns_max": 7}, None, "it follows at its next micro-batch, without a restart"),
        ({"trigger_ms": 700}, None, "its query is replaced by a new one, which continues at the stream's position"),
        ({"trigger_ms": 700}, Verb.PAUSE, "it follows when it is resumed"),
        ({"trigger_ms": 700}, Verb.STOP, "it follows when it is started"),
        ({"owner": "me"}, None, "its query goes on as it is"),
        ({}, None, None),
    ],
    ids=str,
)  # fmt: skip
def test_a_change_of_a_stream_says_how_its_query_follows(
    shop: Registrar, fields: dict[str, Any], state: Verb | None, told: str | None
) -> None:
    if state is not None:
        shop.apply_verb(ORDERS, "sales", state)

    effects = shop.plan_stream(shop.document(ORDERS), "sales", definition(**fields)).effects

    assert effects == ("changes nothing",) if told is None else effects[-2] == told


def test_columns_of_a_stream_are_told_by_name(registrar: Registrar) -> None:
    registrar.put_table("shop", "loose", orders(merge_engine="deduplicate", sequence_groups=[]))
    columns = mapped("id", "region", "total")
    registrar.put_stream("shop.loose", "one", definition(columns=columns))
    changed = [*mapped("id", "region"), {"column": "total", "path": "sum"}, *mapped("paid")]

    document = registrar.document("shop.loose")
    effects = registrar.plan_stream(document, "one", definition(columns=changed)).effects

    assert effects[:2] == ("reads the column `paid`", "reads the column `total` in another way")
