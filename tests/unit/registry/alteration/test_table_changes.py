"""Changes of a registered table: declaration, streams and schema change together."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from lake import Catalog, ManualClock, MemoryFileIO, RenameColumn, Table
from registry.alteration.alteration import AlterationPlan
from registry.alteration.table_changes import plan_changes
from registry.errors import DefinitionRefused, PreconditionFailed
from registry.layout.physical_table import physical_table
from registry.registrar import Registrar
from registry.store.documents import RegistryStore
from registry.store.named_request import NamedRequest
from registry.store.revision import Precondition
from schemas import SchemaChanges, StreamColumn, TableDocument, Unordered
from tests.unit.registry.shop import definition, mapped, orders

ORDERS = "shop.orders"


@pytest.fixture
def store(file_io: MemoryFileIO, clock: ManualClock) -> RegistryStore:
    return RegistryStore(file_io, "/w", clock)


@pytest.fixture
def catalog(file_io: MemoryFileIO, clock: ManualClock) -> Catalog:
    return Catalog("/w", file_io=file_io, clock=clock)


@pytest.fixture
def registrar(store: RegistryStore, catalog: Catalog, clock: ManualClock) -> Registrar:
    registrar = Registrar(store, catalog, clock)
    registrar.put_table("shop", "orders", orders())
    for name in ("sales", "payments"):
        registrar.put_stream(ORDERS, name, definition(name))
    return registrar


@pytest.fixture
def table(registrar: Registrar, catalog: Catalog) -> Table:
    return catalog.table(ORDERS)


def changed(
    registrar: Registrar, *changes: dict[str, Any], key: str | None = None, **options: Any
) -> TableDocument:
    """Make changes as a request gives them."""
    requested = SchemaChanges.model_validate({"changes": changes})
    named = None if key is None else NamedRequest.of(key, requested)
    return registrar.alter(ORDERS, plan_changes(requested.changes), request=named, **options)


def refused(registrar: Registrar, *changes: dict[str, Any]) -> list[tuple[str | None, str]]:
    """Return pointer and message of what is wrong with changes, said by the dry run as well."""
    requested = SchemaChanges.model_validate({"changes": changes}).changes
    plan = plan_changes(requested)
    before = registrar.document(ORDERS)
    with pytest.raises(DefinitionRefused) as caught:
        registrar.alter(ORDERS, plan)
    assert registrar.check_alteration(ORDERS, plan) == list(caught.value.problems)
    assert registrar.document(ORDERS) == before
    return [(problem.pointer, problem.message) for problem in caught.value.problems]


def names_of(table: Table) -> list[str]:
    table.refresh()
    return [field.name for field in table.schema.fields]


def agrees(document: TableDocument, table: Table) -> bool:
    """Say whether the table is what is declared, in the declared order."""
    table.refresh()
    definition = physical_table(document.table)
    return (
        [(f.name, str(f.type), f.description, f.default_value) for f in table.schema.fields]
        == [(f.name, str(f.type), f.description, f.default_value) for f in definition.columns]
        and table.schema.options == definition.options
        and table.schema.id == document.schema_id
    )


def test_a_new_column_of_a_group_is_read_by_the_owner_of_the_group(
    registrar: Registrar, table: Table
) -> None:
    document = changed(
        registrar,
        {
            "change": "add_column",
            "column": "iban",
            "type": "STRING",
            "description": "where it came from",
            "sequence_group": "payments",
            "source": "account.iban",
        },
    )

    payments = document.streams["payments"]
    assert payments.spec.columns[-1] == StreamColumn(column="iban", path="account.iban")
    assert (payments.version, document.streams["sales"].version) == (2, 1)
    assert payments.restart_generation == 0
    assert document.schema_id == 1
    assert document == registrar.document(ORDERS)
    assert agrees(document, table)
    assert names_of(table)[8:11] == ["shipped", "iban", "sales__partition"]


def test_a_column_gets_the_requested_position(registrar: Registrar, table: Table) -> None:
    add = {"change": "add_column", "type": "INT", "sequence_group": "shipping"}
    document = changed(
        registrar,
        {**add, "column": "a", "position": {"place": "first"}},
        {**add, "column": "b", "position": {"place": "after", "neighbour": "a"}},
        {**add, "column": "c", "position": {"place": "before", "neighbour": "b"}},
        {**add, "column": "d", "position": {"place": "last"}},
        {"change": "update_column_position", "column": "a", "position": {"place": "last"}},
    )

    names = names_of(table)
    assert (names[:3], names[11:13]) == (["c", "b", "id"], ["d", "a"])
    assert agrees(document, table)


def test_a_renamed_column_is_renamed_everywhere_and_read_from_its_old_field(
    registrar: Registrar, table: Table
) -> None:
    document = changed(
        registrar,
        {"change": "rename_column", "column": "order_version", "to": "version"},
        {"change": "rename_column", "column": "total", "to": "amount"},
    )

    group = document.table.sequence_group("sales")
    assert group is not None
    assert (group.ordering, group.columns) == (("version",), ("amount", "currency"))
    paths = {one.column: one.path for one in document.streams["sales"].spec.columns}
    assert paths == {
        "id": None,
        "region": None,
        "amount": "total",
        "currency": None,
        "version": "order_version",
    }
    assert agrees(document, table)


def test_a_renamed_column_keeps_the_path_that_it_had(registrar: Registrar) -> None:
    columns = [*mapped("id", "region"), {"column": "paid", "path": "a.b"}, *mapped("method")]
    registrar.put_stream(ORDERS, "payments", definition("payments", columns=columns))

    document = changed(registrar, {"change": "rename_column", "column": "paid", "to": "settled"})

    read = document.streams["payments"].spec.columns[2]
    assert read == StreamColumn(column="settled", path="a.b")


def test_a_stream_that_is_declared_as_before_reads_a_renamed_column_from_its_old_field(
    registrar: Registrar,
) -> None:
    changed(registrar, {"change": "rename_column", "column": "paid", "to": "settled"})
    before = registrar.entry(ORDERS, "payments")

    registrar.put_stream(ORDERS, "payments", definition("payments"))

    assert registrar.entry(ORDERS, "payments") == before


def test_two_columns_can_change_names(registrar: Registrar, table: Table) -> None:
    document = changed(
        registrar,
        {"change": "rename_column", "column": "total", "to": "swapped"},
        {"change": "rename_column", "column": "currency", "to": "total"},
        {"change": "rename_column", "column": "swapped", "to": "currency"},
    )

    paths = {one.column: one.path for one in document.streams["sales"].spec.columns}
    assert (paths["total"], paths["currency"]) == ("currency", "total")
    assert agrees(document, table)


def test_a_key_column_can_be_renamed(registrar: Registrar, table: Table) -> None:
    document = changed(registrar, {"change": "rename_column", "column": "id", "to": "number"})

    assert document.table.primary_key == ("number", "region")
    assert document.streams["sales"].spec.columns[0] == StreamColumn(column="number", path="id")
    assert agrees(document, table)


def test_a_column_that_a_stream_writes_is_not_dropped(registrar: Registrar) -> None:
    problems = refused(registrar, {"change": "drop_column", "column": "method"})

    assert problems == [("/changes/0/column", "the stream `payments` writes this column")]


def test_a_column_that_no_stream_writes_is_dropped_from_its_group(
    registrar: Registrar, table: Table
) -> None:
    document = changed(registrar, {"change": "drop_column", "column": "carrier"})

    group = document.table.sequence_group("shipping")
    assert group is not None
    assert group.columns == ("shipped",)
    assert agrees(document, table)


@pytest.mark.parametrize(
    ("change", "pointer", "message"),
    [
        ({"change": "drop_column", "column": "nope"}, "column", "no such column"),
        (
            {"change": "drop_column", "column": "sales__at"},
            "column",
            "is generated for the sequence",
        ),
        ({"change": "drop_column", "column": "id"}, "column", "column of the key stays"),
        ({"change": "rename_column", "column": "paid", "to": "id"}, "to", "is there already"),
        ({"change": "rename_column", "column": "paid", "to": "a b"}, "column", "the name of a"),
        (
            {"change": "update_column_type", "column": "paid", "type": "DECIMAL(8, 2)"},
            "type",
            "streams that write the column cannot follow",
        ),
        ({"change": "update_column_type", "column": "paid", "type": "NOPE"}, "type", ""),
        ({"change": "update_column_type", "column": "id", "type": "INT"}, "column", "of the key"),
        (
            {"change": "update_column_type", "column": "carrier", "type": "ARRAY<INT>"},
            "type",
            "values of STRING cannot be read",
        ),
        (
            {"change": "update_column_nullability", "column": "paid", "nullable": False},
            "column",
            "existing rows may hold null",
        ),
        (
            {"change": "add_column", "column": "x", "type": "INT"},
            "column",
            "no sequence group orders this column",
        ),
        (
            {"change": "add_column", "column": "x", "type": "INT", "sequence_group": "nope"},
            "sequence_group",
            "no such sequence group",
        ),
        (
            {
                "change": "add_column",
                "column": "x",
                "type": "INT NOT NULL",
                "sequence_group": "sales",
            },
            "type",
            "existing rows have no value",
        ),
        (
            {
                "change": "add_column",
                "column": "x",
                "type": "MULTISET<INT>",
                "sequence_group": "sales",
            },
            "column",
            "the stream `sales` would be invalid: JSON has no MULTISET",
        ),
        (
            {"change": "add_column", "column": "x", "type": "INT", "position": {"place": "after"}},
            "position",
            "after which column?",
        ),
        (
            {
                "change": "add_column",
                "column": "x",
                "type": "INT",
                "position": {"place": "after", "neighbour": "sales__at"},
            },
            "position",
            "generated for a sequence group",
        ),
        (
            {"change": "update_column_default", "column": "order_version", "default": "1"},
            "default",
            "a position in the order",
        ),
        (
            {"change": "update_column_default", "column": "paid", "default": "x"},
            "default",
            "the default of column `paid` is no value",
        ),
        ({"change": "set_option", "key": "bucket", "value": "9"}, "key", "the field `buckets`"),
        (
            {"change": "set_option", "key": "fields.paid.aggregate-function", "value": "sum"},
            "key",
            "the declaration of the columns sets this option",
        ),
        (
            {"change": "set_option", "key": "num-sorted-run.compaction-trigger", "value": "x"},
            "key",
            "expected a whole number",
        ),
        ({"change": "remove_option", "key": "write-only"}, "key", "the same for every table"),
        (
            {
                "change": "update_column_aggregate",
                "column": "paid",
                "aggregate": {"function": "listagg"},
            },
            "aggregate",
            "depends on the order",
        ),
        (
            {"change": "add_sequence_group", "name": "sales", "columns": ["paid"]},
            "name",
            "a sequence group of this name exists already",
        ),
        (
            {"change": "add_sequence_group", "name": "more", "columns": ["paid"]},
            "columns",
            "in the sequence group `payments` already",
        ),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else None,
)
def test_an_invalid_change_is_refused_with_its_location(
    registrar: Registrar, change: dict[str, Any], pointer: str, message: str
) -> None:
    problems = refused(registrar, change)

    assert len(problems) == 1, problems
    assert problems[0][0] is not None
    assert problems[0][0].startswith(f"/changes/0/{pointer}".rstrip("/")), problems
    assert message in problems[0][1]


def test_all_problems_are_reported_and_nothing_changes(registrar: Registrar) -> None:
    problems = refused(
        registrar,
        {"change": "update_comment", "comment": "fine"},
        {"change": "drop_column", "column": "nope"},
        {"change": "rename_column", "column": "gone", "to": "x"},
    )

    assert [pointer for pointer, _ in problems] == ["/changes/1/column", "/changes/2/column"]


def test_a_type_that_a_stream_can_follow_is_widened(registrar: Registrar, table: Table) -> None:
    document = changed(
        registrar,
        {"change": "update_column_type", "column": "order_version", "type": "BIGINT"},
        {"change": "update_column_type", "column": "paid", "type": "DECIMAL(12, 2)"},
    )

    assert [entry.version for entry in document.streams.values()] == [2, 2]
    assert agrees(document, table)


def test_a_type_that_no_stream_writes_changes_as_the_engine_allows(
    registrar: Registrar, table: Table
) -> None:
    document = changed(
        registrar, {"change": "update_column_type", "column": "shipped", "type": "DATE"}
    )

    assert agrees(document, table)
    assert [entry.version for entry in document.streams.values()] == [1, 1]


def test_a_field_appears_inside_of_a_column_that_a_stream_reads(
    registrar: Registrar, table: Table
) -> None:
    add = {"change": "add_column", "sequence_group": "payments"}
    changed(registrar, {**add, "column": "place", "type": "ROW<street STRING, zip INT>"})

    document = changed(
        registrar,
        {"change": "add_column", "column": ["place", "city"], "type": "STRING"},
        {"change": "update_column_type", "column": ["place", "zip"], "type": "BIGINT"},
    )

    assert document.table.columns[-1].type == "ROW<`street` STRING, `zip` BIGINT, `city` STRING>"
    assert document.streams["payments"].version == 3
    assert agrees(document, table)
    assert refused(registrar, {"change": "drop_column", "column": ["place", "zip"]}) == [
        (
            "/changes/0/column",
            "the stream `payments` reads this field by its name, and it is dropped",
        )
    ]
    assert [
        pointer
        for pointer, _ in refused(
            registrar,
            {"change": "update_column_type", "column": ["place", "zip"], "type": "INT"},
        )
    ] == ["/changes/0/type"]


def test_a_group_for_a_new_stream_comes_with_its_columns(
    registrar: Registrar, table: Table
) -> None:
    document = changed(
        registrar,
        {"change": "add_column", "column": "returned", "type": "DATE"},
        {"change": "add_sequence_group", "name": "returns", "columns": ["returned"]},
    )

    assert agrees(document, table)
    assert names_of(table)[-4:] == [
        "returns__partition",
        "returns__offset",
        "returns__at",
        "returns__op",
    ]
    assert [entry.version for entry in document.streams.values()] == [1, 1]
    assert registrar.put_stream(ORDERS, "returns", definition("returns")).is_new


def test_a_group_over_columns_of_rows_that_are_there_is_refused(
    registrar: Registrar, catalog: Catalog
) -> None:
    """The rows have no position in the new group's order: their values would be lost."""
    spec = orders(unordered="allowed", sequence_groups=orders().model_dump()["sequence_groups"][:1])
    registrar.put_table("shop", "loose", spec)
    table = catalog.table("shop.loose")
    add = {"change": "add_sequence_group", "name": "payments", "columns": ["paid"]}

    def problems_of(*changes: dict[str, Any]) -> list[tuple[str | None, str | None]]:
        requested = SchemaChanges.model_validate({"changes": changes}).changes
        found = registrar.check_alteration("shop.loose", plan_changes(requested))
        return [(problem.pointer, problem.value) for problem in found]

    assert problems_of(add) == []  # no rows
    row = {"id": [1], "region": ["eu"], "paid": [Decimal("9.50")], "carrier": ["mail"]}
    table.write_and_commit(pa.table(row))

    assert problems_of(add) == [("/changes/0/columns", "paid")]
    renamed = {"change": "rename_column", "column": "paid", "to": "cash"}
    assert problems_of(renamed, {**add, "columns": ["cash"]}) == [("/changes/1/columns", "cash")]
    news = {"change": "add_column", "column": "cash", "type": "INT"}
    ordered = {**add, "columns": ["cash"], "ordering": ["carrier"]}
    assert problems_of(news, ordered) == [("/changes/1/ordering", "carrier")]
    assert problems_of(news, {**add, "columns": ["cash"]}) == []
    with pytest.raises(DefinitionRefused, match="cannot be changed as asked"):
        registrar.alter(
            "shop.loose", plan_changes(SchemaChanges.model_validate({"changes": [add]}).changes)
        )
    assert table.scan(columns=["paid"]).to_arrow().to_pylist() == [{"paid": Decimal("9.50")}]


