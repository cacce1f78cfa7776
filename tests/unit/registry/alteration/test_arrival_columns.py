"""Tables from before the arrival columns ended the order of every group get them, and lose nothing."""

from typing import Any

import pyarrow as pa
import pytest

from braid.lake import (
    AddColumn,
    Catalog,
    Machine,
    ManualClock,
    MemoryFileIO,
    Table,
    parse_type,
    stored_offset,
)
from braid.registry.alteration.arrival_columns import lacks_arrival
from braid.registry.alteration.table_changes import plan_changes
from braid.registry.errors import DefinitionRefused
from braid.registry.layout.physical_table import physical_groups, physical_table
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.schemas import SchemaChanges, TableDocument
from tests.unit.registry.shop import ORDERS as SHOP_ORDERS, definition, orders

WAREHOUSE = "/warehouse"
ORDERS = "shop.orders"
BOTH = pytest.mark.parametrize("machine", Machine, ids=lambda machine: machine.name.lower())


@pytest.fixture
def catalog(file_io: MemoryFileIO, clock: ManualClock) -> Catalog:
    return Catalog(WAREHOUSE, file_io=file_io, clock=clock)


@pytest.fixture
def registrar(store: RegistryStore, catalog: Catalog, clock: ManualClock) -> Registrar:
    return Registrar(store, catalog, clock)


@pytest.fixture
def store(file_io: MemoryFileIO, clock: ManualClock) -> RegistryStore:
    return RegistryStore(file_io, WAREHOUSE, clock)


@pytest.fixture
def table(catalog: Catalog, store: RegistryStore, registrar: Registrar) -> Table:
    return given_table(catalog, store, registrar, deletes="remove_row", unordered="allowed")


def given_table(
    catalog: Catalog, store: RegistryStore, registrar: Registrar, **declared: Any
) -> Table:
    """Make the table as the version before made it, with a stream and two rows."""
    spec = orders(**declared)
    defined = physical_table(spec)
    former = {k: v for k, v in defined.options.items() if not k.startswith("braid.")}
    for group in physical_groups(spec):
        former[group.former_option] = former.pop(group.option[0])
    made = ("sales__offset", "sales__partition")
    columns = [f for f in defined.columns if f.name not in made or f.name in spec.column_names]
    table = catalog.create_table(
        ORDERS,
        columns=list({field.name: field for field in columns}.values()),
        primary_key=defined.primary_key,
        options=former,
    )
    document = TableDocument(database="shop", name="orders", table=spec)
    store.put_table(document, expected_version=None)
    registrar.put_stream(ORDERS, "sales", definition())
    put(table, currency="old", order_version=7, sales__op="upsert")
    # Of a partition that is above the one that the same key has later.
    put(table, method="old", payments__partition=9, payments__offset=1_000)
    return table


def put(table: Table, machine: Machine = Machine.COLUMN, **values: Any) -> None:
    row = dict.fromkeys(table.schema.field_names) | {"id": 1, "region": "eu"} | values
    writer = table.writer(machine=machine)
    writer.write(pa.Table.from_pylist([row], schema=table.schema.arrow_schema))
    table.committer().commit(writer.prepare_commit().messages, commit_user="u")


def test_one_schema_change_brings_the_columns_and_the_options(
    registrar: Registrar, table: Table
) -> None:
    before = table.schema
    spec = registrar.document(ORDERS).table
    assert lacks_arrival(spec, before)

    registrar.add_arrival_columns(ORDERS)
    registrar.add_arrival_columns(ORDERS)

    table.refresh()
    assert table.schema.id == before.id + 1 == registrar.document(ORDERS).schema_id
    assert not lacks_arrival(spec, table.schema)
    assert set(before.field_names) < set(table.schema.field_names)
    assert dict(table.schema.options) == dict(physical_table(spec).options)
    # What names ordering columns and cannot be changed any more is as it was.
    key = "partial-update.remove-record-on-sequence-group"
    assert table.schema.options[key] == before.options[key]


