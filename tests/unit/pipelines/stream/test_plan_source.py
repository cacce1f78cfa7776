"""Which changes of a stream a running query takes up."""

import pytest

from pipelines.stream.plan_source import can_apply_live, fixed_by
from registry.rules.stream_completion import complete_stream
from schemas import StreamColumn, StreamDefinition, StreamSpec
from tests.unit.pipelines.given_streams import given_spec

TABLE = given_spec({"id": "BIGINT", "a": "INT", "version": "INT"})
SPEC = complete_stream(TABLE, StreamDefinition(topic="topic"), name="s")


def changed(**fields: object) -> StreamSpec:
    return SPEC.model_copy(update=fields)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"columns": (StreamColumn(column="id", path="other"),)},
        {"max_message_bytes": 5, "columns_max": 6},
    ],
)
def test_what_a_running_query_takes_up(fields: dict[str, object]) -> None:
    new = changed(**fields)

    assert can_apply_live(SPEC, new)
    assert fixed_by(SPEC, new) == new


@pytest.mark.parametrize("name", ["topic", "dead_letter_topic", "sequence_group"])
def test_what_takes_a_new_query(name: str) -> None:
    new = changed(**{name: "another"})

    assert not can_apply_live(SPEC, new)
    assert fixed_by(SPEC, new) == SPEC


def test_a_new_trigger_takes_a_new_query() -> None:
    assert not can_apply_live(SPEC, changed(trigger_ms=7, max_message_bytes=5))
