"""Declared tables in the terms of the table format."""

from braid.registry.layout.physical_table import physical_table
from tests.unit.registry.shop import ORDERS, orders


def test_generated_columns_follow_the_declared_ones_group_by_group() -> None:
    table = physical_table(orders())

    assert [(field.name, str(field.type)) for field in table.columns[9:]] == [
        ("sales__partition", "INT"),
        ("sales__offset", "BIGINT"),
        ("sales__at", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
        ("sales__op", "STRING"),
        ("payments__partition", "INT"),
        ("payments__offset", "BIGINT"),
        ("payments__at", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
        ("payments__op", "STRING"),
        ("shipping__partition", "INT"),
        ("shipping__offset", "BIGINT"),
        ("shipping__at", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
        ("shipping__op", "STRING"),
    ]
    assert [field.id for field in table.columns] == list(range(21))


def test_key_columns_become_not_null_and_no_others() -> None:
    table = physical_table(orders())

    not_null = [field.name for field in table.columns if not field.type.nullable]
    assert not_null == ["id", "region"]


def test_a_group_protects_its_columns_and_its_tracking() -> None:
    options = physical_table(orders()).options

    assert (
        options["fields.order_version,sales__offset,sales__partition.sequence-group"]
        == "total,currency,sales__at,sales__op"
    )
    assert (
        options["fields.payments__offset,payments__partition.sequence-group"]
        == "paid,method,payments__at,payments__op"
    )
    assert options["bucket"] == "4"
    assert options["merge-engine"] == "partial-update"
    assert options["write-only"] == "true"


def test_a_table_that_declines_tracking_has_no_tracking_columns() -> None:
    table = physical_table(orders(tracking=False))

    assert [f.name for f in table.columns[9:]] == [
        "sales__partition",
        "sales__offset",
        "payments__partition",
        "payments__offset",
        "shipping__partition",
        "shipping__offset",
    ]
    key = "fields.order_version,sales__offset,sales__partition.sequence-group"
    assert table.options[key] == "total,currency"


def test_declared_options_win_over_those_that_may_be_chosen() -> None:
    options = physical_table(orders(options={"data-file.thin-mode": "false"})).options

    assert options["data-file.thin-mode"] == "false"


def test_columns_after_a_row_are_numbered_after_its_fields() -> None:
    columns = [*ORDERS["columns"], {"name": "place", "type": "ROW<x INT, y ROW<z INT>>"}]
    columns += [{"name": "last", "type": "INT"}]

    found = physical_table(orders(columns=columns)).columns

    place, last = found[len(columns) - 2 : len(columns)]
    assert [field.id for field in place.type.fields] == [place.id + 1, place.id + 2]
    assert last.id == place.id + 4
