"""A range is read to its end, however many polls bring no record, as long as positions advance."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from kafka import TopicPartition

from braid.pipelines.kafka.bounded_read import polled_to_end

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


@dataclass
class Aborted:
    """A consumer of kafka-python that meets no record, only those of aborted transactions."""

    positions: dict[TopicPartition, int]
    step: int
    paused_ones: set[TopicPartition] = field(default_factory=set)

    def assignment(self) -> set[TopicPartition]:
        return set(self.positions)

    def position(self, partition: TopicPartition) -> int:
        return self.positions[partition]

    def paused(self) -> set[TopicPartition]:
        return set(self.paused_ones)

    def pause(self, *partitions: TopicPartition) -> None:
        self.paused_ones.update(partitions)

    def poll(self, *, timeout_ms: int) -> Mapping[TopicPartition, list[object]]:
        assert timeout_ms > 0
        for one in self.positions.keys() - self.paused_ones:
            self.positions[one] += self.step
        return {}


def test_a_long_row_of_aborted_records_is_read_over() -> None:
    consumer = Aborted({FIRST: 0, SECOND: 0}, step=1)

    polls = list(polled_to_end(consumer, {0: 100, 1: 2}))

    assert polls == [[]] * 100
    assert consumer.positions == {FIRST: 100, SECOND: 2}


def test_a_position_that_stays_means_that_the_cluster_is_down() -> None:
    with pytest.raises(OSError, match="no records came for 30 s"):
        list(polled_to_end(Aborted({FIRST: 7}, step=0), {0: 8}))
