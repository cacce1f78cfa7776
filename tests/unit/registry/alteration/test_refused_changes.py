"""Changes of a registered table that are refused, each with the location in the request."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from braid.lake import Catalog, RenameColumn, Table
from braid.registry.alteration.table_changes import plan_changes
from braid.registry.errors import DefinitionRefused, PreconditionFailed
from braid.registry.registrar import Registrar
from braid.registry.rules.tables.table_rules import check_table
from braid.registry.store.documents import RegistryStore
from braid.registry.store.revision import Precondition
from braid.registry.store.stored_documents import UNORDERED_COLUMNS
from braid.schemas import SchemaChanges, Unordered
from tests.unit.registry.alteration.changing import (
    ORDERS,
    agrees,
    changed,
    one_stream,
    plan,
    refused,
)
from tests.unit.registry.shop import orders


def test_a_column_that_a_stream_writes_is_not_dropped(registrar: Registrar) -> None:
    problems = refused(registrar, {"change": "drop_column", "column": "method"})

    assert problems == [("/changes/0/column", "the stream `payments` writes this column")]


@pytest.mark.parametrize("expected", [{"row": {"shipped": None}}, {"reasons": {"shipped": []}}])
def test_a_column_that_a_test_expects_is_not_dropped(
    registrar: Registrar, expected: dict[str, Any]
) -> None:
    row = {"key": {"id": 1, "region": "eu"}, **expected}
    cases = [{"name": "a", "expect": {"rows": [row]}}, {"name": "b", "expect": {}}]
    registrar.put_table("shop", "orders", orders(tests={"cases": cases}))

    problems = refused(registrar, {"change": "drop_column", "column": "shipped"})

    assert problems == [("/changes/0/column", "tests expect values of the column: `a`")]


def test_a_column_of_a_feature_view_is_not_dropped(registrar: Registrar) -> None:
    views = [{"name": name, "columns": [{"column": "shipped"}]} for name in ("a", "b")]
    registrar.put_table("shop", "orders", orders(views=views))

    problems = refused(registrar, {"change": "drop_column", "column": "shipped"})

    assert problems == [("/changes/0/column", "feature views have the column: `a`, `b`")]
    registrar.put_table("shop", "orders", orders())
    document = changed(registrar, {"change": "drop_column", "column": "shipped"})
    assert "shipped" not in document.table.column_names


@pytest.mark.parametrize(
    ("change", "pointer", "message"),
    [
        ({"change": "drop_column", "column": "nope"}, "column", "no such column"),
        (
            {"change": "drop_column", "column": "sales__at"},
            "column",
            "is generated for the sequence",
        ),
        ({"change": "drop_column", "column": "id"}, "column", "key column cannot be changed"),
        ({"change": "rename_column", "column": "paid", "to": "id"}, "to", "exists already"),
        ({"change": "rename_column", "column": "paid", "to": "a b"}, "column", "the name of a"),
        (
            {"change": "update_column_type", "column": "paid", "type": "DECIMAL(8, 2)"},
            "type",
            "while streams write the column",
        ),
        ({"change": "update_column_type", "column": "paid", "type": "NOPE"}, "type", ""),
        (
            {"change": "update_column_type", "column": "id", "type": "INT"},
            "column",
            "bucket of a row",
        ),
        (
            {"change": "update_column_type", "column": "carrier", "type": "ARRAY<INT>"},
            "type",
            "values of type STRING cannot be converted",
        ),
        (
            {"change": "update_column_nullability", "column": "paid", "nullable": False},
            "column",
            "existing rows may have null",
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
            "`after` needs the name of a column",
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
            "the default of column `paid` is not a value",
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


def test_a_group_over_columns_of_existing_rows_is_refused(
    registrar: Registrar, catalog: Catalog
) -> None:
    """The rows have no position in the new group's order: their values would be lost."""
    spec = orders(unordered="allowed", sequence_groups=orders().model_dump()["sequence_groups"][:1])
    registrar.put_table("shop", "loose", spec)
    table = catalog.table("shop.loose")
    add = {"change": "add_sequence_group", "name": "payments", "columns": ["paid"]}

    def problems_of(*changes: dict[str, Any]) -> list[tuple[str | None, str | None]]:
        requested = SchemaChanges.model_validate({"changes": changes}).changes
        found = registrar.plan_alteration("shop.loose", plan_changes(requested)).problems
        return [(problem.pointer, problem.value) for problem in found]

    assert problems_of(add) == []  # no rows
    row = {"id": [1], "region": ["eu"], "paid": [Decimal("9.50")], "carrier": ["mail"]}
    table.write_and_commit(pa.table(row))

    assert problems_of(add) == [("/changes/0/columns", "paid")]
    renamed = {"change": "rename_column", "column": "paid", "to": "cash"}
    assert problems_of(renamed, {**add, "columns": ["cash"]}) == [("/changes/1/columns", "cash")]
    new_column = {"change": "add_column", "column": "cash", "type": "INT"}
    ordered = {**add, "columns": ["cash"], "ordering": ["carrier"]}
    assert problems_of(new_column, ordered) == [("/changes/1/ordering", "carrier")]
    assert problems_of(new_column, {**add, "columns": ["cash"]}) == []
    with pytest.raises(DefinitionRefused, match="cannot be changed as requested"):
        registrar.alter(
            "shop.loose", plan_changes(SchemaChanges.model_validate({"changes": [add]}).changes)
        )
    assert table.scan(columns=["paid"]).to_arrow().to_pylist() == [{"paid": Decimal("9.50")}]


