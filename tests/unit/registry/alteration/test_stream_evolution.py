"""New fields of a stream's records become columns of its group, once, and harm no other stream."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from braid.lake import Catalog, ManualClock, MemoryFileIO, SchemaMismatch, TableSchema, parse_type
from braid.registry.alteration.alteration import Alteration
from braid.registry.alteration.stream_evolution import NewField, evolve_stream
from braid.registry.errors import DefinitionRefused
from braid.registry.layout.physical_table import physical_table
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.schemas import StreamColumn, TableDocument
from tests.unit.registry.shop import definition, orders

ORDERS = "shop.orders"
SALES_OPTION = "fields.order_version,sales__offset,sales__partition.sequence-group"


@pytest.fixture
def catalog(file_io: MemoryFileIO, clock: ManualClock) -> Catalog:
    return Catalog("/w", file_io=file_io, clock=clock)


def registrar_of(catalog: Catalog, file_io: MemoryFileIO, clock: ManualClock) -> Registrar:
    return Registrar(RegistryStore(file_io, "/w", clock), catalog, clock)


@pytest.fixture
def registrar(catalog: Catalog, file_io: MemoryFileIO, clock: ManualClock) -> Registrar:
    registrar = registrar_of(catalog, file_io, clock)
    registrar.put_table("shop", "orders", orders())
    registrar.put_stream(ORDERS, "sales", definition("sales", columns_max=8))
    registrar.put_stream(ORDERS, "payments", definition("payments"))
    return registrar


def evolved(
    registrar: Registrar,
    stream: str,
    new: Mapping[str, str] | None = None,
    wider: Mapping[str, str] | None = None,
) -> TableDocument:
    """Evolve a stream: new fields by their address, columns by their name, with types as text."""
    fields = [
        NewField(path=tuple(address.split(".")), type=parse_type(sql))
        for address, sql in (new or {}).items()
    ]
    types = {name: parse_type(sql) for name, sql in (wider or {}).items()}

    def plan(document: TableDocument, schema: TableSchema) -> Alteration:
        return evolve_stream(document, schema, stream=stream, new=fields, wider=types)

    return registrar.alter(ORDERS, plan)


def columns_of(catalog: Catalog) -> dict[str, str]:
    return {field.name: str(field.type) for field in catalog.table(ORDERS).schema.fields}


def test_new_fields_join_the_streams_own_group(registrar: Registrar, catalog: Catalog) -> None:
    document = evolved(registrar, "sales", {"tip": "DOUBLE", "after.note": "STRING"})

    group = document.table.sequence_group("sales")
    assert group is not None
    assert group.columns == ("total", "currency", "tip", "note")
    entry = document.streams["sales"]
    assert entry.spec.columns[-2:] == (
        StreamColumn(column="tip"),
        StreamColumn(column="note", path="after.note"),
    )
    assert entry.version == 2
    assert document.streams["payments"].version == 1
    schema = catalog.table(ORDERS).schema
    assert schema.options[SALES_OPTION] == ("total,currency,tip,note,sales__at,sales__op")
    wanted = physical_table(document.table)
    assert [f.name for f in schema.fields] == [f.name for f in wanted.columns]
    assert schema.id == document.schema_id == 1


def test_new_columns_whose_values_a_change_may_leave_out_are_kept(
    catalog: Catalog, registrar: Registrar
) -> None:
    columns = [
        {"column": name, **({"on_missing": "null"} if name in ("region", "currency") else {})}
        for name in ("id", "region", "total", "order_version", "currency")
    ]
    declared = {"type": "debezium", "database": "postgresql"}
    registrar.put_stream(
        ORDERS, "sales", definition("sales", columns=columns, format=declared, on_delete="ignore")
    )

    document = evolved(registrar, "sales", {"tip": "DOUBLE", "note": "STRING", "to": "ROW<a INT>"})
    document = evolved(registrar, "sales", {"tags": "ARRAY<STRING>"})

    group = document.table.sequence_group("sales")
    assert group is not None
    assert group.columns[2:] == ("tip", "note", "to", "tags")
    assert group.keep == ("note", "to", "tags")
    schema = catalog.table(ORDERS).schema
    wanted = physical_table(document.table)
    assert [f.name for f in schema.fields] == [f.name for f in wanted.columns]
    assert schema.options.items() >= wanted.options.items()
    assert schema.options["fields.note__order.sequence-group"] == "note"
    assert "on_missing" in document.features


def test_columns_widen_and_get_fields_inside(registrar: Registrar, catalog: Catalog) -> None:
    evolved(registrar, "sales", {"address": "ROW<city STRING>"})
    document = evolved(
        registrar, "sales", wider={"total": "DECIMAL(38, 2)", "address": "ROW<zip STRING>"}
    )

    types = {column.name: column.type for column in document.table.columns}
    assert types["total"] == columns_of(catalog)["total"] == "DECIMAL(38, 2)"
    assert types["address"] == columns_of(catalog)["address"] == "ROW<`city` STRING, `zip` STRING>"
    assert document.streams["sales"].version == 3


def test_a_field_that_is_a_column_already_changes_nothing(registrar: Registrar) -> None:
    once = evolved(registrar, "sales", {"tip": "DOUBLE"}, {"total": "DECIMAL(12, 2)"})
    again = evolved(registrar, "sales", {"tip": "BIGINT"}, {"total": "DECIMAL(11, 2)"})

    assert again == once


def test_a_column_that_another_stream_fills_stays_its_own(registrar: Registrar) -> None:
    evolved(registrar, "sales", {"tip": "DOUBLE"})
    document = evolved(registrar, "payments", {"tip": "DOUBLE", "fee": "DOUBLE"})

    assert document.streams["payments"].spec.column_names[-1] == "fee"
    assert "tip" not in document.streams["payments"].spec.column_names


def test_a_stream_has_at_most_columns_max_columns(registrar: Registrar) -> None:
    """Sales maps five columns of eight; fields inside of a column count."""
    document = evolved(
        registrar,
        "sales",
        {"x": "ROW<a INT, b ROW<c INT>>", "y": "ROW<a INT>", "z": "INT", "w": "INT"},
    )

    assert document.streams["sales"].spec.column_names[5:] == ("y", "z")
    assert evolved(registrar, "sales", {"v": "INT"}) == document
    assert evolved(registrar, "sales", wider={"y": "ROW<b INT>"}) == document


def test_of_fields_of_one_name_the_first_becomes_a_column(
    registrar: Registrar, catalog: Catalog
) -> None:
    fields = {"x.tip": "INT", "y.tip": "STRING", "TIP": "INT", "fee": "INT"}

    document = evolved(registrar, "sales", fields)

    assert document.streams["sales"].spec.columns[-2:] == (
        StreamColumn(column="tip", path="x.tip"),
        StreamColumn(column="fee"),
    )
    assert catalog.table(ORDERS).schema.id == 1


def test_what_breaks_a_rule_is_refused_whole(registrar: Registrar, catalog: Catalog) -> None:
    before = columns_of(catalog)
    for new in ({"Total": "INT", "tip": "INT"}, {"a b": "INT"}):
        with pytest.raises(DefinitionRefused):
            evolved(registrar, "sales", new)
    with pytest.raises(SchemaMismatch):
        evolved(registrar, "sales", wider={"currency": "INT"})
    with pytest.raises(DefinitionRefused):
        evolved(registrar, "sales", wider={"id": "DECIMAL(38, 0)"})

    assert columns_of(catalog) == before


def test_a_deleted_stream_changes_nothing(registrar: Registrar) -> None:
    assert evolved(registrar, "other", {"tip": "INT"}) == registrar.document(ORDERS)


def test_streams_that_race_change_the_table_once_for_each_field(
    registrar: Registrar, catalog: Catalog, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    def run(number: int) -> Any:
        own = registrar_of(Catalog("/w", file_io=file_io, clock=clock), file_io, clock)
        stream = ("sales", "payments")[number % 2]
        return evolved(own, stream, {f"{stream}_{number // 4}": "INT"})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(8)))

    document = registrar.document(ORDERS)
    new = document.table.column_names[len(orders().columns) :]
    assert sorted(new) == ["payments_0", "payments_1", "sales_0", "sales_1"]
    assert catalog.table(ORDERS).schema.id == document.schema_id <= 4
    assert list(columns_of(catalog)) == [f.name for f in physical_table(document.table).columns]
