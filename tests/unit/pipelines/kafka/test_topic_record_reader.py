"""Records of a partition are found by their offsets, and those that are gone are left out."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from kafka import TopicPartition
from kafka.errors import OffsetOutOfRangeError

from braid.pipelines.kafka.topic_record_reader import records_at

PARTITION = TopicPartition("t", 0)


@dataclass(frozen=True)
class Record:
    offset: int


@dataclass(kw_only=True)
class Log:
    """A consumer of kafka-python, of a partition that has records at some offsets below `end`."""

    offsets: Sequence[int]
    end: int
    poll_max: int = 2
    first: int = 0
    position_now: int = 0
    polls: int = 0
    assigned: list[TopicPartition] = field(default_factory=list)

    def assign(self, partitions: list[TopicPartition]) -> None:
        self.assigned = partitions

    def beginning_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, self.first)

    def end_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, self.end)

    def seek(self, _: TopicPartition, offset: int) -> None:
        self.position_now = offset

    def position(self, _: TopicPartition) -> int:
        return self.position_now

    def poll(self, *, timeout_ms: int) -> Mapping[TopicPartition, list[Record]]:
        assert timeout_ms > 0
        self.polls += 1
        found = [offset for offset in self.offsets if offset >= self.position_now][: self.poll_max]
        self.position_now = found[-1] + 1 if found else self.end
        return {PARTITION: [Record(offset) for offset in found]} if found else {}


def read(log: Log, *offsets: int, seconds: float = 60.0) -> list[int]:
    records = records_at(log, PARTITION, offsets, time.monotonic() + seconds)
    return [record.offset for record in records]


def test_records_are_found_by_their_offsets() -> None:
    assert read(Log(offsets=range(10), end=10), 0, 3, 4, 9) == [0, 3, 4, 9]


def test_records_of_one_poll_are_read_once() -> None:
    log = Log(offsets=range(10), end=10, poll_max=10)

    assert read(log, 1, 2, 8) == [1, 2, 8]
    assert log.polls == 1


def test_records_that_were_deleted_or_compacted_are_left_out() -> None:
    log = Log(offsets=[5, 8], end=12, first=5)

    assert read(log, 3, 5, 6, 8, 9, 11, 12, 40) == [5, 8]


def test_a_record_that_is_deleted_while_it_is_read_is_left_out() -> None:
    class Deleting(Log):
        def poll(self, *, timeout_ms: int) -> Mapping[TopicPartition, list[Record]]:
            if self.position_now == 1:
                raise OffsetOutOfRangeError({PARTITION: 1})
            return super().poll(timeout_ms=timeout_ms)

    assert read(Deleting(offsets=range(4), end=4), 1, 3) == [3]


def test_a_broker_that_gives_nothing_ends_the_reading_in_time() -> None:
    class Silent(Log):
        def poll(self, *, timeout_ms: int) -> Mapping[TopicPartition, list[Record]]:
            return {}

    with pytest.raises(TimeoutError):
        read(Silent(offsets=[0], end=1), 0, seconds=0.0)
