"""Topics of a connector: the records as a reader of Kafka gets them.

All events of a key are in one partition, in the order in which they are sent. The tombstone behind a delete can be
missing, as a topic that is compacted loses it, and it can come once more, late.
"""

import random
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tests.support.change_capture.change_event import (
    ChangeEvent,
    headers_of,
    key_of,
    value_of,
)
from tests.support.change_capture.database import Operation
from tests.support.change_capture.log_places import LogPlaces
from tests.support.change_capture.source_table import SourceTable

_START_MS: Final = 1_790_000_000_000
_LATE_MAX: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaRecord:
    """A record of a topic.

    Attributes:
        table: The index of the table whose topic it is in.
        partition: Of the topic.
        offset: In the partition; some offsets have no record.
        timestamp_ms: Milliseconds since the epoch.
        key: Of the record.
        value: None: a tombstone.
        headers: Names and values.
    """

    table: int
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]


class Topics:
    """One topic per table."""

    def __init__(
        self,
        tables: Sequence[SourceTable],
        *,
        partitions: int,
        places: LogPlaces,
        connector: str,
        chance: random.Random,
    ) -> None:
        """Begin with empty partitions."""
        self._tables = tables
        self._partitions = partitions
        self._places = places
        self._connector = connector
        self._chance = chance
        self._ends = [[0] * partitions for _ in tables]
        self._late: deque[tuple[int, ChangeEvent, bool]] = deque()
        self._sent = 0

    def send_late(self, events: Sequence[ChangeEvent]) -> None:
        """Send events once more, after some others, in their order."""
        after = self._sent + self._chance.randint(1, _LATE_MAX)
        self._late += [(after + number // 2, event, False) for number, event in enumerate(events)]

    def records_of(self, event: ChangeEvent) -> Iterator[KafkaRecord]:
        """Yield the record of an event, with its tombstone, and what has been late until now."""
        self._sent += 1
        yield self._record(event)
        if event.change.operation is Operation.DELETE:
            fate = self._chance.random()
            if fate < 0.8:
                yield self._tombstone(event)
            if fate > 0.7:
                after = self._sent + self._chance.randint(1, _LATE_MAX)
                self._late.append((after, event, True))
        while self._late and self._late[0][0] <= self._sent:
            yield self._late_record()

    def rest(self) -> Iterator[KafkaRecord]:
        """Yield what is late at the end."""
        while self._late:
            yield self._late_record()

    def _late_record(self) -> KafkaRecord:
        _, event, is_tombstone = self._late.popleft()
        return self._tombstone(event) if is_tombstone else self._record(event)

    def _record(self, event: ChangeEvent) -> KafkaRecord:
        source = self._places.source(
            event.place, event.last_commit, is_chunk=event.snapshot == "incremental"
        )
        table = self._tables[event.change.table]
        return self._appended(
            event, value_of(event, table, self._connector, source), headers_of(event)
        )

    def _tombstone(self, event: ChangeEvent) -> KafkaRecord:
        return self._appended(event, None, headers_of(event))

    def _appended(
        self, event: ChangeEvent, value: bytes | None, headers: tuple[tuple[str, bytes], ...]
    ) -> KafkaRecord:
        key, table = key_of(event), event.change.table
        partition = zlib.crc32(key) % self._partitions
        offset = self._ends[table][partition]
        # A marker of a transaction has an offset, and is no record.
        self._ends[table][partition] += 2 if self._chance.random() < 0.01 else 1
        return KafkaRecord(
            table=table,
            partition=partition,
            offset=offset,
            timestamp_ms=_START_MS + self._sent,
            key=key,
            value=value,
            headers=headers,
        )
