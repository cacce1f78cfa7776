"""Declarations in the words of the table format, and what a stream writes."""

from registry.layout.physical_table import physical_table, ungrouped_columns
from registry.layout.stream_columns import stream_columns
from registry.rules.stream_completion import complete_stream
from tests.unit.registry.shop import ORDERS, definition, mapped, orders


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


def test_a_stream_of_a_groups_name_gets_the_group_and_its_columns() -> None:
    spec = complete_stream(orders(), definition(), name="sales")

    assert spec.sequence_group == "sales"
    assert spec.column_names == ("id", "region", "total", "currency", "order_version")
    assert spec.dead_letter_topic == "orders.dead-letters"


def test_what_a_stream_says_is_kept() -> None:
    given = definition(
        sequence_group="payments",
        columns=mapped("id", "paid"),
        dead_letter_topic="refused",
    )

    spec = complete_stream(orders(), given, name="p")

    assert (spec.sequence_group, spec.column_names) == ("payments", ("id", "paid"))
    assert spec.dead_letter_topic == "refused"


def test_completing_twice_changes_nothing() -> None:
    table = orders()
    once = complete_stream(table, definition(), name="payments")

    assert complete_stream(table, once, name="payments") == once


def test_a_stream_without_declared_order_writes_partition_and_offset() -> None:
    table = orders()
    written = stream_columns(table, complete_stream(table, definition(), name="payments"))

    assert (written.partition_column, written.offset_column) == (
        "payments__partition",
        "payments__offset",
    )
    assert (written.at_column, written.op_column) == ("payments__at", "payments__op")
    assert written.written == (
        "id",
        "region",
        "paid",
        "method",
        "payments__partition",
        "payments__offset",
        "payments__at",
        "payments__op",
    )


def test_a_stream_with_declared_order_reads_it_from_the_message_and_writes_arrival_behind_it() -> (
    None
):
    table = orders()
    written = stream_columns(table, complete_stream(table, definition(), name="sales"))

    assert (written.partition_column, written.offset_column) == (
        "sales__partition",
        "sales__offset",
    )
    assert written.group is not None
    assert written.group.ordering == ("order_version", "sales__offset", "sales__partition")
    assert "order_version" in [mapping.column for mapping in written.mapped]


def test_the_stream_of_a_deduplicate_table_writes_every_column() -> None:
    table = orders(merge_engine="deduplicate", sequence_groups=[])
    written = stream_columns(table, complete_stream(table, definition(), name="all"))

    assert written.group is None
    assert written.written == table.column_names


def test_unordered_columns_go_to_the_stream_without_a_group() -> None:
    table = orders(sequence_groups=[], unordered="allowed")
    spec = complete_stream(table, definition(), name="all")

    assert spec.sequence_group is None
    assert spec.column_names == table.column_names
    assert ungrouped_columns(table) == table.column_names[2:]


def test_columns_after_a_row_are_numbered_after_its_fields() -> None:
    columns = [*ORDERS["columns"], {"name": "place", "type": "ROW<x INT, y ROW<z INT>>"}]
    columns += [{"name": "last", "type": "INT"}]

    found = physical_table(orders(columns=columns)).columns

    place, last = found[len(columns) - 2 : len(columns)]
    assert [field.id for field in place.type.fields] == [place.id + 1, place.id + 2]
    assert last.id == place.id + 4
