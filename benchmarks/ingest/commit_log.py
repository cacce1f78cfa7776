"""Commit log of the benchmark's table: the commits of each stream with their times, and the figures that follow from them.

The time of a commit is that of its snapshot, from which on readers see it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from braid.lake import InvalidRequest, Table
from braid.lake.commit.streams.stream_position import batch_of

Milliseconds = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One committed micro-batch.

    Attributes:
        stream: The stream's name.
        time_ms: Time of the snapshot, milliseconds since 1970 UTC.
        records: Records that the batch accounts for.
        end: Next offset by partition.
        snapshot_id: Id of the snapshot; 0: the table has no snapshots of ours.
    """

    stream: str
    time_ms: int
    records: int
    end: Mapping[int, int]
    snapshot_id: int = 0


def read_commits(table: Table, *, after: int = 0) -> list[Commit]:
    """Return the micro-batches of a table, oldest first.

    Args:
        table: The table.
        after: Id of the snapshot after which they were committed.
    """
    newest = table.latest_snapshot()
    found: list[Commit] = []
    for snapshot_id in range(newest.id if newest else 0, after, -1):
        try:
            snapshot = table.snapshot(snapshot_id)
        except InvalidRequest:  # expired, as are all before it
            break
        batch = batch_of(snapshot)
        if batch is not None:
            found.append(
                Commit(
                    stream=batch.stream,
                    time_ms=snapshot.time_millis,
                    records=batch.account.records,
                    end=batch.end,
                    snapshot_id=snapshot_id,
                )
            )
    return found[::-1]


def steady_rate(commits: Sequence[Commit]) -> float | None:
    """Return records per second from the time at which every stream has committed once to the last commit.

    The records of a batch are spread evenly over the time since the commit before of the same stream, so that
    a batch which was under way at the beginning counts in part.

    Returns:
        None where no stream has committed again after that time.
    """
    by_stream = _by_stream(commits)
    if not by_stream:
        return None
    begin = max(those[0].time_ms for those in by_stream.values())
    end = max(those[-1].time_ms for those in by_stream.values())
    if end <= begin:
        return None
    records = 0.0
    for those in by_stream.values():
        for before, commit in pairwise(those):
            length = max(1, commit.time_ms - before.time_ms)
            inside = max(0, commit.time_ms - max(begin, before.time_ms))
            records += commit.records * min(1.0, inside / length)
    return records / (end - begin) * 1_000


def batch_seconds(commits: Sequence[Commit], *, records_min: int) -> list[float]:
    """Return the durations of full micro-batches of streams that always have records: commit to commit.

    Args:
        commits: Of a time in which the streams were not paused.
        records_min: Smaller batches are left out: they are the rest of a topic.
    """
    return [
        (commit.time_ms - before.time_ms) / 1_000
        for those in _by_stream(commits).values()
        for before, commit in pairwise(those)
        if commit.records >= records_min
    ]


def waits_ms(
    produced: Mapping[int, Milliseconds], commits: Iterable[Commit], *, first: Mapping[int, int]
) -> Milliseconds:
    """Return the time from the sending of each record to the snapshot that has it, milliseconds.

    Args:
        produced: Times at which the records of a partition were sent, in the order of their offsets.
        commits: Micro-batches of the stream, oldest first.
        first: Offset of the first of these records, by partition.

    Raises:
        ValueError: A record is in no commit.
    """
    those = list(commits)
    times = np.array([commit.time_ms for commit in those], dtype=np.int64)
    waits = [np.empty(0, dtype=np.int64)]
    for partition, sent in produced.items():
        ends = np.array([commit.end.get(partition, 0) for commit in those], dtype=np.int64)
        offsets = first[partition] + np.arange(len(sent), dtype=np.int64)
        holder = np.searchsorted(ends, offsets, side="right")
        missing = int(np.count_nonzero(holder == len(those)))
        if missing:
            message = f"partition {partition}: {missing} of {len(sent)} records are in no commit"
            raise ValueError(message)
        waits.append(times[holder] - sent)
    return np.concatenate(waits)


def percentile(values: npt.ArrayLike, share: float) -> float:
    """Return the smallest value that at least a share of the values do not exceed.

    Args:
        values: At least one, in any order.
        share: From 0 to 1.

    Example:
        >>> percentile([5, 1, 4, 2, 3], 0.5), percentile(range(100), 0.95)
        (3.0, 94.0)
    """
    return float(np.quantile(np.asarray(values), share, method="inverted_cdf"))


def _by_stream(commits: Iterable[Commit]) -> dict[str, list[Commit]]:
    found: dict[str, list[Commit]] = {}
    for commit in commits:
        found.setdefault(commit.stream, []).append(commit)
    return found
