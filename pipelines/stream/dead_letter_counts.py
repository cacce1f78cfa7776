"""Counts of a stream's dead letters by reason, over all of its queries.

The table counts dead letters by reason, with each commit (`StreamLetters`). Those that versions before had counted
are only in runners' reports by reason. A report is a few seconds old when its runner dies, so the sum over the reasons,
each with the largest count of any report, may be below the table's count. Where it is greater, the reports are taken
for those of an earlier table or stream of the same name, and none is counted.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from braid.schemas import RunnerProgress


def reported_counts(runners: Iterable[RunnerProgress], key: str) -> dict[str, int]:
    """Return the largest counts that any runner has reported of a stream, by reason.

    Args:
        runners: All reports.
        key: `braid.registry.store.progress.stream_key` of the stream.
    """
    counts: Counter[str] = Counter()
    for runner in runners:
        if key in runner.streams:
            # Each count only grows, so the larger of two is the later one.
            counts |= Counter(dict(runner.streams[key].dead_letters_by_reason))
    return dict(counts)


def counts_before(counts: Mapping[str, int], *, dead_lettered: int) -> dict[str, int]:
    """Return the counts that a query starts from.

    Args:
        counts: The reported counts.
        dead_lettered: The table's own number when the query started.

    Returns:
        `counts`; empty when their sum exceeds the table's number, because they then belong to an earlier
        table or stream of the same name.
    """
    return dict(counts) if sum(counts.values()) <= dead_lettered else {}
