"""Topic in memory, as the producer of an app."""

from collections.abc import Callable, Sequence

from braid.records.outgoing_records import (
    IdempotencyKey,
    OutgoingRecord,
    OutgoingRequest,
    ProducedRecords,
    RequestDiffers,
)
from braid.schemas import StreamSpec


class MemoryTopic:
    """A topic of one partition in memory."""

    def __init__(self) -> None:
        self.records: list[OutgoingRecord] = []
        self.answers: dict[str, tuple[bytes, bytes]] = {}

    def produce(self, _: StreamSpec, records: Sequence[OutgoingRecord]) -> ProducedRecords:
        start = len(self.records)
        self.records += records
        places = [(0, offset) for offset in range(start, len(self.records))]
        return ProducedRecords(topic_id="T", places=places)

    def produce_once(
        self, stream: StreamSpec, key: IdempotencyKey, request: Callable[[], OutgoingRequest]
    ) -> bytes:
        if key.name not in self.answers:
            made = request()
            answer = made.answer(self.produce(stream, made.records))
            self.answers[key.name] = (key.digest, answer)
        digest, answer = self.answers[key.name]
        if digest != key.digest:
            raise RequestDiffers(key.name)
        return answer

    def close(self) -> None:
        """Keep the records."""
