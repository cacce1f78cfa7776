"""Reports of runners that decide nothing any more, because other runners have reported the same streams since. Pure.

A report may be the only one that knows where a stream continues. So what counts for a deletion is not its age alone.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Final

from braid.schemas import RunnerProgress, StreamProgress

RETENTION_MS: Final = 7 * 24 * 3_600 * 1_000
"""Age from which superseded reports are deleted, unless an operator sets another one, milliseconds."""


def superseded_reports(
    found: Mapping[str, tuple[int, RunnerProgress]], is_needed: Callable[[str], bool]
) -> set[str]:
    """Return the documents of which no report decides anything. Pure.

    For each of their streams another document has a report that counts before theirs, by epoch and then by time, and that lacks
    nothing which theirs has. All processes judge by the same values, and of two reports that are equal none is superseded. So whoever
    deletes, the report that counts most stays.

    Args:
        found: The time of the write by storage's clock, and the reports, by path.
        is_needed: Returns whether reports of a stream are needed, by the stream's key.
    """
    by_stream: dict[str, list[tuple[int, int, StreamProgress]]] = defaultdict(list)
    for modified_ms, progress in found.values():
        for key, one in progress.streams.items():
            by_stream[key].append((one.epoch or 0, modified_ms, one))
    return {
        path
        for path, (modified_ms, progress) in found.items()
        if all(
            not is_needed(key)
            or not _says_something(one)
            or any(
                (epoch, at_ms) > (one.epoch or 0, modified_ms) and _says_as_much(other, one)
                for epoch, at_ms, other in by_stream[key]
            )
            for key, one in progress.streams.items()
        )
    }


def _says_something(progress: StreamProgress) -> bool:
    """Return whether a report tells more than that a runner waits for the stream."""
    return bool(
        progress.epoch is not None
        or progress.offsets
        or progress.topic_offsets is not None
        or progress.dead_letters_by_reason
    )


def _says_as_much(progress: StreamProgress, than: StreamProgress) -> bool:
    """Return whether a report has the offsets and counts that an older one has."""
    counts = progress.dead_letters_by_reason
    return (
        (bool(progress.offsets) or not than.offsets)
        and (progress.topic_offsets is not None or than.topic_offsets is None)
        and all(counts.get(key, 0) >= count for key, count in than.dead_letters_by_reason.items())
    )
