"""Lag of a stream behind its topic: a number of offsets, and an estimate in seconds."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """The lag of a stream at one moment.

    Attributes:
        records: Number of offsets from the table's position to the topic's end: at least that of the records,
            because markers of transactions take offsets, too.
        seconds: An estimate of the age of the oldest of these records; 0 without any. It is too low where one
            partition is behind the others. None: nothing is known of their age.
    """

    records: int
    seconds: float | None


class LagMeter:
    """Measures lag from offsets and the time of the newest committed record, without reading the records that wait.

    In a topic of one partition the oldest waiting record is younger than the newest committed record, and it
    arrived after the last moment at which no record waited. So its age is at most the time since the later
    of the two. With several partitions the newest committed record may be of another partition than the
    oldest waiting one: where one partition is behind the others, the estimate is too low.

    The start of the measuring is no such moment: the records may have waited for days before it. Until the query
    commits a record, or none waits, their age is unknown. The table does not tell it either: it has no
    timestamps of Kafka, and the claim at the start of the query renews the time of its newest commit.
    """

    def __init__(self) -> None:
        self._caught_up_ms: int | None = None

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
                partitions, milliseconds since the epoch; None before the first.
            now_ms: Milliseconds since the epoch.

        Example:
            >>> meter = LagMeter()
            >>> meter.measure(offsets={0: 5}, end={0: 8}, newest_ms=None, now_ms=9_000)
            Lag(records=3, seconds=None)
            >>> meter.measure(offsets={0: 5}, end={0: 8}, newest_ms=4_000, now_ms=9_000)
            Lag(records=3, seconds=5.0)
        """
        waiting = sum(max(0, last - offsets.get(part, 0)) for part, last in end.items())
        if waiting == 0:
            self._caught_up_ms = now_ms
            return Lag(records=0, seconds=0.0)
        known = [at for at in (self._caught_up_ms, newest_ms) if at is not None]
        seconds = max(0, now_ms - max(known)) / 1_000 if known else None
        return Lag(records=waiting, seconds=seconds)
