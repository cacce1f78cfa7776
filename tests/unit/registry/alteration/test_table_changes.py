"""Changes of a registered table: declaration, streams and schema change together."""

import pytest

from braid.lake import Catalog, Table
from braid.registry.alteration.table_changes import plan_changes
from braid.registry.errors import DefinitionRefused, KeyReused
from braid.registry.registrar import Registrar
from braid.registry.store.stored_documents import UNORDERED_COLUMNS, VIEWS
from braid.schemas import SchemaChanges, StreamColumn, StreamDefinition, TableSpec, Unordered
from tests.unit.registry.alteration.changing import (
    ORDERS,
    agrees,
    changed,
    names_of,
    one_stream,
    plan,
    refused,
)
from tests.unit.registry.shop import definition, mapped, orders

NOT_NULL = "alter-column-null-to-not-null.disabled"


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


def test_a_feature_view_answers_a_renamed_column_under_its_old_name(registrar: Registrar) -> None:
    columns = [{"column": "total"}, {"column": "paid", "name": "income"}, {"column": "carrier"}]
    registrar.put_table("shop", "orders", orders(views=[{"name": "v", "columns": columns}]))

    document = changed(
        registrar,
        {"change": "rename_column", "column": "total", "to": "amount"},
        {"change": "rename_column", "column": "paid", "to": "total"},
    )

    (view,) = document.table.views
    assert [(one.column, one.shown_name) for one in view.columns] == [
        ("amount", "total"),
        ("total", "income"),
        ("carrier", "carrier"),
    ]
    assert VIEWS in document.features


def test_a_renamed_column_keeps_the_path_that_it_had(registrar: Registrar) -> None:
    columns = [*mapped("id", "region"), {"column": "paid", "path": "a.b"}, *mapped("method")]
    registrar.put_stream(ORDERS, "payments", definition("payments", columns=columns))

    document = changed(registrar, {"change": "rename_column", "column": "paid", "to": "settled"})

    read = document.streams["payments"].spec.columns[2]
    assert read == StreamColumn(column="settled", path="a.b")


def test_programs_write_a_renamed_column_by_its_new_name(registrar: Registrar) -> None:
    declared = {
        "columns": [{"name": "id", "type": "BIGINT"}, {"name": "cents", "type": "BIGINT"}],
        "primary_key": ["id"],
        "sequence_groups": [{"name": "copies", "columns": ["cents"]}],
    }
    registrar.put_table("shop", "cents", TableSpec.model_validate(declared))
    copies = StreamDefinition.model_validate({"source": "spark"})
    registrar.put_stream("shop.cents", "copies", copies)

    document = registrar.alter(
        "shop.cents", plan({"change": "rename_column", "column": "cents", "to": "amount"})
    )

    assert document.streams["copies"].spec.columns[-1] == StreamColumn(column="amount")


def test_a_renamed_column_keeps_its_time_format(registrar: Registrar) -> None:
    shipped = {"column": "shipped", "time_format": "epoch_ms"}
    columns = [*mapped("id", "region", "carrier"), shipped]
    registrar.put_stream(ORDERS, "shipping", definition("shipping", columns=columns))

    document = changed(registrar, {"change": "rename_column", "column": "shipped", "to": "sent"})

    assert document.streams["shipping"].spec.columns[-1] == StreamColumn(
        column="sent", path="shipped", time_format="epoch_ms"
    )


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


def test_a_column_that_no_stream_writes_is_dropped_from_its_group(
    registrar: Registrar, table: Table
) -> None:
    document = changed(registrar, {"change": "drop_column", "column": "carrier"})

    group = document.table.sequence_group("shipping")
    assert group is not None
    assert group.columns == ("shipped",)
    assert agrees(document, table)


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
            "the stream `payments` reads this field by its name, but the field is dropped",
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
    with pytest.raises(DefinitionRefused, match="exists already"):
        changed(registrar, add, key="another")
    with pytest.raises(KeyReused, match="used by another request"):
        changed(registrar, {**add, "column": "y"}, key="release 7")


