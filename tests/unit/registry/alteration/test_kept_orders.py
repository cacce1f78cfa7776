"""Kept columns of a registered table: added with their order, which follows them and stays comparable."""

from typing import Any

import pytest

from braid.lake import Table
from braid.registry.errors import DefinitionDiffers
from braid.registry.registrar import Registrar
from braid.schemas import ColumnSource, OnMissing, StreamColumn
from tests.unit.registry.alteration.changing import ORDERS, agrees, changed, names_of, refused
from tests.unit.registry.shop import definition, orders

ADD = {"change": "add_column", "type": "STRING", "sequence_group": "sales", "keep": True}


def test_a_column_is_kept_from_the_change_on_that_adds_it(
    registrar: Registrar, table: Table
) -> None:
    document = changed(registrar, {**ADD, "column": "note"}, {**ADD, "column": "memo"})

    group = document.table.sequence_group("sales")
    assert group is not None
    assert group.keep == ("note", "memo")
    assert agrees(document, table)
    assert table.schema.options["fields.note__order.sequence-group"] == "note"
    assert document.features == ("on_missing",)
    assert document.streams["sales"].version == 2


def test_the_order_follows_a_renamed_column_and_goes_with_a_dropped_one(
    registrar: Registrar, table: Table
) -> None:
    shipping = {**ADD, "sequence_group": "shipping"}
    changed(registrar, {**shipping, "column": "note"}, {**shipping, "column": "memo"})

    renamed = changed(registrar, {"change": "rename_column", "column": "note", "to": "remark"})

    assert agrees(renamed, table)
    assert table.schema.options["fields.remark__order.sequence-group"] == "remark"
    dropped = changed(registrar, {"change": "drop_column", "column": "remark"})
    assert agrees(dropped, table)
    assert "remark__order" not in names_of(table)
    assert dropped.features == ("on_missing",)
    last = changed(registrar, {"change": "drop_column", "column": "memo"})
    assert last.features == ()


def test_a_renamed_column_keeps_what_its_stream_does_with_records_without_it(
    registrar: Registrar,
) -> None:
    columns = [
        *({"column": name} for name in ("id", "region", "order_version", "total")),
        {"column": "currency", "on_missing": "reject"},
    ]
    registrar.put_stream(ORDERS, "sales", definition("sales", columns=columns))

    changed(registrar, {"change": "rename_column", "column": "currency", "to": "unit"})

    entry = registrar.document(ORDERS).streams["sales"]
    assert entry.spec.columns[-1] == StreamColumn(
        column="unit", path="currency", on_missing=OnMissing.REJECT
    )
    assert entry.features == ("on_missing",)


@pytest.mark.parametrize(
    ("source", "column", "path"),
    [("header", "currency", "currency"), ("timestamp", "sent", None)],
)
def test_a_renamed_column_is_read_from_the_same_part_of_the_record(
    registrar: Registrar, source: str, column: str, path: str | None
) -> None:
    changed(
        registrar,
        {"change": "add_column", "column": "sent", "type": "BIGINT", "sequence_group": "sales"},
    )
    names = ("id", "region", "order_version", "total", "currency", "sent")
    columns = [{"column": name, "source": source if name == column else "value"} for name in names]
    registrar.put_stream(ORDERS, "sales", definition("sales", columns=columns))

    changed(registrar, {"change": "rename_column", "column": column, "to": "renamed"})

    read = {one.column: one for one in registrar.document(ORDERS).streams["sales"].spec.columns}
    assert read["renamed"] == StreamColumn(column="renamed", path=path, source=ColumnSource(source))


def test_a_new_group_can_keep_its_columns(registrar: Registrar, table: Table) -> None:
    document = changed(
        registrar,
        {"change": "add_column", "column": "note", "type": "STRING"},
        {
            "change": "add_sequence_group",
            "name": "notes",
            "columns": ["note"],
            "keep": ["note"],
        },
    )

    assert agrees(document, table)


def test_an_existing_column_cannot_be_kept_afterwards(registrar: Registrar) -> None:
    groups = [group.model_dump() for group in orders().sequence_groups]
    groups[0]["keep"] = ["total"]

    with pytest.raises(DefinitionDiffers) as caught:
        registrar.put_table("shop", "orders", orders(sequence_groups=groups))

    (problem,) = caught.value.problems
    assert problem.pointer == "/sequence_groups"
    assert "a column can be kept (`keep`) only if the change that adds it says so" in (
        problem.hint or ""
    )


@pytest.mark.parametrize(
    ("change", "pointer", "message"),
    [
        (
            {"change": "add_column", "column": "note", "type": "INT", "keep": True},
            "/changes/0/keep",
            "only columns of a sequence group are kept",
        ),
        (
            {"change": "update_column_type", "column": "order_version", "type": "DECIMAL(20, 0)"},
            "/changes/0/type",
            "have other bytes than values of INT",
        ),
    ],
)
def test_changes_that_would_break_an_order_are_refused(
    registrar: Registrar, change: dict[str, Any], pointer: str, message: str
) -> None:
    changed(registrar, {**ADD, "column": "memo"})

    ((at, text),) = refused(registrar, change)

    assert at == pointer
    assert message in text


def test_an_ordering_column_of_kept_columns_is_widened_within_its_form(
    registrar: Registrar, table: Table
) -> None:
    changed(registrar, {**ADD, "column": "note"})

    wider = changed(
        registrar, {"change": "update_column_type", "column": "order_version", "type": "BIGINT"}
    )

    assert agrees(wider, table)
    assert registrar.document(ORDERS) == wider
