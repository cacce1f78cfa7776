"""Offsets of a stream as the service returns them: its position, and the bounds of its topic by a runner's report. Pure."""

from collections.abc import Callable, Iterable, Mapping

from braid.lake import StreamPosition, repeated_ranges, skipped_ranges
from braid.schemas import (
    OffsetRange,
    OffsetsMove,
    RunnerProgress,
    StreamOffsets,
    TableDocument,
    TopicOffsets,
)
from braid.service.times import iso_utc


def measured_offsets(
    runners: Iterable[RunnerProgress], key: str, position: StreamPosition | None
) -> TopicOffsets | None:
    """Return the newest measurement of a stream's topic; None: no runner has measured it.

    Args:
        runners: All reports, also of runners that are gone.
        key: `stream_key` of the stream.
        position: The stream's position; measurements of another topic id do not count.
    """
    if position is None:
        return None
    reports = [runner.streams[key] for runner in runners if key in runner.streams]
    found = [
        report.topic_offsets
        for report in reports
        if report.topic_offsets is not None and report.topic_id == position.topic_id
    ]
    return max(found, key=lambda offsets: offsets.measured_ms, default=None)


def stream_offsets(
    document: TableDocument,
    stream: str,
    *,
    position: StreamPosition | None,
    measured: TopicOffsets | None,
) -> StreamOffsets:
    """Return the offsets of a stream.

    Args:
        document: The stream's table.
        stream: The stream's name.
        position: Its position in the table; None if it has none.
        measured: What `measured_offsets` returned.
    """
    offsets = StreamOffsets(database=document.database, table=document.name, stream=stream)
    if position is None:
        return offsets
    found = {
        "topic": position.topic or None,
        "topic_id": position.topic_id or None,
        "epoch": position.epoch,
        "generation": position.generation,
        "offsets": dict(position.offsets),
        "skipped": _ranges(position, skipped_ranges),
        "read_again": _ranges(position, repeated_ranges),
        "moves": tuple(
            OffsetsMove(
                time=iso_utc(move.time_ms),
                cause=move.cause.value,
                offsets={
                    partition: OffsetRange(start=before, end=after)
                    for partition, (before, after) in move.offsets.items()
                },
            )
            for move in position.moves
        ),
    }
    if measured is not None:
        found |= {
            "beginning_offsets": dict(measured.beginning),
            "end_offsets": dict(measured.end),
            "measured_at": iso_utc(measured.measured_ms),
        }
    return offsets.model_copy(update=found)


def _ranges(
    position: StreamPosition, ranges_of: Callable[..., list[tuple[int, int]]]
) -> Mapping[int, tuple[OffsetRange, ...]]:
    """Return the ranges of the partitions that have any."""
    moved = {partition for move in position.moves for partition in move.offsets}
    found = {
        partition: tuple(
            OffsetRange(start=start, end=end)
            for start, end in ranges_of(position.moves, partition, position.offsets[partition])
        )
        for partition in sorted(moved & position.offsets.keys())
    }
    return {partition: ranges for partition, ranges in found.items() if ranges}
