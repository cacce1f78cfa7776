"""Producer of pushed records: one connection for each cluster in use, idempotent, acknowledged by all in-sync replicas.

A cluster's connection is made by the first push, and closed after a failure: an idempotent producer of kafka-python 3.0 repeats
the error of a record that was too large for every later one.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from kafka import KafkaProducer
from kafka.errors import KafkaError, MessageSizeTooLargeError

from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.lake import LimitExceeded, StorageUnavailable
from braid.pipelines.kafka.client_errors import unavailable
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.kafka.reachability import check_reachable
from braid.pipelines.kafka.stream_cluster import resolve_cluster
from braid.pipelines.kafka.topic import TopicReader
from braid.records.outgoing_records import OutgoingRecord, ProducedRecords
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
        self._lock = threading.Lock()  # for the topic reader, and for making the producer

    def produce(
        self, topic: str, records: Sequence[OutgoingRecord], seconds: float
    ) -> ProducedRecords:
        end = time.monotonic() + seconds
        what = f"records cannot be sent to topic {topic}"
        if not self._lock.acquire(timeout=seconds):
            message = f"kafka {self._cluster.bootstrap_servers}: {what}: no answer within {seconds:g} seconds"
            raise StorageUnavailable(message)
        try:
            # Before the records are sent: if the topic is created again meanwhile, the token is refused, and not met
            # by offsets of other records.
            found = self._topics.require(topic)
            producer = self._made_producer(seconds)
        except KafkaError as error:
            raise unavailable(self._cluster, what, error) from error
        finally:
            self._lock.release()
        try:
            sent = [
                producer.send(
                    topic,
                    key=record.key,
                    value=record.value,
                    headers=[(name, text.encode()) for name, text in record.headers.items()],
                    timestamp_ms=record.timestamp_ms,
                )
                for record in records
            ]
            places = [one.get(timeout=max(0.0, end - time.monotonic())) for one in sent]
        except MessageSizeTooLargeError as error:
            message = f"topic {topic} does not accept records as large as one of these: {error}"
            raise LimitExceeded(message) from error
        except KafkaError as error:
            raise unavailable(self._cluster, what, error) from error
        return ProducedRecords(
            topic_id=found.topic_id, places=[(one.partition, one.offset) for one in places]
        )

    def close(self) -> None:
        """Give up what is not sent yet, and disconnect."""
        if self._lock.acquire(timeout=1):
            try:
                self._topics.close()
            finally:
                self._lock.release()
        if self._producer is not None:
            with suppress(KafkaError):
                self._producer.close(timeout=0)

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
