"""Topics of a Kafka cluster: their ids, partitions and offsets, and the creation of topics for dead letters.

Topics are read with kafka-python and not through Spark, because Spark requires an offset for every existing partition, has
no topic ids, and reports end offsets only while micro-batches run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafka import TopicPartition
from kafka.admin import ConfigResource
from kafka.errors import (
    KafkaError,
    LeaderNotAvailableError,
    NoError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
    for_code,
)

from braid.lake import InvalidRequest, Problem
from braid.pipelines.kafka.admin_connection import AdminConnection
from braid.pipelines.kafka.client_errors import unavailable

_EARLIEST = -2
_LATEST = -1
_READ_COMMITTED = 1
_NO_ID = "00000000-0000-0000-0000-000000000000"
_MAX_MESSAGE_BYTES = "max.message.bytes"


class TopicMissing(InvalidRequest):
    """The cluster has no topic of that name, for now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic as it is now.

    Attributes:
        name: The topic's name.
        topic_id: Kafka's id, which changes when a topic is deleted and made again; empty when
            the cluster has no ids (before Kafka 2.8).
        partitions: Numbers of the partitions, ascending.
    """

    name: str
    topic_id: str
    partitions: tuple[int, ...]


def _topic_id(found: object) -> str:
    """Return the id of a topic; empty where the cluster returns none, or the id that stands for none."""
    text = "" if found is None else str(found)
    return "" if text == _NO_ID else text


def described_topic(name: str, found: Mapping[str, Any]) -> Topic | None:
    """Return a topic from Kafka's description of it; None when it does not exist.

    Args:
        name: The topic's name.
        found: Its entry in kafka-python's answer of `describe_topics`.

    Raises:
        KafkaError: Kafka does not tell whether it exists: the login has no right to know, or its leader is being
            elected.
    """
    error = for_code(found["error_code"])
    if error is UnknownTopicOrPartitionError:
        return None
    if error is not NoError:
        raise error(name)
    if not found["partitions"]:
        # A broker that has just heard of the topic may know its name alone.
        raise LeaderNotAvailableError(name)
    numbers = sorted(partition["partition_index"] for partition in found["partitions"])
    return Topic(name=name, topic_id=_topic_id(found.get("topic_id")), partitions=tuple(numbers))


class TopicReader(AdminConnection):
    """Reads topics of one cluster. Use it from one thread at a time."""

    def describe(self, topic: str) -> Topic | None:
        """Return the topic; None when it does not exist.

        Raises:
            StorageUnavailable: The cluster does not answer, or does not describe the topic: this login has no
                right to see it, or its leader is being elected.
        """
        (found,) = self.call("describe_topics", [topic])
        try:
            return described_topic(topic, found)
        except KafkaError as error:
            what = f"topic {topic} cannot be described"
            raise unavailable(self.cluster, what, error) from error

    def require(self, topic: str) -> Topic:
        """Return the topic.

        Raises:
            TopicMissing: The topic does not exist.
            StorageUnavailable: What `describe` raises.
        """
        found = self.describe(topic)
        if found is None:
            problem = Problem(
                field="topic",
                value=topic,
                message=f"there is no such topic on {self.cluster.bootstrap_servers}",
                hint="create it: the stream starts within a minute, or at once with "
                "POST .../streams/<name>/start",
            )
            message = "the stream's topic is missing"
            raise TopicMissing(message, problems=[problem])
        return found

    def earliest(self, topic: Topic) -> dict[int, int]:
        """Return the first offset that is kept, by partition."""
        return self._offsets(topic, _EARLIEST)

    def end(self, topic: Topic) -> dict[int, int]:
        """Return the offset after the last committed record, by partition."""
        return self._offsets(topic, _LATEST)

    def ensure(self, topic: str, *, like: Topic) -> None:
        """Create a topic if it is missing, with the number of partitions and the message size of another topic.

        Raises:
            StorageUnavailable: The cluster does not answer, or refuses.
        """
        if self.describe(topic) is None:
            size = self._max_message_bytes(like.name)
            configs = {} if size is None else {_MAX_MESSAGE_BYTES: size}
            self._create(topic, partitions=len(like.partitions), configs=configs)

    def ensure_with(self, topic: str, *, partitions: int, configs: Mapping[str, str]) -> None:
        """Create a topic if it is missing, with a number of partitions and its settings.

        Raises:
            StorageUnavailable: The cluster does not answer, or refuses.
        """
        if self.describe(topic) is None:
            self._create(topic, partitions=partitions, configs=configs)

    def _create(self, topic: str, *, partitions: int, configs: Mapping[str, str]) -> None:
        wanted = {"num_partitions": partitions, "configs": dict(configs)}
        try:
            self.call("create_topics", {topic: wanted}, wait_for_metadata=True)
        except TopicAlreadyExistsError:
            return  # another process was faster

    def _max_message_bytes(self, topic: str) -> str | None:
        resource = ConfigResource("TOPIC", topic)
        found = self.call("describe_configs", [resource], config_filter="all")
        entry = found.get("topic", {}).get(topic, {}).get(_MAX_MESSAGE_BYTES)
        return None if entry is None else str(entry["value"])

    def _offsets(self, topic: Topic, which: int) -> dict[int, int]:
        specs = {TopicPartition(topic.name, number): which for number in topic.partitions}
        found: Mapping[Any, Any] = self.call(
            "list_partition_offsets", specs, isolation_level=_READ_COMMITTED
        )
        return {key.partition: int(value.offset) for key, value in found.items()}