def test_options_comments_and_defaults_change(registrar: Registrar, table: Table) -> None:
    document = changed(
        registrar,
        {"change": "set_option", "key": "num-sorted-run.compaction-trigger", "value": "4"},
        {"change": "update_comment", "comment": "of the shop"},
        {"change": "update_column_comment", "column": "paid", "description": "gross"},
        {"change": "update_column_default", "column": "method", "default": "cash"},
    )

    assert agrees(document, table)
    assert table.schema.comment == document.table.comment == "of the shop"
    assert [entry.version for entry in document.streams.values()] == [1, 2]

    document = changed(
        registrar,
        {"change": "remove_option", "key": "num-sorted-run.compaction-trigger"},
        {"change": "update_comment", "comment": None},
        {"change": "update_column_default", "column": "method", "default": None},
    )

    assert agrees(document, table)
    assert document.table.options == {}


def test_functions_change_with_the_options_of_the_table(registrar: Registrar, table: Table) -> None:
    document = changed(
        registrar,
        {"change": "update_column_aggregate", "column": "paid", "aggregate": {"function": "sum"}},
    )

    assert agrees(document, table)
    table.refresh()
    assert table.schema.options["fields.paid.aggregate-function"] == "sum"
    document = changed(
        registrar,
        {"change": "rename_column", "column": "paid", "to": "sum_paid"},
        {"change": "update_column_aggregate", "column": "sum_paid", "aggregate": None},
    )
    assert agrees(document, table)


