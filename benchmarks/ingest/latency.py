"""Measurement of the time from producing a record to its commit, and to the first answer of the service that has it, at a steady rate.

The wait of a record ends with the first snapshot whose offsets are above the record's offset, or when this snapshot is served. The first
fifth of the time is not counted, because the JVM still compiles code.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.figure import figure
from benchmarks.ingest.bed import TIMEOUT_S, IngestBed, filled_bed
from benchmarks.ingest.commit_log import (
    Commit,
    Milliseconds,
    percentile,
    read_commits,
    waits_ms,
)
from benchmarks.ingest.served_log import ServedLog
from benchmarks.ingest.shape import PARTITIONS, STREAMS
from benchmarks.ingest.sizes import AIM_P95_MS, AIM_SERVED_P95_MS, Sizes
from braid.demo.processes import ProcessFailed
from braid.lake import Table, positions_of

_UNCOUNTED = 0.2
_SHARES = {"median": 0.5, "95 %": 0.95, "99 %": 0.99}


def run(sizes: Sizes) -> Iterator[dict[str, Any]]:
    """Yield the figures of the latency.

    Args:
        sizes: `rate`, `seconds`, `keys`, `batch_records` and `trigger_ms` are used.
    """
    # Before anything is measured, every stream has committed a batch of this many records.
    warm_up = max(1, sizes.rate)
    with filled_bed(sizes, count=warm_up) as (bed, topics, table):
        bed.start_runner()
        bed.wait_records(table, warm_up)
        first = _offsets(table)
        with ServedLog(bed.row_address("wide", 0)) as served:
            sent = _produce(bed, sizes, topics, first=warm_up)
            produced = sum(map(len, sent.values()))
            bed.wait_records(table, warm_up + produced // len(STREAMS))
            commits = read_commits(table)
            served.wait_for(commits[-1].snapshot_id)
    answers = [replace(each, time_ms=served.time_ms(each.snapshot_id)) for each in commits]
    times = np.concatenate([sent[f"{stream}/{part}"] for stream, part in _parts()])
    rate = len(times) / max(1, int(times.max() - times.min())) * 1_000
    yield figure(f"{_name(sizes)}, sent", rate, "records/s")
    for end, seen, aim_ms in (
        ("committed", commits, AIM_P95_MS),
        ("served", answers, AIM_SERVED_P95_MS),
    ):
        yield from latency_figures(_waits(seen, sent, first), times, sizes, end=end, aim_ms=aim_ms)


def _waits(
    commits: Sequence[Commit],
    sent: Mapping[str, Milliseconds],
    first: Mapping[str, Mapping[int, int]],
) -> Milliseconds:
    """Return the wait of each record, stream by stream."""
    return np.concatenate(
        [
            waits_ms(
                {part: sent[f"{stream}/{part}"] for part in range(PARTITIONS)},
                [commit for commit in commits if commit.stream == stream],
                first=first[stream],
            )
            for stream in STREAMS
        ]
    )


def latency_figures(
    waits: Milliseconds, times: Milliseconds, sizes: Sizes, *, end: str, aim_ms: int
) -> list[dict[str, Any]]:
    """Return the figures of records' waits.

    Args:
        waits: Of each record, milliseconds.
        times: When it was sent, milliseconds.
        sizes: The rate and the trigger that were asked for.
        end: What ends a wait.
        aim_ms: Upper bound of the 95th percentile.
    """
    first, last = int(times.min()), int(times.max())
    counted = waits[times >= first + _UNCOUNTED * (last - first)]
    name = f"{_name(sizes)}, produced → {end}"
    return [
        *(
            figure(
                f"{name}, {what}",
                percentile(counted, share),
                "ms",
                aim_ms if what == "95 %" else None,
            )
            for what, share in _SHARES.items()
        ),
        figure(f"{name}, longest", float(counted.max()), "ms"),
    ]


def _name(sizes: Sizes) -> str:
    return f"latency: {sizes.rate:,} records/s, trigger {sizes.trigger_ms} ms"


def _parts() -> list[tuple[str, int]]:
    return [(stream, part) for stream in STREAMS for part in range(PARTITIONS)]


def _offsets(table: Table) -> dict[str, Mapping[int, int]]:
    """Return the next offset of each partition, by stream."""
    snapshot = table.latest_snapshot()
    assert snapshot is not None, "the streams have committed"
    return {stream: position.offsets for stream, position in positions_of(snapshot).items()}


def _produce(
    bed: IngestBed, sizes: Sizes, topics: Mapping[str, str], *, first: int
) -> dict[str, Milliseconds]:
    out = bed.work_dir / "sent.npz"
    child = bed.supervisor.start_module(
        "producing", "benchmarks.ingest.producing", bed.broker.bootstrap_servers,
        str(sizes.rate), str(sizes.seconds), str(sizes.keys), str(first), str(out),
        *(f"{stream}={topic}" for stream, topic in topics.items()),
    )  # fmt: skip
    if child.wait(timeout_s=sizes.seconds + TIMEOUT_S):
        raise ProcessFailed(child, what=f"ended with {child.return_code}")
    with np.load(out) as arrays:
        return {name: arrays[name] for name in arrays.files}