def test_a_change_of_an_older_revision_is_refused(registrar: Registrar) -> None:
    stale = Precondition(revisions=frozenset({"of before"}))

    with pytest.raises(PreconditionFailed, match="has changed"):
        changed(registrar, {"change": "update_comment", "comment": "x"}, precondition=stale)


def test_a_table_that_was_changed_without_the_registry_is_reported(
    registrar: Registrar, table: Table
) -> None:
    table.alter(RenameColumn(path=("carrier",), name="other"))

    problems = refused(registrar, {"change": "update_comment", "comment": "x"})

    assert ["changed without the registry" in message for _, message in problems][:1] == [True]


def test_problems_that_the_table_had_before_refuse_no_change(
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


def test_a_table_from_before_a_rule_for_deletes_is_changed_further(
    registrar: Registrar, store: RegistryStore, catalog: Catalog
) -> None:
    # Only the table could permit this; older versions accepted the permission of each column.
    deletes = {"deletes": "remove_row", "unordered": "allowed", "merge_engine": "partial-update"}
    name = one_stream(registrar, "loose", **deletes)
    stored = store.stored(name)
    assert stored is not None
    columns = tuple(
        column
        if column.name == "id"
        else column.model_copy(update={"unordered": Unordered.ALLOWED})
        for column in stored.value.table.columns
    )
    declared = {"columns": columns, "unordered": Unordered.REFUSED}
    spec = stored.value.table.model_copy(update=declared)
    odd = stored.value.model_copy(update={"table": spec, "features": (UNORDERED_COLUMNS,)})
    store.put_table(odd, expected_version=stored.version)
    assert [one.pointer for one in check_table("shop", "new", spec)] == ["/deletes"]

    add = {"change": "add_column", "column": "seen", "type": "INT", "unordered": "allowed"}
    document = registrar.alter(name, plan(add | {"stream": "one"}))
    again = registrar.put_table("shop", "loose", document.table)

    assert document.streams["one"].spec.column_names == ("id", "v", "kind", "seen")
    assert agrees(document, catalog.table(name))
    assert again.document == document


def test_a_field_inside_of_a_column_is_not_unordered_by_itself(registrar: Registrar) -> None:
    add = {"change": "add_column", "column": "place", "type": "ROW<zip INT>"}
    field = {"change": "add_column", "column": ["place", "city"], "type": "STRING"}

    problems = refused(
        registrar, add | {"sequence_group": "payments"}, field | {"unordered": "allowed"}
    )

    message = "only a whole column can have this setting, not a field inside of a column"
    assert problems == [("/changes/1/unordered", message)]


def test_a_column_that_a_fixed_option_names_keeps_its_name(registrar: Registrar) -> None:
    options = {"rowkind.field": "kind"}
    name = one_stream(registrar, "kinds", merge_engine="deduplicate", options=options)

    (problem,) = registrar.plan_alteration(
        name, plan({"change": "rename_column", "column": "kind", "to": "what"})
    ).problems

    assert problem.pointer == "/changes/0/column"
    assert "the option `rowkind.field` names the column" in problem.message