def test_what_changes_nothing_makes_no_schema(registrar: Registrar, table: Table) -> None:
    before = registrar.document(ORDERS)

    after = changed(
        registrar,
        {"change": "update_column_position", "column": "shipped", "position": {"place": "last"}},
    )

    assert after == before
    table.refresh()
    assert table.schema.id == 0


def test_a_repeated_request_is_applied_once(registrar: Registrar, table: Table) -> None:
    add = {"change": "add_column", "column": "x", "type": "INT", "sequence_group": "sales"}
    first = changed(registrar, add, key="release 7")
    registrar.put_stream(ORDERS, "sales", definition("sales", trigger_ms=700))

    again = changed(registrar, add, key="release 7")

    assert again == registrar.document(ORDERS)
    assert first.applied == again.applied
    table.refresh()
    assert table.schema.id == 1
    with pytest.raises(DefinitionRefused, match="is there already"):
        changed(registrar, add, key="another")
    with pytest.raises(DefinitionRefused, match="other changes has had this key"):
        changed(registrar, {**add, "column": "y"}, key="release 7")


def test_a_change_of_an_older_revision_is_refused(registrar: Registrar) -> None:
    stale = Precondition(revisions=frozenset({"of before"}))

    with pytest.raises(PreconditionFailed, match="has changed"):
        changed(registrar, {"change": "update_comment", "comment": "x"}, precondition=stale)


