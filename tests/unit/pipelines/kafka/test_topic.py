"""A topic is missing only if Kafka says so: a missing right and a passing error are told as what they are."""

import pytest
from kafka.errors import KafkaError, LeaderNotAvailableError, TopicAuthorizationFailedError

from braid.pipelines.kafka.topic import Topic, described_topic

PARTITIONS = [{"partition_index": 1}, {"partition_index": 0}]


def test_a_topic_is_described_with_its_partitions_in_order() -> None:
    found = {"error_code": 0, "topic_id": "an-id", "partitions": PARTITIONS}

    assert described_topic("t", found) == Topic(name="t", topic_id="an-id", partitions=(0, 1))


def test_only_an_unknown_topic_is_missing() -> None:
    assert described_topic("t", {"error_code": 3, "partitions": []}) is None


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (5, LeaderNotAvailableError),
        (29, TopicAuthorizationFailedError),
        (0, LeaderNotAvailableError),
    ],
)
def test_a_topic_that_is_not_described_may_exist(code: int, expected: type[KafkaError]) -> None:
    with pytest.raises(expected):
        described_topic("t", {"error_code": code, "partitions": []})
