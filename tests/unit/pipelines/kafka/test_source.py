"""The offsets at which a query starts, and the cases in which it must not."""

import pytest

from braid.lake import InvalidRequest, OffsetMismatch, StreamPosition
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.kafka.source import (
    bounded_options,
    check_topic,
    check_topic_id,
    initial_offsets,
    start_offsets,
)
from braid.pipelines.kafka.topic import Topic
from tests.unit.records.given_streams import given_plan, given_spec

SPEC = given_spec({"id": "INT", "a": "INT", "version": "INT"})
TOPIC = Topic(name="topic", topic_id="id-1", partitions=(0, 1))


def _position(offsets: dict[int, int], *, topic: str = "topic") -> StreamPosition:
    return StreamPosition(stream="s", epoch=1, topic=topic, topic_id="id-1", offsets=offsets)


@pytest.mark.parametrize(("records_max", "polled"), [(1, "1"), (499, "499"), (500_000, "500")])
def test_the_consumer_holds_no_more_records_than_a_micro_batch(
    records_max: int, polled: str
) -> None:
    options = bounded_options(KafkaCluster(bootstrap_servers="k:1"), records_max=records_max)

    assert options["kafka.max.poll.records"] == polled
    assert options["maxOffsetsPerTrigger"] == str(records_max)


def test_an_option_of_the_operator_decides_how_many_records_the_consumer_holds() -> None:
    cluster = KafkaCluster(bootstrap_servers="k:1", options={"max.poll.records": "20"})

    assert bounded_options(cluster, records_max=1)["kafka.max.poll.records"] == "20"


@pytest.mark.parametrize(("policy", "start"), [("earliest", {0: 3}), ("latest", {0: 9})])
def test_a_new_stream_starts_as_declared(policy: str, start: dict[int, int]) -> None:
    plan = given_plan(SPEC, starting_offsets=policy)

    assert initial_offsets(plan, earliest={0: 3}, end={0: 9}) == start


def test_a_query_starts_at_the_tables_offsets_and_new_partitions_at_their_start() -> None:
    start = start_offsets(_position({0: 5}), earliest={0: 3, 1: 0}, end={0: 9, 1: 4})

    assert start == {0: 5, 1: 0}


@pytest.mark.parametrize(
    ("earliest", "end", "cause"),
    [
        ({0: 6}, {0: 9}, "the topic's retention was shorter"),
        ({0: 0}, {0: 4}, "the position was set beyond the end"),
        ({1: 0}, {1: 0}, "the topic has lost records or partitions"),
    ],
    ids=["deleted by retention", "topic ends before", "partition is gone"],
)
def test_records_that_are_gone_stop_the_stream(
    earliest: dict[int, int], end: dict[int, int], cause: str
) -> None:
    with pytest.raises(
        InvalidRequest, match=r"topic topic lacks the offset .*\n.*continues at offset 5"
    ) as caught:
        start_offsets(_position({0: 5}), earliest=earliest, end=end)

    hint = caught.value.problems[0].hint or ""
    assert cause in hint
    assert "set its position to an offset that the topic has" in hint


def test_a_topic_made_again_is_another_topic() -> None:
    again = Topic(name="topic", topic_id="id-2", partitions=(0,))

    with pytest.raises(OffsetMismatch, match="made again: its id is id-2, expected id-1") as caught:
        check_topic(_position({}), again)

    assert "register it anew with `starting_offsets`" in str(caught.value)


def test_another_name_is_another_topic() -> None:
    with pytest.raises(OffsetMismatch, match="are of topic older, found topic"):
        check_topic(_position({}, topic="older"), TOPIC)


@pytest.mark.parametrize(
    ("position", "topic"),
    [
        (None, TOPIC),
        (_position({}), TOPIC),
        (_position({}), Topic(name="topic", topic_id="", partitions=(0,))),
    ],
    ids=["new stream", "same id", "cluster without ids"],
)
def test_the_same_topic_is_accepted(position: StreamPosition | None, topic: Topic) -> None:
    check_topic(position, topic)


def test_a_cluster_without_topic_ids_is_refused() -> None:
    check_topic_id(TOPIC)

    with pytest.raises(InvalidRequest, match="gives topics no ids"):
        check_topic_id(Topic(name="topic", topic_id="", partitions=(0,)))