def test_a_rescaled_table_is_declared_with_its_buckets(registrar: Registrar, table: Table) -> None:
    table.rescale(8)

    document = changed(registrar, {"change": "update_comment", "comment": "x"})

    assert document.table.buckets == 8
    assert agrees(document, table)


def test_a_table_that_was_changed_without_the_registry_is_reported(
    registrar: Registrar, table: Table
) -> None:
    table.alter(RenameColumn(path=("carrier",), name="other"))

    problems = refused(registrar, {"change": "update_comment", "comment": "x"})

    assert ["changed without the registry" in message for _, message in problems][:1] == [True]


def test_a_stream_of_an_unordered_table_reads_a_new_column(
    registrar: Registrar, catalog: Catalog
) -> None:
    spec = orders(unordered=Unordered.ALLOWED, sequence_groups=[])
    registrar.put_table("shop", "loose", spec)
    columns = mapped("id", "region", "total")
    registrar.put_stream("shop.loose", "one", definition("one", columns=columns))
    add = {"change": "add_column", "column": "extra", "type": "INT", "stream": "one"}
    requested = SchemaChanges.model_validate({"changes": [add]}).changes

    document = registrar.alter("shop.loose", plan_changes(requested))

    assert document.streams["one"].spec.column_names == ("id", "region", "total", "extra")
    assert agrees(document, catalog.table("shop.loose"))


