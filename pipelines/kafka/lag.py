"""Lag of a stream behind its topic: its offsets, and an estimate in seconds."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """The lag of a stream at one moment.

    Attributes:
        records: Number of offsets from the table's position to the topic's end: at least that of the records,
            because markers of transactions take offsets, too.
        seconds: An estimate of the age of the oldest of these records; 0 without any. It is too low where one
            partition is behind the others, and for records that waited before the measuring began.
    """

    records: int
    seconds: float


class LagMeter:
    """Measures lag from offsets and the time of the newest committed record, without reading the records that wait.

    In a topic of one partition the oldest waiting record is younger than the newest committed record, and it
    arrived after the last moment at which no record waited. So its age is at most the time since the later
    of the two. With several partitions the newest committed record may be of another partition than the
    oldest waiting one: where one partition is behind the others, the estimate is too low.

    Before the first such moment the start of the measuring stands for it, so the estimate does not exceed the time
    since then: while a stream catches up after a pause, it is too low.
    """

    def __init__(self, *, started_ms: int) -> None:
        self._caught_up_ms = started_ms

    def measure(
        self,
        *,
        offsets: Mapping[int, int],
        end: Mapping[int, int],
        newest_ms: int | None,
        now_ms: int,
    ) -> Lag:
        """Return the lag now.

        Args:
            offsets: Next offset in the table, by partition.
            end: End of the topic, by partition.
            newest_ms: Kafka's timestamp of the newest record that this query committed, over all
                partitions, milliseconds since the epoch.
            now_ms: Milliseconds since the epoch.

        Example:
            >>> meter = LagMeter(started_ms=0)
            >>> meter.measure(offsets={0: 5}, end={0: 8}, newest_ms=4_000, now_ms=9_000)
            Lag(records=3, seconds=5.0)
        """
        waiting = sum(max(0, last - offsets.get(part, 0)) for part, last in end.items())
        if waiting == 0:
            self._caught_up_ms = now_ms
            return Lag(records=0, seconds=0.0)
        since_ms = max(self._caught_up_ms, newest_ms or 0)
        return Lag(records=waiting, seconds=max(0, now_ms - since_ms) / 1_000)
