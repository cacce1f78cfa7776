"""Columns that a stream writes, and their sources."""

from braid.registry.layout.stream_columns import stream_columns
from braid.registry.rules.stream_completion import complete_stream
from tests.unit.registry.shop import definition, orders


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
