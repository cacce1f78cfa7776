"""Producer of idempotent requests: their records and their answer are sent to Kafka in one transaction.

A topic of the cluster, `__braid-pushes`, has for each idempotency key of the last day the digest of the request and its answer:

    request ──► partition of its key ──► answer known? ──► yes: repeat it
                                              └─► no: transaction { records ──► topic of the stream; answer ──► partition }

Each partition of that topic has one transactional id, which the processes of the service take over from each other. The broker fences
the process that had it before: a transaction that this process has begun is aborted, so whoever has the id has read all
answers, and nobody else adds one. Whatever fails, the process takes the id over again, reads what is there, and only
then sends. So records are sent once, also after a process was killed.
"""

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError, MessageSizeTooLargeError
from kafka.partitioner.default import murmur2

from braid.lake import LimitExceeded, StorageUnavailable
from braid.pipelines.kafka.bounded_read import polled_to_end
from braid.pipelines.kafka.client_errors import unavailable
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.records.outgoing_records import (
    IdempotencyKey,
    OutgoingRecord,
    OutgoingRequest,
    ProducedRecords,
    RequestDiffers,
)

TOPIC: Final = "__braid-pushes"
PARTITIONS: Final = 8
KEPT_MS: Final = 24 * 3_600_000
"""Time for which an answer is repeated."""

ANSWERS_MAX: Final = 100_000
"""Keys of one partition that a process knows; some 200 bytes each."""

TRANSACTION_MS: Final = 15_000
"""Time after which Kafka aborts the transaction of a process that has ended; until then streams read no record behind it."""

TOPIC_CONFIGS: Final = {
    "cleanup.policy": "compact,delete",
    "retention.ms": str(KEPT_MS),
    # A segment is deleted once its newest record is old enough.
    "segment.ms": str(3_600_000),
}
_DIGEST_BYTES: Final = 32
_READ_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class _KnownAnswer:
    """An answer in the topic.

    Attributes:
        offset: Its offset.
        digest: Digest of its request.
        at_ms: Time of its record.
    """

    offset: int
    digest: bytes
    at_ms: int


def partition_of(name: str) -> int:
    """Return the partition of an idempotency key."""
    return int((murmur2(name.encode()) & 0x7FFFFFFF) % PARTITIONS)


