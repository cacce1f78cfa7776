"""Counts of a stream's dead letters by reason, over all of its queries.

The table counts dead letters, but not by reason; only runners' reports have that. A report is a few seconds
old when its runner dies, so these counts may fall short of the table's and never exceed them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from braid.schemas import RunnerProgress


def reported_counts(runners: Iterable[RunnerProgress], key: str) -> dict[str, int]:
    """Return the most that any runner has reported of a stream, by reason.

    Args:
        runners: All reports.
        key: `braid.registry.store.progress.stream_key` of the stream.
    """
    counts: Counter[str] = Counter()
    for runner in runners:
        if key in runner.streams:
            # Each count only grows, so the larger one is the later one.
            counts |= Counter(dict(runner.streams[key].dead_letters_by_reason))
    return dict(counts)


def counts_before(counts: Mapping[str, int], *, dead_lettered: int) -> dict[str, int]:
    """Return the counts that a query starts from.

    Args:
        counts: As reported.
        dead_lettered: The table's own number when the query started.

    Returns:
        `counts`; empty when they exceed the table's number: they are then of an earlier table of the
        same name.
    """
    return dict(counts) if sum(counts.values()) <= dead_lettered else {}
