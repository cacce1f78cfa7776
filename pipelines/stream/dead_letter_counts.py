"""Counts of a stream's dead letters by reason, over all of its queries.

With each commit, the table counts dead letters by reason (`StreamLetters`). Earlier versions of Braid stored only the total in the
table; their counts by reason are in the reports of runners. For each reason the largest count of any report is taken. The sum of
these counts may be less than the table's total, because the last report of a runner that died is a few seconds old. If the sum
is greater, the reports belong to an earlier table or stream of the same name, and are ignored.
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
