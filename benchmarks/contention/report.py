"""Figures of a race."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from benchmarks.contention.bed import Load
from benchmarks.contention.race import BEFORE, Race
from benchmarks.contention.writing import CommitNote, WriterNotes
from benchmarks.figure import figure
from braid.lake.format.snapshot import CommitKind

ATTEMPTS_AIM: Final = 5
COMPACTION_MS_AIM: Final = 200


def race_figures(race: Race, load: Load) -> list[dict[str, Any]]:
    """Return the figures of a race; aims are those of writers with pauses between their commits."""
    notes = [note for writer in race.writers for note in writer.commits]
    is_paced = load.interval_s > 0
    attempts = [note.attempts for note in notes]
    took_ms = [note.took_ms for note in notes]
    lost = Counter(race.kinds[number].value for note in notes for number in note.lost_to)
    return [
        figure("commits", len(notes), "", load.writers * load.commits),
        figure("commits per second", len(notes) / race.duration_s, "1/s"),
        figure("attempts, mean", float(np.mean(attempts)), ""),
        *(figure(f"attempts, p{share}", _percentile(attempts, share), "") for share in (50, 99)),
        figure(
            "attempts, p99.9",
            _percentile(attempts, 99.9),
            "",
            ATTEMPTS_AIM if is_paced else None,
        ),
        figure("attempts, most", max(attempts), ""),
        *(
            figure(f"commit, p{share}", _percentile(took_ms, share), "ms")
            for share in (50, 99, 99.9)
        ),
        figure("commit, longest", max(took_ms), "ms"),
        *(figure(f"races lost to {kind}", count, "") for kind, count in sorted(lost.items())),
        figure(
            "longest time that a commit lost to a compaction",
            max(compaction_waits_ms(notes, race.kinds), default=0.0),
            "ms",
            COMPACTION_MS_AIM if is_paced else None,
        ),
        figure("compactions committed", race.compacted, ""),
        figure("buckets whose compaction was dropped", race.dropped, ""),
        figure(
            "commits of the slowest writer when half of all are made",
            slowest_share(race.writers),
            "%",
        ),
        figure(
            "processor time of a commit and its files",
            1_000 * _processor_s(race) / len(notes),
            "ms",
        ),
        figure("peak memory of a writer", max(one.peak_bytes for one in race.writers) / 1e6, "MB"),
        figure("snapshots that are missing", missing_snapshots(race), "", 0),
        figure("values that differ from those written", race.different, "", 0),
    ]


def compaction_waits_ms(notes: Iterable[CommitNote], kinds: dict[int, CommitKind]) -> list[float]:
    """Return of each commit that lost to compactions how long those attempts took, waits included, milliseconds."""
    waits = []
    for note in notes:
        lost = zip(note.lost_to, note.lost_ms, strict=False)
        took_ms = sum(ms for number, ms in lost if kinds[number] is CommitKind.COMPACT)
        if took_ms:
            waits.append(took_ms)
    return waits


def slowest_share(writers: Sequence[WriterNotes]) -> float:
    """Return what the slowest writer has made when all have made half of their commits, in percent of its commits.

    50 is fair, and 0 means that a writer did not get a turn.
    """
    ids = sorted(note.snapshot_id for writer in writers for note in writer.commits)
    half = ids[len(ids) // 2]
    shares = [
        sum(note.snapshot_id < half for note in writer.commits) / len(writer.commits)
        for writer in writers
    ]
    return 100 * min(shares)


def missing_snapshots(race: Race) -> int:
    """Return how many commits have no snapshot of their own, plus the ids that no snapshot has had."""
    ids = [note.snapshot_id for writer in race.writers for note in writer.commits]
    shared = len(ids) - len(set(ids))
    compactions = sum(kind is CommitKind.COMPACT for kind in race.kinds.values())
    # Each writer has claimed its stream by a snapshot.
    expected = len(ids) + len(race.writers) + compactions + BEFORE
    unseen = len(set(ids) - race.kinds.keys())
    return (
        shared + unseen + abs(expected - len(race.kinds)) + abs(max(race.kinds) - len(race.kinds))
    )


def _percentile(values: Sequence[float], share: float) -> float:
    return float(np.percentile(values, share, method="higher"))


def _processor_s(race: Race) -> float:
    return sum(writer.processor_s for writer in race.writers)