class PushPartition:
    """One partition of the answers; safe between threads, which wait for each other."""

    def __init__(
        self, cluster: KafkaCluster, number: int, *, now_ms: Callable[[], int] | None = None
    ) -> None:
        """Connect to nothing yet.

        Args:
            cluster: Where the topic is; it exists.
            number: The partition.
            now_ms: Returns the milliseconds since 1970; None: the machine's.
        """
        self._cluster = cluster
        self._place = TopicPartition(TOPIC, number)
        self._now_ms = now_ms or (lambda: time.time_ns() // 1_000_000)
        self._lock = threading.Lock()
        self._producer: Any = None
        self._consumer: Any = None
        self._read_to = 0
        self._known: OrderedDict[bytes, _KnownAnswer] = OrderedDict()

    def produce_once(
        self,
        topic: str,
        topic_id: str,
        key: IdempotencyKey,
        request: Callable[[], OutgoingRequest],
        *,
        seconds: float,
    ) -> bytes:
        """Send the records of a request unless one of the same key was sent; see `RecordProducer`.

        Args:
            topic: The topic of the records.
            topic_id: Kafka's id of it.
            key: The key, of this partition.
            request: Returns the request.
            seconds: The longest time.
        """
        end = time.monotonic() + seconds
        what = f"records cannot be sent to topic {topic}"
        if not self._lock.acquire(timeout=seconds):
            message = f"kafka {self._cluster.bootstrap_servers}: {what}: others were sent for {seconds:g} seconds"
            raise StorageUnavailable(message)
        try:
            made: OutgoingRequest | None = None
            while True:
                try:
                    self._take_over(end)
                    answer = self._answer(key)
                    if answer is not None:
                        return answer
                    made = made or request()
                    return self._send(topic, topic_id, key, made, end)
                except MessageSizeTooLargeError as error:
                    with suppress(KafkaError, OSError):
                        self._producer.abort_transaction()
                    self._give_up()
                    message = (
                        f"topic {topic} does not accept records as large as one of these: {error}"
                    )
                    raise LimitExceeded(message) from error
                except (KafkaError, OSError) as error:
                    # Another process may have taken over; or the broker was away, and the outcome is not known.
                    self._give_up()
                    if time.monotonic() > end:
                        raise unavailable(self._cluster, what, error) from error
                    time.sleep(0.05)
        finally:
            self._lock.release()

    def close(self) -> None:
        """Give up what is not sent yet, and disconnect."""
        if self._lock.acquire(timeout=1):
            try:
                self._give_up()
            finally:
                self._lock.release()

    def _take_over(self, end: float) -> None:
        """Make this process the only one that sends with the partition's transactional id, and read all answers."""
        if self._producer is not None:
            return
        waits_ms = max(1_000, int((end - time.monotonic()) * 1_000))
        self._producer = KafkaProducer(
            acks="all",
            transactional_id=f"{TOPIC}-{self._place.partition}",
            transaction_timeout_ms=TRANSACTION_MS,
            max_block_ms=waits_ms,
            request_timeout_ms=max(500, waits_ms // 2),
            delivery_timeout_ms=waits_ms,
            **self._cluster.client_options,
        )
        self._producer.init_transactions()
        self._read_on()

    def _read_on(self) -> None:
        """Read the answers behind those that are known."""
        if self._consumer is None:
            self._consumer = KafkaConsumer(
                isolation_level="read_committed",
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                **self._cluster.client_options,
            )
            self._consumer.assign([self._place])
        consumer = self._consumer
        end = consumer.end_offsets([self._place])[self._place]
        begin = consumer.beginning_offsets([self._place])[self._place]
        if self._read_to > end:  # the topic was created again
            self._known.clear()
            self._read_to = 0
        consumer.seek(self._place, max(begin, self._read_to))
        for records in polled_to_end(consumer, {self._place.partition: end}):
            for record in records:
                self._remember(record.key, record.offset, record.value, record.timestamp)
        self._read_to = end
        consumer.resume(self._place)

    def _answer(self, key: IdempotencyKey) -> bytes | None:
        """Return the answer to a request of this key; None if there was none within a day."""
        self._forget_old()
        known = self._known.get(_stored(key))
        if known is None:
            if len(self._known) >= ANSWERS_MAX:
                message = f"more than {ANSWERS_MAX:,} idempotency keys of a day: send requests without one, or fewer"
                raise LimitExceeded(message)
            return None
        if known.digest != key.digest:
            message = (
                "the idempotency key was used for another request\nhint: send the first request's body again, or "
                "use a new key"
            )
            raise RequestDiffers(message)
        return self._read_answer(known.offset)

    def _read_answer(self, offset: int) -> bytes:
        self._consumer.seek(self._place, offset)
        until = time.monotonic() + _READ_S
        while time.monotonic() < until:
            for records in self._consumer.poll(timeout_ms=200).values():
                for record in records:
                    if record.offset == offset:
                        return bytes(record.value[_DIGEST_BYTES:])
        message = f"no answer at offset {offset} of topic {TOPIC}"
        raise OSError(message)

    def _send(
        self, topic: str, topic_id: str, key: IdempotencyKey, request: OutgoingRequest, end: float
    ) -> bytes:
        producer = self._producer
        producer.begin_transaction()
        sent = [send(producer, topic, record) for record in request.records]
        places = [one.get(timeout=max(0.0, end - time.monotonic())) for one in sent]
        answer = request.answer(
            ProducedRecords(
                topic_id=topic_id, places=[(one.partition, one.offset) for one in places]
            )
        )
        value = key.digest + answer
        at = producer.send(TOPIC, key=_stored(key), value=value, partition=self._place.partition)
        found = at.get(timeout=max(0.0, end - time.monotonic()))
        producer.commit_transaction()
        self._remember(_stored(key), found.offset, value, found.timestamp)
        self._read_to = found.offset + 1
        return answer

    def _remember(self, key: bytes, offset: int, value: bytes | None, at_ms: int) -> None:
        self._known.pop(key, None)
        if value is not None:
            self._known[key] = _KnownAnswer(offset, bytes(value[:_DIGEST_BYTES]), at_ms)

    def _forget_old(self) -> None:
        since = self._now_ms() - KEPT_MS
        while self._known:
            oldest = next(iter(self._known))
            if self._known[oldest].at_ms >= since:
                return
            del self._known[oldest]

    def _give_up(self) -> None:
        """Close the clients; a transaction that is open is aborted when the id is taken over."""
        producer, self._producer = self._producer, None
        consumer, self._consumer = self._consumer, None
        with suppress(KafkaError, OSError):
            if producer is not None:
                producer.close(timeout=0)
        with suppress(KafkaError, OSError):
            if consumer is not None:
                consumer.close()


def send(producer: Any, topic: str, record: OutgoingRecord) -> Any:
    """Send a record; return the client's future of its place."""
    return producer.send(
        topic,
        key=record.key,
        value=record.value,
        headers=[(name, text.encode()) for name, text in record.headers.items()],
        timestamp_ms=record.timestamp_ms,
    )


def _stored(key: IdempotencyKey) -> bytes:
    return hashlib.sha256(key.name.encode()).digest()
