"""Measurement of the times of lookups in one table."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.lookup.tables import KeyKind
from braid.lake import Table
from braid.lake.format.snapshot import Snapshot
from braid.lake.table.lookup.snapshot_lookup import SnapshotLookup

SINGLES = 3_000
BATCHES = 400
BATCH_KEYS = (100, 1_000, 10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one table gave.

    Attributes:
        cold_s: First lookup of a key, in files that have no copy.
        cold_mb: Size of the largest file.
        load_s: Until all files have copies, the first lookup included.
        single_us: Median and 99th percentile of one key, for present and for absent ones.
        newest_us: The same, of present ones, through `Table.lookup`, which reads what the newest snapshot is.
        keys_per_s: Of batches by their size, for present and for absent keys.
        disk_mb: What is kept on disk for it.
    """

    cold_s: float
    cold_mb: float
    load_s: float
    single_us: dict[str, tuple[float, float]]
    newest_us: tuple[float, float]
    keys_per_s: dict[int, dict[str, float]]
    disk_mb: float


def measure(table: Table, kind: KeyKind, *, rows: int) -> Measured:
    """Return the times of a table of `write_table`."""
    random = np.random.default_rng(1)
    lookup = table.lookup_at()
    largest = max(entry.file.file_size for entry in table.live_files(_snapshot(lookup)))
    started = time.perf_counter()
    lookup.rows(kind.keys(np.array([2 * (rows // 2)])))
    cold_s = time.perf_counter() - started
    started = time.perf_counter()
    lookup.load()
    load_s = cold_s + time.perf_counter() - started

    def keys(count: int, odd: int) -> pa.Table:
        return kind.keys(2 * random.integers(0, rows, count) + odd)

    sides = {"present": 0, "absent": 1}
    single_us: dict[str, tuple[float, float]] = {}
    keys_per_s: dict[int, dict[str, float]] = {size: {} for size in BATCH_KEYS}
    for side, odd in sides.items():
        ones = [keys(1, odd) for _ in range(SINGLES)]
        single_us[side] = _microseconds(lambda one: len(lookup.rows(one)), ones)
        for size in BATCH_KEYS:
            batches = [keys(size, odd) for _ in range(max(20, BATCHES * 100 // size))]
            expected = size * (1 - odd)
            for batch in batches[:3]:
                assert len(lookup.rows(batch)) == expected
            median, _ = _microseconds(lambda many: len(lookup.rows(many)), batches)
            keys_per_s[size][side] = size / median * 1e6
    newest_us = _microseconds(lambda one: len(table.lookup(one)), [keys(1, 0) for _ in range(500)])
    return Measured(
        cold_s=cold_s,
        cold_mb=largest / 1e6,
        load_s=load_s,
        single_us=single_us,
        newest_us=newest_us,
        keys_per_s=keys_per_s,
        disk_mb=lookup.cache.disk_bytes / 1e6,
    )


Spread = tuple[float, float, float]
"""Median, 99th percentile and longest time, in microseconds."""


def disturbed_us(
    warm: SnapshotLookup, kind: KeyKind, cold: Callable[[], object], *, rows: int
) -> tuple[Spread, Spread]:
    """Return the times of lookups before another file is copied, and while it is."""
    random = np.random.default_rng(2)
    ones = [kind.keys(2 * random.integers(0, rows, 1)) for _ in range(SINGLES)]

    def measured(until: Callable[[int], bool]) -> Spread:
        times: list[float] = []
        while not until(len(times)):
            one = ones[len(times) % SINGLES]
            started = time.perf_counter()
            warm.rows(one)
            times.append(time.perf_counter() - started)
        median, high = np.percentile(times, [50, 99]) * 1e6
        return float(median), float(high), max(times) * 1e6

    before = measured(lambda count: count >= SINGLES)
    thread = threading.Thread(target=cold)
    thread.start()
    meanwhile = measured(lambda count: count > 0 and not thread.is_alive())
    thread.join()
    return before, meanwhile


def _microseconds(
    work: Callable[[pa.Table], object], arguments: Sequence[pa.Table]
) -> tuple[float, float]:
    """Return median and 99th percentile of the times of a call."""
    times = []
    for argument in arguments:
        started = time.perf_counter()
        work(argument)
        times.append(time.perf_counter() - started)
    median, high = np.percentile(times, [50, 99]) * 1e6
    return float(median), float(high)


def _snapshot(lookup: SnapshotLookup) -> Snapshot:
    assert lookup.snapshot is not None
    return lookup.snapshot