def test_its_streams_follow(registrar: Registrar, table: Table) -> None:
    assert table.schema.id == 0
    registrar.add_arrival_columns(ORDERS)

    assert registrar.entry(ORDERS, "sales").version == 2


def test_any_change_of_a_table_without_arrival_columns_adds_them(
    catalog: Catalog, store: RegistryStore, registrar: Registrar
) -> None:
    table = given_table(catalog, store, registrar)
    changes = SchemaChanges.model_validate(
        {"changes": [{"change": "rename_column", "column": "order_version", "to": "version"}]}
    )
    registrar.alter(ORDERS, plan_changes(changes.changes))

    table.refresh()
    spec = registrar.document(ORDERS).table
    assert dict(table.schema.options) == dict(physical_table(spec).options)
    assert "fields.version,sales__offset,sales__partition.sequence-group" in table.schema.options


@pytest.mark.parametrize("name", ["sales__offset", "Sales__Offset"])
def test_a_foreign_column_of_the_name_is_not_taken_for_arrival(
    catalog: Catalog, store: RegistryStore, registrar: Registrar, name: str
) -> None:
    """Its values would order the records of the group, and arrival would write over them."""
    columns = [*SHOP_ORDERS["columns"], {"name": name, "type": "BIGINT"}]
    groups = [
        SHOP_ORDERS["sequence_groups"][0],
        {"name": "payments", "columns": ["paid", "method", name]},
        SHOP_ORDERS["sequence_groups"][2],
    ]
    table = given_table(catalog, store, registrar, columns=columns, sequence_groups=groups)

    with pytest.raises(DefinitionRefused, match="`sales` needs a column of this name") as refused:
        registrar.add_arrival_columns(ORDERS)

    (problem,) = refused.value.problems
    assert (problem.field, problem.value) == (f"table.columns.{name}", name)
    table.refresh()
    assert table.schema.id == 0
    # What the hint says makes the streams start.
    rename = {"change": "rename_column", "column": name, "to": "shown_offset"}
    registrar.alter(
        ORDERS, plan_changes(SchemaChanges.model_validate({"changes": [rename]}).changes)
    )
    registrar.add_arrival_columns(ORDERS)
    table.refresh()
    assert {"shown_offset", "sales__offset", "sales__partition"} <= set(table.schema.field_names)
    assert not lacks_arrival(registrar.document(ORDERS).table, table.schema)


def test_a_column_that_another_engine_has_added_is_not_taken_either(
    registrar: Registrar, table: Table
) -> None:
    table.alter(AddColumn(path=("sales__partition",), type=parse_type("INT")))

    with pytest.raises(DefinitionRefused, match="`sales` needs a column of this name"):
        registrar.add_arrival_columns(ORDERS)


@BOTH
@pytest.mark.parametrize("compacted", [False, True], ids=["as-written", "compacted"])
def test_rows_of_before_count_as_older(
    registrar: Registrar, table: Table, machine: Machine, compacted: bool
) -> None:
    """No arrival is below any; an offset that no generation was put into is of generation 0."""
    registrar.add_arrival_columns(ORDERS)
    table.refresh()
    if compacted:
        table.compact(full=True)

    put(table, machine, currency="new", order_version=7, sales__offset=0, sales__partition=0)
    put(table, machine, method="new", payments__offset=stored_offset(1, 3), payments__partition=0)

    row = table.get({"id": 1, "region": "eu"})
    assert row is not None
    assert (row["currency"], row["method"]) == ("new", "new")
    table.compact(full=True, machine=machine)
    assert table.get({"id": 1, "region": "eu"}) == row


def test_a_declared_order_still_goes_before_arrival(registrar: Registrar, table: Table) -> None:
    registrar.add_arrival_columns(ORDERS)
    table.refresh()

    put(table, currency="late", order_version=6, sales__offset=99, sales__partition=0)

    row = table.get({"id": 1, "region": "eu"})
    assert row is not None
    assert row["currency"] == "old"
