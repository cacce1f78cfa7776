"""Measurement of a stream beside another one that works off a backlog, on one runner.

The waits of the records of a calm stream, from producing to commit, are measured twice: alone, and while the other stream
reads as many records as it can. Both are measured with a runner whose streams may occupy all of its task slots, and
with one whose streams may occupy half of them.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from benchmarks.figure import figure
from benchmarks.ingest.bed import TIMEOUT_S, IngestBed, filled_bed
from benchmarks.ingest.commit_log import Milliseconds, percentile, read_commits, waits_ms
from benchmarks.ingest.shape import PARTITIONS
from benchmarks.ingest.sizes import Sizes
from braid.demo.processes import ProcessFailed
from braid.lake import Table, positions_of

_CALM: Final = "a"
_BUSY: Final = "b"
_WARM_UP: Final = 5_000
_RATE: Final = 200
_MAX_SHARES: Final = (1.0, 0.5)
_SHARES: Final = {"median": 0.5, "95 %": 0.95, "longest": 1.0}


def run(sizes: Sizes) -> Iterator[dict[str, Any]]:
    """Yield the figures of the isolation of streams.

    Args:
        sizes: `records` of the backlog, `keys`, `batch_records`, `trigger_ms` and `seconds` are used.
    """
    for max_share in _MAX_SHARES:
        yield from _figures(sizes, max_share=max_share)


def _figures(sizes: Sizes, *, max_share: float) -> Iterator[dict[str, Any]]:
    with filled_bed(sizes, count=_WARM_UP) as (bed, topics, table):
        bed.start_runner("--max-share", str(max_share))
        bed.wait_records(table, _WARM_UP)
        alone = _waits(bed, table, sizes, topics[_CALM], first=_WARM_UP)
        bed.pause(_BUSY)
        bed.fill({_BUSY: topics[_BUSY]}, keys=sizes.keys, count=sizes.records)
        bed.resume(_BUSY)
        beside = _waits(bed, table, sizes, topics[_CALM], first=_WARM_UP + _RATE * sizes.seconds)
        read = _records(table, _BUSY) - _WARM_UP
        workers = bed.watch.usage()["driver: Python workers"]
    name = f"isolation: share {max_share}"
    yield figure(f"{name}, read by the other stream meanwhile", read, "records")
    for what, share in _SHARES.items():
        waits = percentile(alone, share), percentile(beside, share)
        yield figure(f"{name}, produced → committed alone, {what}", waits[0], "ms")
        yield figure(f"{name}, beside a backlog, {what}", waits[1], "ms")
        yield figure(f"{name}, beside over alone, {what}", waits[1] / waits[0], "times")
    yield figure(f"{name}, all Python workers, peak", workers.sum_bytes / 1e6, "MB")


def _waits(bed: IngestBed, table: Table, sizes: Sizes, topic: str, *, first: int) -> Milliseconds:
    """Return the waits of records that are produced now, without those of the first fifth of the time."""
    snapshot = table.latest_snapshot()
    assert snapshot is not None, "the streams have committed"
    offsets = positions_of(snapshot)[_CALM].offsets
    sent = _produce(bed, sizes, topic, first=first)
    total = first + sum(map(len, sent.values()))
    bed.wait_until(lambda: _records(table, _CALM) >= total)
    commits = [each for each in read_commits(table, after=snapshot.id) if each.stream == _CALM]
    parts = {part: sent[f"{_CALM}/{part}"] for part in range(PARTITIONS)}
    waits = waits_ms(parts, commits, first=offsets)
    times = np.concatenate([parts[part] for part in range(PARTITIONS)])
    begin, end = int(times.min()), int(times.max())
    return waits[times >= begin + 0.2 * (end - begin)]


def _records(table: Table, stream: str) -> int:
    """Return how many records of a stream are committed."""
    snapshot = table.latest_snapshot()
    assert snapshot is not None, "the streams have committed"
    return positions_of(snapshot)[stream].account.records


def _produce(bed: IngestBed, sizes: Sizes, topic: str, *, first: int) -> Mapping[str, Milliseconds]:
    out = bed.work_dir / f"sent-{first}.npz"
    child = bed.supervisor.start_module(
        f"producing-{first}", "benchmarks.ingest.producing", bed.broker.bootstrap_servers,
        str(_RATE), str(sizes.seconds), str(sizes.keys), str(first), str(out), f"{_CALM}={topic}",
    )  # fmt: skip
    if child.wait(timeout_s=sizes.seconds + TIMEOUT_S):
        raise ProcessFailed(child, what=f"ended with {child.return_code}")
    with np.load(out) as arrays:
        return {name: arrays[name] for name in arrays.files}