def test_a_rescaled_table_is_declared_with_its_buckets(registrar: Registrar, table: Table) -> None:
    table.rescale(8)

    document = changed(registrar, {"change": "update_comment", "comment": "x"})

    assert document.table.buckets == 8
    assert agrees(document, table)


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


def test_a_new_column_may_be_unordered_beside_the_groups_of_a_table(
    registrar: Registrar, catalog: Catalog
) -> None:
    spec = orders()
    registrar.put_table("shop", "part", spec)
    registrar.put_stream("shop.part", "sales", definition("sales"))
    add = {"change": "add_column", "column": "seen", "type": "INT", "stream": "sales"}
    refused = SchemaChanges.model_validate({"changes": [add]}).changes
    requested = SchemaChanges.model_validate({"changes": [add | {"unordered": "allowed"}]}).changes

    with pytest.raises(DefinitionRefused):
        registrar.alter("shop.part", plan_changes(refused))
    document = registrar.alter("shop.part", plan_changes(requested))

    assert document.table.unordered_columns == {"seen"}
    assert document.streams["sales"].spec.column_names[-1] == "seen"
    assert document.features == (UNORDERED_COLUMNS,)
    assert agrees(document, catalog.table("shop.part"))


def test_an_option_is_set_before_the_changes_that_come_after_it(
    registrar: Registrar, catalog: Catalog
) -> None:
    name = one_stream(registrar, "whole", merge_engine="deduplicate")
    set_option = {"change": "set_option", "key": NOT_NULL, "value": "false"}
    not_null = {"change": "update_column_nullability", "column": "v", "nullable": False}

    assert registrar.plan_alteration(name, plan(not_null, set_option)).problems
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


def test_a_stream_of_whole_rows_is_registered_without_a_column_before_it_is_dropped(
    registrar: Registrar, catalog: Catalog
) -> None:
    name = one_stream(registrar, "whole", merge_engine="deduplicate")
    drop = plan({"change": "drop_column", "column": "v"})
    (problem,) = registrar.plan_alteration(name, drop).problems
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


def test_the_time_to_live_is_changed_and_removed(registrar: Registrar, catalog: Catalog) -> None:
    registrar.put_table("shop", "brief", orders())
    name, key = "shop.brief", "record-level.expire-time"
    group = orders().sequence_groups[0].name

    found = []
    for ttl in ({"column": f"{group}__at", "seconds": 60}, None):
        document = registrar.alter(name, plan({"change": "update_row_ttl", "row_ttl": ttl}))
        assert agrees(document, catalog.table(name))
        found.append((document.features, catalog.table(name).schema.options.get(key)))

    assert found == [(("row_ttl",), "60 s"), ((), None)]


def test_the_column_by_which_rows_expire_stays(registrar: Registrar) -> None:
    spec = orders(
        columns=[{"name": "id", "type": "BIGINT"}, {"name": "at", "type": "INT"}],
        primary_key=["id"],
        merge_engine="deduplicate",
        sequence_groups=[],
        row_ttl={"column": "at", "seconds": 60},
    )
    registrar.put_table("shop", "brief", spec)
    changes = (
        {"change": "rename_column", "column": "at", "to": "seen"},
        {"change": "drop_column", "column": "at"},
        {"change": "update_column_type", "column": "at", "type": "STRING"},
        {"change": "update_row_ttl", "row_ttl": {"column": "id2", "seconds": 60}},
        {"change": "set_option", "key": "record-level.expire-time", "value": "1 d"},
        {"change": "set_option", "key": "changelog-producer", "value": "lookup"},
    )

    problems = [
        registrar.plan_alteration("shop.brief", plan(change)).problems for change in changes
    ]

    assert [[problem.message for problem in found][:1] for found in problems] == [
        ["rows expire by the time in this column, and the format cannot rename it there"],
        ["no such column"],
        ["the column is STRING, expected INT, BIGINT, TIMESTAMP or TIMESTAMP_LTZ"],
        ["no such column"],
        ["the field `row_ttl` of the declaration sets this option"],
        ["conflicts with changelog-producer = lookup"],
    ]
