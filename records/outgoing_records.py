"""Records on their way to a topic, and their places once the brokers have acknowledged them.

The service pushes records, and a Kafka client of another package sends them: `RecordProducer` is what both know.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from braid.schemas import StreamSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingRecord:
    """A record that is to be sent.

    Attributes:
        key: The Kafka key, which decides the partition; None: any partition.
        value: The value; None: a tombstone, which has a key.
        headers: Headers by name, with their texts.
        timestamp_ms: Milliseconds since the epoch, UTC; None: the time of sending.
    """

    key: bytes | None
    value: bytes | None
    headers: Mapping[str, str]
    timestamp_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducedRecords:
    """Records that all in-sync replicas have.

    Attributes:
        topic_id: Kafka's id of the topic; "" if the cluster has no ids.
        places: Partition and offset of each record, in order.
    """

    topic_id: str
    places: Sequence[tuple[int, int]]


class RecordProducer(Protocol):
    """A sender of records; safe between threads."""

    def produce(self, stream: StreamSpec, records: Sequence[OutgoingRecord]) -> ProducedRecords:
        """Send records to the topic of a stream, and wait until they are acknowledged.

        Raises:
            InvalidRequest: The cluster or the topic does not exist, or its login cannot be used.
            StorageUnavailable: Kafka did not acknowledge all of them in time; some may be in the topic.
        """

    def close(self) -> None:
        """Close all connections."""
