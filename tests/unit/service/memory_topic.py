"""Topic in memory, as the producer of an app."""

from collections.abc import Sequence

from braid.records.outgoing_records import OutgoingRecord, ProducedRecords
from braid.schemas import StreamSpec


class MemoryTopic:
    """A topic of one partition in memory."""

    def __init__(self) -> None:
        self.records: list[OutgoingRecord] = []

    def produce(self, _: StreamSpec, records: Sequence[OutgoingRecord]) -> ProducedRecords:
        start = len(self.records)
        self.records += records
        places = [(0, offset) for offset in range(start, len(self.records))]
        return ProducedRecords(topic_id="T", places=places)

    def close(self) -> None:
        """Keep the records."""
