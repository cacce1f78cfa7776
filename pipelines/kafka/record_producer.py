"""Producer of pushed records: one connection for each cluster in use, idempotent, acknowledged by all in-sync replicas.

A cluster's connection is made by the first push, and closed after a failure: an idempotent producer of kafka-python 3.0 repeats
the error of a record that was too large for every later one.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

from kafka import KafkaProducer
from kafka.errors import KafkaError, MessageSizeTooLargeError

from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.lake import LimitExceeded, StorageUnavailable
from braid.pipelines.kafka.client_errors import unavailable
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.kafka.idempotent_pushes import (
    PARTITIONS,
    TOPIC,
    TOPIC_CONFIGS,
    PushPartition,
    partition_of,
    send,
)
from braid.pipelines.kafka.reachability import check_reachable
from braid.pipelines.kafka.stream_cluster import resolve_cluster
from braid.pipelines.kafka.topic import TopicReader
from braid.records.outgoing_records import (
    IdempotencyKey,
    OutgoingRecord,
    OutgoingRequest,
    ProducedRecords,
)
from braid.schemas import StreamSpec

CONNECTIONS_MAX: Final = 8
_SECONDS: Final = 10.0
"""The longest time until the brokers have acknowledged the records of a push."""
_REACHABLE_SECONDS: Final = 3.0

_ClusterId = tuple[str, frozenset[tuple[str, str]]]


class KafkaRecordProducer:
    """Sends records to the topics of streams; a `RecordProducer`."""

    def __init__(self, clusters: KafkaClusters, *, seconds: float = _SECONDS) -> None:
        """Connect to no cluster yet.

        Args:
            clusters: The clusters that streams may name.
            seconds: The longest time for the records of one push.
        """
        self._clusters = clusters
        self._seconds = seconds
        self._connections: OrderedDict[_ClusterId, _Connection] = OrderedDict()
        self._lock = threading.Lock()

    def produce(self, stream: StreamSpec, records: Sequence[OutgoingRecord]) -> ProducedRecords:
        """Send records to the topic of a stream; see `RecordProducer`."""
        cluster = resolve_cluster(stream, self._clusters)
        check_reachable(cluster, seconds=_REACHABLE_SECONDS)
        place = (cluster.bootstrap_servers, frozenset(cluster.options.items()))
        connection = self._connection(place, cluster)
        try:
            return connection.produce(stream.topic, records, self._seconds)
        except (StorageUnavailable, LimitExceeded):
            self._forget(place, connection)
            raise

    def produce_once(
        self, stream: StreamSpec, key: IdempotencyKey, request: Callable[[], OutgoingRequest]
    ) -> bytes:
        """Send the records of a request in one transaction with its answer; see `RecordProducer`."""
        cluster = resolve_cluster(stream, self._clusters)
        check_reachable(cluster, seconds=_REACHABLE_SECONDS)
        place = (cluster.bootstrap_servers, frozenset(cluster.options.items()))
        connection = self._connection(place, cluster)
        try:
            return connection.produce_once(stream.topic, key, request, self._seconds)
        except StorageUnavailable:
            self._forget(place, connection)
            raise

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            connections = list(self._connections.values())
            self._connections.clear()
        for connection in connections:
            connection.close()

    def _connection(self, place: _ClusterId, cluster: KafkaCluster) -> "_Connection":
        oldest = None
        with self._lock:
            found = self._connections.get(place)
            if found is None:
                found = self._connections[place] = _Connection(cluster)
                if len(self._connections) > CONNECTIONS_MAX:
                    _, oldest = self._connections.popitem(last=False)
            self._connections.move_to_end(place)
        if oldest is not None:
            oldest.close()
        return found

    def _forget(self, place: _ClusterId, connection: "_Connection") -> None:
        with self._lock:
            if self._connections.get(place) is connection:
                del self._connections[place]
        connection.close()


class _Connection:
    """The clients of one cluster, which its first push makes."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self._cluster = cluster
        self._topics = TopicReader(cluster)
        self._producer: Any = None
        self._answers: dict[int, PushPartition] = {}
        self._lock = threading.Lock()  # for the topic reader, and for making the producers

    def produce(
        self, topic: str, records: Sequence[OutgoingRecord], seconds: float
    ) -> ProducedRecords:
        end = time.monotonic() + seconds
        what = f"records cannot be sent to topic {topic}"
        with self._held_lock(what, seconds):
            # Before the records are sent: if the topic is created again meanwhile, the token is refused, and not met
            # by offsets of other records.
            found = self._topics.require(topic)
            producer = self._made_producer(seconds)
        try:
            sent = [send(producer, topic, record) for record in records]
            places = [one.get(timeout=max(0.0, end - time.monotonic())) for one in sent]
        except MessageSizeTooLargeError as error:
            message = f"topic {topic} does not accept records as large as one of these: {error}"
            raise LimitExceeded(message) from error
        except KafkaError as error:
            raise unavailable(self._cluster, what, error) from error
        return ProducedRecords(
            topic_id=found.topic_id, places=[(one.partition, one.offset) for one in places]
        )

    def produce_once(
        self,
        topic: str,
        key: IdempotencyKey,
        request: Callable[[], OutgoingRequest],
        seconds: float,
    ) -> bytes:
        what = f"records cannot be sent to topic {topic}"
        with self._held_lock(what, seconds):
            found = self._topics.require(topic)
            number = partition_of(key.name)
            if number not in self._answers:
                self._topics.ensure_with(TOPIC, partitions=PARTITIONS, configs=TOPIC_CONFIGS)
                self._answers[number] = PushPartition(self._cluster, number)
            answers = self._answers[number]
        return answers.produce_once(topic, found.topic_id, key, request, seconds=seconds)

    def close(self) -> None:
        """Give up what is not sent yet, and disconnect."""
        for each in list(self._answers.values()):
            each.close()
        if self._lock.acquire(timeout=1):
            try:
                self._topics.close()
            finally:
                self._lock.release()
        if self._producer is not None:
            with suppress(KafkaError):
                self._producer.close(timeout=0)

    @contextmanager
    def _held_lock(self, what: str, seconds: float) -> Iterator[None]:
        """Hold the lock, and raise errors of Kafka as `StorageUnavailable`."""
        if not self._lock.acquire(timeout=seconds):
            message = f"kafka {self._cluster.bootstrap_servers}: {what}: no answer within {seconds:g} seconds"
            raise StorageUnavailable(message)
        try:
            yield
        except KafkaError as error:
            raise unavailable(self._cluster, what, error) from error
        finally:
            self._lock.release()

    def _made_producer(self, seconds: float) -> Any:
        if self._producer is None:
            waits_ms = int(seconds * 1_000)
            self._producer = KafkaProducer(
                acks="all",
                enable_idempotence=True,
                max_block_ms=waits_ms,
                request_timeout_ms=waits_ms // 2,
                delivery_timeout_ms=waits_ms,
                **self._cluster.client_options,
            )
        return self._producer
