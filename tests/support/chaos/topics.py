"""Topics of a chaos run: records are sent without waiting, and read back in the end."""

from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

from kafka import KafkaProducer

from braid.demo.broker import KafkaBroker
from tests.support.chaos.commits import Place
from tests.support.chaos.letters import Letter
from tests.support.chaos.records import NUMBER_HEADER, Placed, Record
from tests.support.chaos.streams import PARTITIONS, STREAMS, letters_of, topic_of
from tests.support.topic_records import topic_records
from tests.support.waiting import PATIENCE_S


class Topics:
    """A producer whose records survive restarts of their broker."""

    def __init__(self, broker: KafkaBroker) -> None:
        """Create the topics."""
        self._servers = broker.bootstrap_servers
        broker.create_topics({topic_of(stream): PARTITIONS for stream in STREAMS})
        self._producer = KafkaProducer(
            bootstrap_servers=self._servers,
            delivery_timeout_ms=int(PATIENCE_S * 1_000),
            max_block_ms=int(PATIENCE_S * 1_000),
        )
        self._under_way: list[Any] = []

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give up what is under way."""
        self._producer.close(timeout=0 if kind else None)

    def send(self, stream: str, records: Iterable[Record]) -> None:
        """Begin to send records."""
        self._under_way += [
            self._producer.send(
                topic_of(stream),
                key=record.key,
                value=record.value,
                headers=list(record.headers),
                partition=record.partition,
            )
            for record in records
        ]

    def flush(self) -> None:
        """Wait until the broker has acknowledged all records.

        Raises:
            KafkaError: A record was not acknowledged.
        """
        for one in self._under_way:
            one.get(timeout=PATIENCE_S)
        self._under_way.clear()

    def records(self, stream: str, sent: Iterable[Record]) -> list[Placed]:
        """Read back all records of a stream.

        Args:
            stream: Its name.
            sent: All records that were drawn for it.

        Raises:
            AssertionError: A record was not sent like this, or one that was sent is not there.
        """
        by_number = {record.number: record for record in sent}
        found = []
        for message in topic_records(self._servers, topic_of(stream)):
            headers = tuple(message.headers)
            record = by_number[int(dict(headers)[NUMBER_HEADER])]
            assert (message.key, message.value, headers) == record.bytes, (message, record)
            found.append(Placed(partition=message.partition, offset=message.offset, record=record))
        missing = by_number.keys() - {one.record.number for one in found}
        assert not missing, f"Kafka has lost records of {stream}: {sorted(missing)}"
        return found

    def letters(self, stream: str) -> list[Letter]:
        """Read all dead letters of a stream."""
        return [
            Letter.of(message.key, message.value, message.headers)
            for message in topic_records(self._servers, letters_of(stream))
        ]


def ends_of(stream: str, records: Iterable[Placed]) -> dict[Place, int]:
    """Return the end of each partition."""
    ends = {Place(stream, partition): 0 for partition in range(PARTITIONS)}
    for one in records:
        place = Place(stream, one.partition)
        ends[place] = max(ends[place], one.offset + 1)
    return ends
