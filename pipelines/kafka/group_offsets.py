"""Commits of offsets to a consumer group in Kafka, which must have no members."""

from collections.abc import Mapping
from typing import Any, Final

from kafka import TopicPartition
from kafka.errors import (
    IllegalGenerationError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from kafka.structs import OffsetAndMetadata

from braid.lake import StorageUnavailable
from braid.pipelines.kafka.admin_connection import AdminConnection
from braid.pipelines.kafka.client_errors import unavailable
from braid.pipelines.kafka.cluster import KafkaCluster

_OF_MEMBERS: Final = (IllegalGenerationError, RebalanceInProgressError, UnknownMemberIdError)
_NO_ERROR: Final = 0


class GroupOffsets:
    """Commits offsets of one topic to one consumer group. Use it from one thread at a time."""

    def __init__(self, cluster: KafkaCluster, *, group: str, topic: str) -> None:
        """Prepare to commit; the first commit connects.

        Args:
            cluster: The cluster of the topic.
            group: The consumer group.
            topic: The topic.
        """
        self._connection = AdminConnection(cluster)
        self._group = group
        self._topic = topic

    def commit(self, offsets: Mapping[int, int]) -> None:
        """Commit the next offset of each partition; the group's other offsets stay.

        Kafka accepts this only while the group has no members: a member would lose what it has committed itself.

        Raises:
            StorageUnavailable: The cluster does not answer, or refuses some of the offsets.
        """
        entries = {
            TopicPartition(self._topic, number): OffsetAndMetadata(offset, "", -1)
            for number, offset in offsets.items()
        }
        found: Mapping[Any, Any] = self._connection.call(
            "alter_group_offsets", self._group, entries
        )
        for part, error in sorted(found.items()):
            if error.errno == _NO_ERROR:
                continue
            what = f"offsets cannot be committed to the consumer group {self._group}"
            if issubclass(error, _OF_MEMBERS):
                message = (
                    f"{what}: the group has active members, whose own offsets would be overwritten\n"
                    "hint: choose a group that no consumer uses"
                )
                raise StorageUnavailable(message)
            raise unavailable(
                self._connection.cluster, f"{what} (partition {part.partition})", error()
            )

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
