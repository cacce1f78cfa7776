"""Measurement of the duration of micro-batches, by the number of keys in the table.

The engine fills and compacts each table. Then the streams write new versions of random rows. The tables take turns, so
a disturbance of the machine affects all of them; the first round only warms up. Compactions run at the same time, as in
a deployment.
"""

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.figure import figure
from benchmarks.ingest.bed import IngestBed
from benchmarks.ingest.commit_log import batch_seconds, read_commits
from benchmarks.ingest.shape import KEY, STREAMS, value_columns, version_column
from benchmarks.ingest.sizes import AIM_GROWTH_TIMES, Sizes
from braid.lake import Table

_ROWS_OF_A_COMMIT = 500_000
# Spark rounds the bound of a micro-batch for each partition.
_FULL = 0.9


def run(sizes: Sizes) -> Iterator[dict[str, Any]]:
    """Yield the figures of the growth.

    Args:
        sizes: `growth_keys`, `growth_batch`, `growth_batches`, `rounds` and `trigger_ms` are used.
    """
    with (
        tempfile.TemporaryDirectory(prefix="braid-bench-") as folder,
        IngestBed(Path(folder)) as bed,
    ):
        bed.start_broker()
        bed.start_service()
        names = {keys: f"wide_{keys}" for keys in sizes.growth_keys}
        # The rows in the table are version 1 of every key.
        topics = {keys: bed.create_topics(name, first=keys) for keys, name in names.items()}
        tables = {
            keys: bed.register(
                name,
                topics[keys],
                trigger_ms=sizes.trigger_ms,
                max_records_per_batch=sizes.growth_batch,
            )
            for keys, name in names.items()
        }
        for keys, table in tables.items():
            fill_table(table, keys)
        bed.start_runner()
        for name in names.values():
            bed.command(name, "pause", state="PAUSED")
        seconds: dict[int, list[float]] = {keys: [] for keys in names}
        # The first round is not counted: the table whose turn comes first would meet a JVM that is cold.
        for number in range(sizes.rounds + 1):
            # The first commit of a round is not measured: it has the restart of its query in it.
            count = sizes.growth_batch * (sizes.growth_batches + 1)
            for keys in names:
                bed.fill(topics[keys], keys=keys, count=count)
            for keys, name in names.items():
                newest = tables[keys].latest_snapshot()
                assert newest is not None, "the table was filled"
                bed.command(name, "resume", state="RUNNING")
                bed.wait_records(tables[keys], (number + 1) * count)
                bed.command(name, "pause", state="PAUSED")
                if not number:
                    continue
                commits = read_commits(tables[keys], after=newest.id)
                seconds[keys] += batch_seconds(commits, records_min=int(_FULL * sizes.growth_batch))
    yield from growth_figures(seconds, batch=sizes.growth_batch)


def growth_figures(seconds: dict[int, list[float]], *, batch: int) -> Iterator[dict[str, Any]]:
    """Yield the median of each table's micro-batches, and its ratio to the smallest table's.

    Args:
        seconds: Durations by number of keys, ascending; at least one each.
        batch: Records of a micro-batch.
    """
    medians = {keys: statistics.median(those) for keys, those in seconds.items()}
    smallest = next(iter(medians))
    for keys, median in medians.items():
        name = f"growth: {keys:,} keys"
        what = f"{name}, micro-batch of {batch:,} records, median of {len(seconds[keys])}"
        yield figure(what, median, "s")
        if keys != smallest:
            times = median / medians[smallest]
            yield figure(f"{name} over {smallest:,} keys", times, "times", AIM_GROWTH_TIMES)


def fill_table(table: Table, keys: int) -> None:
    """Write version 1 of all columns of each key, and compact the table fully."""
    for first in range(0, keys, _ROWS_OF_A_COMMIT):
        table.write_and_commit(rows(first, min(keys, first + _ROWS_OF_A_COMMIT)))
    table.compact(full=True)


def rows(first: int, end: int) -> pa.Table:
    """Return version 1 of the rows of some keys: shape end - first x 28, no nulls."""
    keys = np.arange(first, end)
    columns: dict[str, Any] = {KEY: keys}
    for stream in STREAMS:
        text = pc.binary_join_element_wise(
            f"{stream} of", pc.cast(pa.array(keys), pa.string()), " "
        )
        note = pc.binary_join_element_wise("note", pc.cast(pa.array(keys), pa.string()), " ")
        days = pa.array((keys % 365 + 20_454).astype(np.int32)).cast(pa.date32())
        values = (
            (keys % 1_000).astype(np.int32),
            keys * 0.25,
            text,
            keys % 2 == 0,
            days,
            keys,
            note,
            (keys % 7).astype(np.int32),
        )
        columns[version_column(stream)] = np.ones(len(keys), dtype=np.int32)
        columns |= dict(zip(value_columns(stream), values, strict=True))
    return pa.table(columns)
