"""Completion of requested streams with the defaults of their tables."""

from braid.registry.layout.physical_table import ungrouped_columns
from braid.registry.rules.stream_completion import complete_stream
from tests.unit.registry.shop import definition, mapped, orders


def test_a_stream_of_a_groups_name_gets_the_group_and_its_columns() -> None:
    spec = complete_stream(orders(), definition(), name="sales")

    assert spec.sequence_group == "sales"
    assert spec.column_names == ("id", "region", "total", "currency", "order_version")
    assert spec.dead_letter_topic == "orders.dead-letters"


def test_what_a_stream_declares_is_kept() -> None:
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


def test_unordered_columns_go_to_the_stream_without_a_group() -> None:
    table = orders(sequence_groups=[], unordered="allowed")
    spec = complete_stream(table, definition(), name="all")

    assert spec.sequence_group is None
    assert spec.column_names == table.column_names
    assert ungrouped_columns(table) == table.column_names[2:]
