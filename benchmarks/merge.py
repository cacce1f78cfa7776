"""Benchmark of the column machine in memory: four overlapping runs of a million rows, ten value columns.

Rates are input rows per second of processor time on one core, so that other load on the machine
matters little. `fold` gets all rows at once; `merge_runs` gets batches of 65 536 rows, as in a
read.

| case | the runs |
|---|---|
| plain | a fifth of the values are null, no sequence groups |
| full | no nulls |
| groups | every row takes part in four groups, in random order |
| streams | each run is of one stream, which has its own group and null in the columns of the others |
| composite | `plain` and `streams` with a key of four ints and two short texts instead of one BIGINT |

All cases are merged by partial-update, and `plain` also by deduplicate.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.figure import best_s
from braid.lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND
from braid.lake.lsm.merge_runs import merge_runs
from braid.lake.lsm.round_merge import PlainMerge
from braid.lake.merge.fold import fold
from braid.lake.merge.spec import MergeSpec, SequenceGroup
from braid.lake.options.table_options import MergeEngine

RUNS = 4
ROWS = 1_000_000
KEYS = 2_000_000
COLUMNS = 10
BATCH_ROWS = 65_536
AIM = 2_500_000
REPEATS = 3

_BIGINT = ("k",)
_COMPOSITE = ("year", "month", "day", "flight", "carrier", "origin")
_GROUPS = tuple(
    SequenceGroup(
        ordering=(f"g{group}",),
        protected=tuple(f"v{column}" for column in range(group, COLUMNS, RUNS)),
    )
    for group in range(RUNS)
)


def run() -> list[dict[str, Any]]:
    """Return the rates of merging from memory.

    Returns:
        Dicts of name, value, unit and aim (None: measured, not aimed at).
    """
    threads = pa.cpu_count()
    pa.set_cpu_count(1)
    try:
        return [figure for case in _cases() for figure in _figures(*case)]
    finally:
        pa.set_cpu_count(threads)


_Case = tuple[str, MergeSpec, Callable[[], list[pa.Table]], int | None]


def _cases() -> list[_Case]:
    def partial(keys: tuple[str, ...], groups: tuple[SequenceGroup, ...] = ()) -> MergeSpec:
        return MergeSpec(engine=MergeEngine.PARTIAL_UPDATE, key_columns=keys, groups=groups)

    def runs(**shape: Any) -> Callable[[], list[pa.Table]]:
        return lambda: [_run(number, **shape) for number in range(RUNS)]

    deduplicate = MergeSpec(engine=MergeEngine.DEDUPLICATE, key_columns=_BIGINT)
    plain, grouped = partial(_BIGINT), partial(_BIGINT, _GROUPS)
    return [
        ("partial-update, plain", plain, runs(null_share=0.2), AIM),
        ("partial-update, full", plain, runs(), None),
        ("partial-update, groups", grouped, runs(null_share=0.2, grouped=True), AIM),
        ("partial-update, streams", grouped, runs(grouped=True, streams=True), AIM),
        (
            "partial-update, composite",
            partial(_COMPOSITE),
            runs(null_share=0.2, composite=True),
            AIM // 2,
        ),
        (
            "partial-update, composite streams",
            partial(_COMPOSITE, _GROUPS),
            runs(grouped=True, streams=True, composite=True),
            AIM // 2,
        ),
        ("deduplicate", deduplicate, runs(null_share=0.2), None),
    ]


def _figures(
    name: str, spec: MergeSpec, make_runs: Callable[[], list[pa.Table]], aim: int | None
) -> list[dict[str, Any]]:
    runs = make_runs()
    whole = pa.concat_tables(runs)

    def folded() -> None:
        fold(whole, spec)

    def streamed() -> None:
        batches = [iter(table.to_batches(max_chunksize=BATCH_ROWS)) for table in runs]
        for _ in merge_runs(batches, PlainMerge(spec=spec), batch_rows=BATCH_ROWS):
            pass

    return [
        {
            "name": f"{name}: {what}",
            "value": whole.num_rows / best_s(work, repeats=REPEATS, clock=time.process_time),
            "unit": "rows/s",
            "aim": aim,
        }
        for what, work in (("fold", folded), ("merge_runs", streamed))
    ]


def _run(
    number: int,
    *,
    null_share: float = 0.0,
    grouped: bool = False,
    streams: bool = False,
    composite: bool = False,
) -> pa.Table:
    random = np.random.default_rng(number)
    keys = np.sort(random.choice(KEYS, ROWS, replace=False))
    columns: dict[str, pa.Array] = {
        SEQUENCE_NUMBER: pa.array(np.arange(ROWS) + number * ROWS),
        VALUE_KIND: pa.array(np.zeros(ROWS, dtype=np.int8)),
        **(_composite_key(keys) if composite else {"k": pa.array(keys)}),
    }
    for index in range(COLUMNS):
        kind = (pa.int64(), pa.float64(), pa.string())[index % 3]
        is_own = not streams or index % RUNS == number
        columns[f"v{index}"] = _values(random, kind, null_share) if is_own else _nulls(kind)
    for group in range(RUNS if grouped else 0):
        is_own = not streams or group == number
        columns[f"g{group}"] = _values(random, pa.int64(), 0) if is_own else _nulls(pa.int64())
    return pa.table(columns)


def _composite_key(keys: np.ndarray[Any, np.dtype[np.int64]]) -> Mapping[str, pa.Array]:
    """Return the keys as six columns that order as they do."""
    ints = {
        "year": np.full(len(keys), 2013),
        "month": keys // 200_000 + 1,
        "day": keys // 10_000 % 20 + 1,
        "flight": keys % 10_000 // 32,
    }
    return {
        **{name: pa.array(values, pa.int32()) for name, values in ints.items()},
        "carrier": _chosen(
            ["9E", "AA", "AS", "B6", "DL", "F9", "UA", "WN"], keys % 10_000 // 4 % 8
        ),
        "origin": _chosen(["BOS", "EWR", "JFK", "LGA"], keys % 4),
    }


def _chosen(words: Sequence[str], index: np.ndarray[Any, np.dtype[np.int64]]) -> pa.Array:
    return pa.array(words).take(pa.array(index))


def _values(random: np.random.Generator, kind: pa.DataType, null_share: float) -> pa.Array:
    nulls = random.random(ROWS) < null_share if null_share else None
    if kind == pa.string():
        words = pa.array([f"word{number:05d}" for number in range(1000)])
        return words.take(pa.array(random.integers(0, len(words), ROWS), mask=nulls))
    return pa.array(random.integers(0, 1 << 40, ROWS), mask=nulls).cast(kind)


def _nulls(kind: pa.DataType) -> pa.Array:
    return pa.nulls(ROWS, kind)
