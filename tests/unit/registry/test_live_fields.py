"""Changes of a stream that a running query takes up, and those that take a new one."""

import pytest

from braid.registry.live_fields import can_apply_live, with_live_fields, writes_alike
from braid.registry.rules.stream_completion import complete_stream
from braid.schemas import PlacementSpec, StreamColumn, StreamDefinition, StreamSpec
from tests.unit.registry.shop import orders

STREAM = complete_stream(orders(), StreamDefinition(topic="topic"), name="sales")


def changed(**fields: object) -> StreamSpec:
    return STREAM.model_copy(update=fields)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"columns": (StreamColumn(column="id", path="other"),)},
        {"max_message_bytes": 5, "columns_max": 6},
        {"labels": {"team": "payments"}, "owner": "sales"},
    ],
)
def test_live_fields_are_taken_up_by_a_running_query(fields: dict[str, object]) -> None:
    new = changed(**fields)

    assert can_apply_live(STREAM, new)
    assert with_live_fields(STREAM, new) == new


@pytest.mark.parametrize("name", ["topic", "dead_letter_topic", "sequence_group"])
def test_other_fields_take_a_new_query(name: str) -> None:
    new = changed(**{name: "another"})

    assert not can_apply_live(STREAM, new)
    assert with_live_fields(STREAM, new) == STREAM


def test_a_new_trigger_takes_a_new_query() -> None:
    assert not can_apply_live(STREAM, changed(trigger_ms=7, max_message_bytes=5))


def test_labels_and_owner_concern_no_query() -> None:
    assert writes_alike(STREAM, changed(labels={"team": "payments"}, owner="sales"))
    assert not writes_alike(STREAM, changed(owner="sales", columns_max=7))


def test_where_a_stream_runs_concerns_no_query() -> None:
    moved = changed(placement=PlacementSpec(labels={"zone": "eu"}))

    assert can_apply_live(STREAM, moved)
    assert writes_alike(STREAM, moved)
