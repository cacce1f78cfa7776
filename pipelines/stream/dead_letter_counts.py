"""Dead letters of a stream by reason, over all of its queries.

The table counts dead letters, but not by reason; that only runners' reports tell. A report is a
few seconds old when its runner dies, so these counts may fall short of the table's, never exceed
them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from schemas import RunnerProgress


def reported_counts(runners: Iterable[RunnerProgress], key: str) -> dict[str, int]:
    """Return the most that any runner has reported of a stream, by reason.

    Args:
        runners: All that is reported.
        key: `registry.store.progress.stream_key` of the stream.
    """
    counts: Counter[str] = Counter()
    for runner in runners:
        if key in runner.streams:
            # Each count only grows, so the larger one is the later one.
            counts |= Counter(dict(runner.streams[key].dead_letters_by_reason))
    return dict(counts)


def counts_before(counts: Mapping[str, int], *, dead_lettered: int) -> dict[str, int]:
    """Return the counts that a query goes on from.

    Args:
        counts: As reported.
        dead_lettered: The table's own number when the query started.

    Returns:
        `counts`; nothing when they exceed the table's number: they are then of another table that
        had the same name.
    """
    return dict(counts) if sum(counts.values()) <= dead_lettered else {}