NOT_NULL = "alter-column-null-to-not-null.disabled"


def one_stream(registrar: Registrar, name: str, **spec: Any) -> str:
    """Register a table of three columns, all of which its stream reads."""
    columns = [
        {"name": "id", "type": "BIGINT"},
        {"name": "v", "type": "INT"},
        {"name": "kind", "type": "STRING"},
    ]
    declared = {"columns": columns, "primary_key": ["id"], "sequence_groups": []} | spec
    registrar.put_table("shop", name, orders(**declared))
    registrar.put_stream(f"shop.{name}", "one", definition("one"))
    return f"shop.{name}"


def plan(*changes: dict[str, Any]) -> AlterationPlan:
    return plan_changes(SchemaChanges.model_validate({"changes": changes}).changes)


def test_an_option_is_set_before_the_changes_that_come_after_it(
    registrar: Registrar, catalog: Catalog
) -> None:
    name = one_stream(registrar, "whole", merge_engine="deduplicate")
    set_option = {"change": "set_option", "key": NOT_NULL, "value": "false"}
    not_null = {"change": "update_column_nullability", "column": "v", "nullable": False}

    assert registrar.check_alteration(name, plan(not_null, set_option)) != []
    document = registrar.alter(name, plan(set_option, not_null))

    assert document.table.columns[1].type == "INT NOT NULL"
    assert agrees(document, catalog.table(name))


