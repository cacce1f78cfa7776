"""Topics in memory, whose records can be read again by their places."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from braid.lake import LakeError
from braid.records.topic_records import RecordPosition, TopicRecord, WantedRecords


@dataclass(kw_only=True)
class MemoryTopics:
    """A `TopicRecordReader`.

    Attributes:
        records: By topic, the records that it has.
        errors: By topic that cannot be read, the error.
        wanted: What was asked for, by reading.
    """

    records: dict[str, dict[RecordPosition, TopicRecord]] = field(default_factory=dict)
    errors: dict[str, LakeError] = field(default_factory=dict)
    wanted: list[Sequence[WantedRecords]] = field(default_factory=list)

    def add(self, topic: str, position: RecordPosition, record: TopicRecord) -> None:
        """Append a record."""
        self.records.setdefault(topic, {})[position] = record

    def read(
        self, wanted: Sequence[WantedRecords]
    ) -> list[Mapping[RecordPosition, TopicRecord] | LakeError]:
        """Return the records that are there; the id of each topic is its name."""
        self.wanted.append(wanted)
        return [self.errors.get(one.stream.topic) or self._found(one) for one in wanted]

    def close(self) -> None:
        """Keep the records."""

    def _found(self, wanted: WantedRecords) -> Mapping[RecordPosition, TopicRecord]:
        topic = wanted.stream.topic
        assert wanted.topic_id == topic
        there = self.records.get(topic, {})
        return {position: there[position] for position in wanted.positions if position in there}
