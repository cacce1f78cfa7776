"""Records on their way to a topic, and their places once the brokers have acknowledged them.

The service pushes records, and a Kafka client of another package sends them: `RecordProducer` is what both know.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from braid.lake import LakeError
from braid.schemas import StreamSpec


class RequestDiffers(LakeError):
    """The idempotency key of a request was used for another request before."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyKey:
    """The name that a client has given to a request, so that the request has its effect once.

    Attributes:
        name: The name, with the stream that the request is for.
        digest: Digest of the request's body, 32 bytes.
    """

    name: str
    digest: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingRequest:
    """What a request sends, and its answer.

    Attributes:
        records: The records; may be empty.
        answer: Returns the answer once their places are known.
    """

    records: Sequence[OutgoingRecord]
    answer: Callable[[ProducedRecords], bytes]


class RecordProducer(Protocol):
    """A sender of records; safe between threads."""

    def produce(self, stream: StreamSpec, records: Sequence[OutgoingRecord]) -> ProducedRecords:
        """Send records to the topic of a stream, and wait until they are acknowledged.

        Raises:
            InvalidRequest: The cluster or the topic does not exist, or its login cannot be used.
            StorageUnavailable: Kafka did not acknowledge all of them in time; some may be in the topic.
        """

    def produce_once(
        self, stream: StreamSpec, key: IdempotencyKey, request: Callable[[], OutgoingRequest]
    ) -> bytes:
        """Send the records of a request unless a request of the same key has sent them; return the answer of the first one.

        Args:
            stream: To whose topic they are sent.
            key: Kept for a day.
            request: Returns the request; called if no request of this key is known.

        Raises:
            RequestDiffers: The request of this key had another body.
            InvalidRequest, StorageUnavailable: What `produce` raises; none of the records is in the topic, or all are, and the
                same request repeats the answer.
        """

    def close(self) -> None:
        """Close all connections."""
