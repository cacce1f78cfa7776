"""Moves of positions: their effect, and which of them are refused."""

from dataclasses import replace
from typing import Any

from braid.lake import WHOLE_ROWS, GroupOrder, HighestRead, MoveCause, PositionMove, StreamPosition
from braid.registry.position_rules import MovePlan, plan_move
from braid.registry.rules.stream_completion import complete_stream
from braid.schemas import OffsetsRequest, PartitionChange, StreamEntry, TableSpec, TopicOffsets
from tests.unit.registry.shop import definition, orders

POSITION = StreamPosition(
    stream="payments", epoch=3, topic="orders", topic_id="i", offsets={0: 100, 1: 50}
)
MEASURED = TopicOffsets(beginning={0: 20, 1: 0}, end={0: 200, 1: 60}, measured_ms=1)
SUMS = orders(
    sequence_groups=[],
    merge_engine="aggregation",
    columns=[
        {"name": "id", "type": "BIGINT"},
        {"name": "region", "type": "STRING"},
        {"name": "paid", "type": "BIGINT", "aggregate": {"function": "sum"}},
        {"name": "largest", "type": "BIGINT", "aggregate": {"function": "max"}},
    ],
)


def order(generation: int, **changes: Any) -> GroupOrder:
    fields: dict[str, Any] = {
        "group": "payments",
        "stream": "payments",
        "cluster": "c",
        "topic": "orders",
        "topic_id": "i",
        "partitions": 2,
        "began": {0: 60, 1: 0},
    }
    return GroupOrder(generation=generation, **(fields | changes))


def plan(
    offsets: dict[str, int],
    *,
    table: TableSpec | None = None,
    position: StreamPosition | None = POSITION,
    stream: str = "payments",
    former_epoch: int | None = None,
    on_tombstone: str = "dead_letter",
    measured: TopicOffsets | None = None,
    beyond_end: bool = False,
    orders_of_groups: tuple[GroupOrder, ...] = (),
) -> MovePlan:
    table = table or orders()
    entry = StreamEntry(
        spec=complete_stream(table, definition(on_tombstone=on_tombstone), name=stream),
        former_epoch=former_epoch,
    )
    return plan_move(
        OffsetsRequest(offsets=offsets, beyond_end=beyond_end),
        table=table,
        entry=entry,
        position=position,
        orders={one.group: one for one in orders_of_groups},
        measured=measured,
    )


def messages(found: MovePlan) -> list[str]:
    return [f"{problem.field}: {problem.message}" for problem in found.problems]


def test_a_move_back_reads_again_and_a_move_forward_skips() -> None:
    found = plan({"0": 70, "1": 55}, measured=MEASURED)

    assert found.problems == ()
    assert found.partitions == {
        0: PartitionChange(before=100, after=70, read_again=30, read_late=0, skipped=0),
        1: PartitionChange(before=50, after=55, read_again=0, read_late=0, skipped=5),
    }


def test_the_position_as_it_is_moves_nothing() -> None:
    assert plan({"0": 100, "1": 50}) == MovePlan(partitions={}, problems=())


def test_what_a_move_had_skipped_is_read_late_and_not_again() -> None:
    skipping = PositionMove(time_ms=1, cause=MoveCause.REQUESTED, offsets={0: (80, 95)})
    found = plan({"0": 75}, position=replace(POSITION, moves=(skipping,)))

    assert found.partitions == {
        0: PartitionChange(before=100, after=75, read_again=10, read_late=15, skipped=0)
    }


def test_a_partition_that_the_stream_does_not_read_is_refused() -> None:
    found = plan({"7": 5})

    assert messages(found) == ["offsets.7: the stream has no partition 7; it has 0, 1"]


def test_offsets_outside_of_the_topic_are_refused() -> None:
    found = plan({"0": 19, "1": 61}, measured=MEASURED)

    assert messages(found) == [
        "offsets.0: Kafka has deleted the records before offset 20",
        "offsets.1: partition 1 ended at offset 61 when it was last measured".replace("61", "60"),
    ]


def test_an_offset_beyond_the_measured_end_can_be_asked_for() -> None:
    found = plan({"1": 61}, measured=MEASURED, beyond_end=True)

    assert found.problems == ()
    assert found.partitions[1].skipped == 11


def test_sums_are_not_counted_again_and_the_reason_is_told() -> None:
    found = plan({"0": 99}, table=SUMS, stream="all")

    assert messages(found) == [
        "offsets.0: 1 offsets would be read again, and `sum` counts a value again when its record "
        "is read again: `paid`"
    ]


def test_sums_may_skip_and_read_what_they_have_skipped() -> None:
    skipping = PositionMove(time_ms=1, cause=MoveCause.REQUESTED, offsets={0: (80, 100)})
    position = replace(POSITION, moves=(skipping,))

    assert plan({"0": 150}, table=SUMS, stream="all").problems == ()
    assert plan({"0": 80}, table=SUMS, stream="all", position=position).problems == ()
    assert plan({"0": 79}, table=SUMS, stream="all", position=position).problems != ()