def test_a_column_that_orders_whole_rows_is_renamed_in_its_option(
    registrar: Registrar, catalog: Catalog
) -> None:
    options = {"sequence.field": "v"}
    name = one_stream(registrar, "ordered", merge_engine="deduplicate", options=options)

    document = registrar.alter(name, plan({"change": "rename_column", "column": "v", "to": "w"}))

    assert document.table.options == {"sequence.field": "w"}
    assert agrees(document, catalog.table(name))


def test_a_column_that_a_fixed_option_names_keeps_its_name(registrar: Registrar) -> None:
    options = {"rowkind.field": "kind"}
    name = one_stream(registrar, "kinds", merge_engine="deduplicate", options=options)

    (problem,) = registrar.check_alteration(
        name, plan({"change": "rename_column", "column": "kind", "to": "what"})
    )

    assert problem.pointer == "/changes/0/column"
    assert "the option `rowkind.field` names the column" in problem.message


def test_a_stream_of_whole_rows_is_registered_without_a_column_before_it_is_dropped(
    registrar: Registrar, catalog: Catalog
) -> None:
    name = one_stream(registrar, "whole", merge_engine="deduplicate")
    drop = plan({"change": "drop_column", "column": "v"})
    (problem,) = registrar.check_alteration(name, drop)
    assert problem.hint == "register the stream without the column first"

    registrar.put_stream(name, "one", definition("one", columns=mapped("id", "kind")))
    document = registrar.alter(name, drop)

    assert agrees(document, catalog.table(name))


def test_columns_of_deletes_that_are_kept_are_renamed(
    registrar: Registrar, catalog: Catalog
) -> None:
    spec = orders(
        columns=[{"name": "id", "type": "BIGINT"}, {"name": "gone", "type": "TIMESTAMP(3)"}],
        primary_key=["id"],
        sequence_groups=[{"name": "g", "columns": ["gone"]}],
        deletes="remove_row",
        delete_retention={"seconds": 60, "columns": ["gone"]},
    )
    registrar.put_table("shop", "kept", spec)

    document = registrar.alter(
        "shop.kept", plan({"change": "rename_column", "column": "gone", "to": "left_at"})
    )

    assert document.table.delete_retention is not None
    assert document.table.delete_retention.columns == ("left_at",)
    assert agrees(document, catalog.table("shop.kept"))


def test_what_was_wrong_before_is_no_reason_to_refuse(
    registrar: Registrar, store: RegistryStore, table: Table
) -> None:
    stored = store.stored(ORDERS)
    assert stored is not None
    document = stored.value
    payments = document.streams["payments"]
    # As an older version of the rules might have let it in.
    spec = payments.spec.model_copy(update={"dead_letter_topic": payments.spec.topic})
    completeness = document.table.completeness.model_copy(update={"groups": ("gone",)})
    streams = {**document.streams, "payments": payments.model_copy(update={"spec": spec})}
    odd = document.model_copy(
        update={
            "streams": streams,
            "table": document.table.model_copy(update={"completeness": completeness}),
        }
    )
    store.put_table(odd, expected_version=stored.version)

    document = changed(registrar, {"change": "rename_column", "column": "paid", "to": "settled"})

    assert agrees(document, table)
    assert [
        message for _, message in refused(registrar, {"change": "drop_column", "column": "settled"})
    ] == ["the stream `payments` writes this column"]
