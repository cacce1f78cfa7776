"""Letters on a dead-letter topic: the current offsets of its partitions, and the letters in a range of offsets."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from braid.formats.dead_letter import DeadLetter, parse_dead_letter
from braid.pipelines.kafka.bounded_read import read_to_end
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.kafka.topic import TopicReader


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicLetter:
    """A letter where it is.

    Attributes:
        letter: The letter.
        connector: Name of its sender.
        partition: Its partition in the dead-letter topic.
        offset: Its offset there.
        sent_ms: When it was sent, milliseconds since the epoch.
    """

    letter: DeadLetter
    connector: str
    partition: int
    offset: int
    sent_ms: int


class LetterSource(Protocol):
    """Source of letters; each reading begins anew and ends."""

    def bounds(self) -> tuple[Mapping[int, int], Mapping[int, int]]:
        """Return the first offsets and the ends of the topic, by partition; both empty without a topic."""
        ...

    def read(
        self, start: Mapping[int, int], end: Mapping[int, int]
    ) -> Iterator[tuple[list[TopicLetter], Mapping[int, int]]]:
        """Yield letters in the order of each partition, with the next offset of the partitions they are of."""
        ...


class LetterTopic:
    """A dead-letter topic of a cluster."""

    def __init__(self, cluster: KafkaCluster, topic: str) -> None:
        self._cluster = cluster
        self._topic = topic

    def bounds(self) -> tuple[Mapping[int, int], Mapping[int, int]]:
        """Return the bounds of the topic (see `LetterSource.bounds`).

        Raises:
            StorageUnavailable: The cluster does not answer, or this login has no right to see the topic.
        """
        with TopicReader(self._cluster) as topics:
            found = topics.describe(self._topic)
            if found is None:
                return {}, {}
            return topics.earliest(found), topics.end(found)

    def read(
        self, start: Mapping[int, int], end: Mapping[int, int]
    ) -> Iterator[tuple[list[TopicLetter], Mapping[int, int]]]:
        """Yield the letters in a range of each partition (see `LetterSource.read`).

        Messages that are no letters are left out.

        Raises:
            RecordsExpired: Kafka has deleted messages of the range; read on from new bounds.
            StorageUnavailable: The cluster does not answer.
        """
        for polled in read_to_end(self._cluster, topic=self._topic, start=start, end=end):
            found = []
            following: dict[int, int] = {}
            for record in polled:
                following[record.partition] = record.offset + 1
                parsed = parse_dead_letter(
                    key=record.key, value=record.value, headers=record.headers
                )
                if parsed is not None:
                    found.append(
                        TopicLetter(
                            letter=parsed[0],
                            connector=parsed[1],
                            partition=record.partition,
                            offset=record.offset,
                            sent_ms=record.timestamp,
                        )
                    )
            yield found, following