def test_functions_that_count_nothing_twice_are_read_again() -> None:
    changes = {"aggregate": {"function": "max"}}
    columns = [column.model_dump(exclude_unset=True) for column in SUMS.columns]
    table = TableSpec.model_validate(
        SUMS.model_dump(exclude_unset=True) | {"columns": [*columns[:2], columns[2] | changes]}
    )

    assert plan({"0": 0}, table=table, stream="all").problems == ()


def test_records_of_an_earlier_generation_stay_older() -> None:
    found = plan({"0": 59, "1": 10}, orders_of_groups=(order(1),))

    assert messages(found) == [
        "offsets.0: records before offset 60 would be written as newer than records that came after "
        "them: generation 1 of the group began there"
    ]
    assert plan({"0": 60}, orders_of_groups=(order(1),)).problems == ()
    assert plan({"0": 0}, orders_of_groups=(order(0),)).problems == ()


def test_a_generation_of_unknown_beginning_is_not_left() -> None:
    found = plan({"0": 99, "1": 60}, orders_of_groups=(order(1, began=None),))

    assert [problem.field for problem in found.problems] == ["offsets.0"]


def test_arrival_also_decides_between_equal_values_of_declared_ordering_columns() -> None:
    of_sales = order(1, group="sales", stream="sales")

    found = plan({"0": 59, "1": 0}, stream="sales", orders_of_groups=(of_sales,))

    assert [problem.field for problem in found.problems] == ["offsets.0"]
    assert plan({"0": 60}, stream="sales", orders_of_groups=(of_sales,)).problems == ()


def test_whole_rows_have_generations_too() -> None:
    table = orders(sequence_groups=[], merge_engine="deduplicate")
    whole = order(2, group=WHOLE_ROWS)

    assert plan({"0": 59}, table=table, orders_of_groups=(whole,)).problems != ()
    assert plan({"0": 60}, table=table, orders_of_groups=(whole,)).problems == ()


def test_a_group_that_another_stream_has_written_since_is_not_overtaken() -> None:
    found = plan({"0": 99, "1": 51}, orders_of_groups=(order(1, stream="other"),))

    assert messages(found) == [
        "offsets.0: records before offset 100 would be written as newer than records that came "
        "after them: `other` has written the group since"
    ]


def test_a_stream_without_a_position_of_its_own_has_nothing_to_move() -> None:
    never = plan({"0": 1}, position=None)
    fenced = plan({"0": 1}, position=replace(POSITION, topic="", offsets={}))
    moved = plan({"0": 1}, position=replace(POSITION, topic="before"))
    former = plan({"0": 1}, former_epoch=3)

    assert "has not been started yet" in messages(never)[0]
    assert "has not been started yet" in messages(fenced)[0]
    assert "belongs to another topic, before" in messages(moved)[0]
    assert "belongs to a former stream" in messages(former)[0]
    assert plan({"0": 1}, former_epoch=2).problems == ()


BACK = PositionMove(time_ms=1, cause=MoveCause.REQUESTED, offsets={0: (100, 40)})
READING_AGAIN = replace(
    POSITION,
    offsets={0: 70, 1: 50},
    moves=(BACK,),
    highest_read={0: HighestRead(offset=100, reads_again=True)},
)


def test_rows_that_are_ordered_by_writing_are_read_again_to_the_end() -> None:
    whole = orders(sequence_groups=[], merge_engine="deduplicate")
    highest = {0: HighestRead(offset=100)}
    unread = replace(READING_AGAIN, offsets={0: 40, 1: 50}, highest_read=highest)
    passed = replace(READING_AGAIN, offsets={0: 100, 1: 50}, highest_read={})

    refused = plan({"0": 100}, table=whole, position=READING_AGAIN)

    assert "this would skip 30 offsets that it had read before" in messages(refused)[0]
    assert plan({"0": 100}, table=whole, position=unread).problems == ()
    assert plan({"0": 130}, table=whole, position=passed).problems == ()
    assert plan({"0": 60}, table=whole, position=READING_AGAIN).problems == ()
    assert plan({"0": 100}, position=READING_AGAIN).problems == ()
    assert plan({"0": 100}, position=READING_AGAIN, on_tombstone="remove_row").problems != ()


def test_dropped_moves_do_not_open_the_way_forwards() -> None:
    whole = orders(sequence_groups=[], merge_engine="deduplicate")

    found = plan({"0": 100}, table=whole, position=replace(READING_AGAIN, moves=()))

    assert "this would skip 30 offsets" in messages(found)[0]
    assert found.partitions[0].skipped == 0


def test_of_equal_values_of_a_sequence_field_the_one_written_last_stays() -> None:
    whole = orders(
        sequence_groups=[],
        merge_engine="deduplicate",
        options={"sequence.field": "order_version"},
    )

    assert plan({"0": 100}, table=whole, position=READING_AGAIN).problems != ()
