"""A running stream reads its plan from the registry, and changes its table there."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from braid.lake import (
    AddColumn,
    Catalog,
    InvalidRequest,
    ManualClock,
    MemoryFileIO,
    RenameColumn,
    parse_type,
)
from braid.pipelines.plan_changes.current_plan import RegistryPlans
from braid.pipelines.plan_changes.stream_evolver import RegistryEvolver
from braid.records.new_fields.schema_delta import SchemaDelta
from braid.records.new_fields.value_shape import shape_of
from braid.records.stream_plan import StreamPlan, plan_stream
from braid.registry.alteration.table_changes import plan_changes
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.registry.stream_entries import Verb
from braid.schemas import SchemaChanges
from tests.unit.registry.shop import definition, orders

ORDERS = "shop.orders"


@dataclass
class Shop:
    """A registered table of two streams that read one topic, and a plan of the first."""

    file_io: MemoryFileIO = field(default_factory=MemoryFileIO)

    def __post_init__(self) -> None:
        clock = ManualClock()
        self.catalog = Catalog("/w", file_io=self.file_io, clock=clock)
        store = RegistryStore(self.file_io, "/w", clock)
        self.registrar = Registrar(store, self.catalog, clock)
        self.registrar.put_table("shop", "orders", orders())
        self.registrar.put_stream(ORDERS, "sales", definition(on_new_field="evolve"))
        self.registrar.put_stream(ORDERS, "payments", definition())
        self.plans = RegistryPlans(registry=store, catalog=self.catalog)
        self.evolver = RegistryEvolver(registrar=self.registrar)
        self.table = self.catalog.table(ORDERS)
        document = self.registrar.document(ORDERS)
        self.plan = plan_stream(
            table=ORDERS,
            spec=document.table,
            stream=document.streams["sales"].spec,
            schema=self.table.schema,
            generation=7,
        )

    def newest(self) -> StreamPlan:
        return self.plans.newest(self.plan, self.table)

    def alter(self, *changes: dict[str, Any]) -> None:
        requested = SchemaChanges.model_validate({"changes": changes}).changes
        self.registrar.alter(ORDERS, plan_changes(requested))


@pytest.fixture
def shop() -> Shop:
    return Shop()


def columns_of(plan: StreamPlan) -> dict[str, tuple[str, str]]:
    return {column.name: (column.address, str(column.type)) for column in plan.columns}


def test_a_plan_follows_the_table_and_keeps_its_fields(shop: Shop) -> None:
    shop.alter(
        {"change": "rename_column", "column": "total", "to": "sum"},
        {"change": "update_column_type", "column": "sum", "type": "DECIMAL(12, 2)"},
        {"change": "add_column", "column": "tip", "type": "DOUBLE", "sequence_group": "sales"},
    )

    plan = shop.newest()

    found = columns_of(plan)
    assert (found["sum"], found["tip"]) == (("total", "DECIMAL(12, 2)"), ("tip", "DOUBLE"))
    assert (plan.version, plan.schema_id, plan.generation) == (2, 1, 7)
    assert shop.table.schema.id == 1
    assert plan.paths_of_other_streams == (("id",), ("region",), ("paid",), ("method",))


def test_a_stream_continues_when_a_column_without_a_stream_is_dropped(shop: Shop) -> None:
    shop.alter(
        {"change": "add_column", "column": "note", "type": "STRING", "sequence_group": "shipping"}
    )
    shop.alter({"change": "drop_column", "column": "note"})

    plan = shop.newest()
    assert columns_of(plan) == columns_of(shop.plan)
    assert (plan.version, plan.schema_id) == (1, 2)


def test_fields_that_are_not_live_stay_as_they_were(shop: Shop) -> None:
    changed = definition(trigger_ms=900, max_message_bytes=8)
    shop.registrar.put_stream(ORDERS, "sales", changed)

    spec = shop.newest().spec
    assert (spec.trigger_ms, spec.max_message_bytes) == (shop.plan.spec.trigger_ms, 8)


def test_a_stream_that_is_deleted_keeps_its_plan(shop: Shop) -> None:
    shop.registrar.apply_verb(ORDERS, "sales", Verb.STOP)
    shop.registrar.delete_stream(ORDERS, "sales")

    assert columns_of(shop.newest()) == columns_of(shop.plan)


def test_a_change_without_the_registry_is_followed_or_refused(shop: Shop) -> None:
    """The second half of the promise: it is never followed by halves."""
    shop.catalog.table(ORDERS).alter(AddColumn(path=("own",), type=parse_type("INT")))
    assert shop.newest().schema_id == 1
    shop.catalog.table(ORDERS).alter(RenameColumn(path=("currency",), name="unit"))

    with pytest.raises(InvalidRequest, match=r"columns\.currency: table .* has no such column"):
        shop.newest()


def test_new_fields_become_columns_and_refused_ones_are_returned(shop: Shop) -> None:
    delta = SchemaDelta(
        new={("tip",): shape_of(1.5), ("Total",): shape_of(1), ("to",): shape_of({"zip": "1"})},
        wider={"total": shape_of(10**20)},
    )

    refused = shop.evolver.evolve(shop.plan, delta)

    found = columns_of(shop.newest())
    assert found["tip"] == ("tip", "DOUBLE")
    assert found["to"] == ("to", "ROW<`zip` STRING>")
    assert found["total"] == ("total", "DECIMAL(38, 2)")
    assert list(refused) == ["Total"]
    assert "in case only" in refused["Total"]
    assert shop.evolver.evolve(shop.plan, SchemaDelta(new={("tip",): shape_of(1)})) == {}
