"""Records of topics, read again by their places.

The service shows the records that rows come from, and a Kafka client of another package reads them: `TopicRecordReader` is
what both know.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from braid.lake import LakeError
from braid.schemas import StreamSpec

RecordPosition: TypeAlias = tuple[int, int]
"""Partition and offset of a record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRecord:
    """A record as the topic has it.

    Attributes:
        key: The Kafka key; None: it has none.
        value: The value; None: it is a tombstone.
        headers: Names and values, in order; a name may come several times, and a value may be null.
        timestamp_ms: Milliseconds since the epoch, UTC.
    """

    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]
    timestamp_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedRecords:
    """Records of one topic that are to be read.

    Attributes:
        stream: The stream that reads the topic.
        topic_id: Kafka's id of the topic that the records are of; "" if it is not known.
        positions: Where they are.
    """

    stream: StreamSpec
    topic_id: str
    positions: Sequence[RecordPosition]


class TopicRecordReader(Protocol):
    """A reader of single records; safe between threads."""

    def read(
        self, wanted: Sequence[WantedRecords]
    ) -> list[Mapping[RecordPosition, TopicRecord] | LakeError]:
        """Return for each topic the records that it still has, or why it cannot be read; takes a few seconds at most.

        A topic that was created again has none of the records.
        """

    def close(self) -> None:
        """Read nothing more."""
