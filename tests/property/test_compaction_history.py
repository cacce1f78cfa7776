"""Whatever is appended and picked, a bucket stays what readers and later picks take it for."""

from collections.abc import Callable
from itertools import pairwise
from typing import TypeAlias

import pytest
from hypothesis import given, settings, strategies as st

from braid.lake.lsm.compaction_pick import Picked, PickState, pick_compaction
from braid.lake.lsm.compaction_plan import CompactionPlan
from braid.lake.lsm.level_0_merge import pick_merge_or_compaction
from braid.lake.lsm.levels import LevelRun, Levels
from braid.lake.merge.spec import MergeSpec
from braid.lake.options.table_options import MergeEngine, TableOptions
from tests.support.compaction_history import Bucket, bounds

Append: TypeAlias = tuple[int, int, int, int]
"""Bytes, smallest key, number of keys, retracts."""

SETTINGS = settings(max_examples=60, deadline=None)
TABLES = {
    "plain": {},
    "changelog of full compactions": {"changelog-producer": "full-compaction"},
    "lookup": {"force-lookup": "true"},
    "gentle lookup": {"deletion-vectors.enabled": "true", "lookup-compact": "gentle"},
    "all of level 0": {"compaction.force-up-level-0": "true"},
}
APPENDS = st.lists(
    st.lists(
        st.tuples(
            st.one_of(st.integers(1, 20), st.integers(100, 2_000)),
            st.integers(0, 100),
            st.integers(1, 60),
            st.integers(0, 1),
        ),
        max_size=4,
    ),
    max_size=12,
)
OPTIONS = st.fixed_dictionaries(
    {
        "num-sorted-run.compaction-trigger": st.sampled_from(["1", "2", "5"]),
        "target-file-size": st.sampled_from(["10 b", "1000 b", "128 mb"]),
        "compaction.max-size-amplification-percent": st.sampled_from(["25", "200"]),
        "compaction.size-ratio": st.sampled_from(["0", "1", "50"]),
    },
    optional={
        "num-levels": st.sampled_from(["2", "3", "9"]),
        "compaction.optimization-interval": st.sampled_from(["1 ms", "7 ms"]),
        "compaction.total-size-threshold": st.just("100 b"),
        "compaction.incremental-size-threshold": st.just("500 b"),
    },
)


@pytest.mark.parametrize("table", TABLES)
@SETTINGS
@given(declared=OPTIONS, appends=APPENDS, hour=st.integers(0, 23))
def test_compactions_keep_levels_and_order(
    table: str, declared: dict[str, str], appends: list[list[Append]], hour: int
) -> None:
    options = TableOptions.parse({**declared, **TABLES[table]})

    def pick(levels: Levels, state: PickState, now_ms: int) -> Picked:
        return pick_compaction(levels, options, state, now_ms=now_ms, local_hour=hour)

    for bucket, before, plan in histories(options, pick, appends):
        if plan is None:
            assert len(before.runs) <= options.num_sorted_run_compaction_trigger
        else:
            assert plan.output_level > 0
            assert not any(run.level == 0 for run in bucket.levels.runs)
            assert len(bucket.levels.runs) <= len(before.runs)
            assert_retracts_are_dropped_at_the_bottom_only(plan, before, options)
        assert_ordered(bucket)


@pytest.mark.parametrize("engine", [MergeEngine.DEDUPLICATE, MergeEngine.PARTIAL_UPDATE])
@SETTINGS
@given(declared=OPTIONS, appends=APPENDS)
def test_merges_of_level_0_keep_levels_and_order(
    engine: MergeEngine, declared: dict[str, str], appends: list[list[Append]]
) -> None:
    options = TableOptions.parse(declared)
    spec = MergeSpec(engine=engine, key_columns=("id",))

    def pick(levels: Levels, state: PickState, now_ms: int) -> Picked:
        return pick_merge_or_compaction(levels, spec, options, state, now_ms=now_ms, local_hour=12)

    for bucket, before, plan in histories(options, pick, appends):
        runs = bucket.levels.runs
        if plan is None or plan.output_level == 0:
            assert len(runs) <= options.num_sorted_run_compaction_trigger + 1
        if plan is not None and plan.output_level == 0:
            assert not plan.drops_retracts
            assert not plan.upgrades
            assert all(file.level == 0 for file in plan.files)
            assert len(runs) == len(before.runs) - len(plan.files) + 1
        assert_ordered(bucket)


def histories(
    options: TableOptions,
    pick: Callable[[Levels, PickState, int], Picked],
    appends: list[list[Append]],
) -> list[tuple[Bucket, Levels, CompactionPlan | None]]:
    """Return the bucket after every compaction that was asked for, and what it was before."""
    found = []
    bucket = Bucket(options=options, pick=pick)
    for files in appends:
        for size, low, length, retracts in files:
            bucket.append(size, low=low, high=low + length, retracts=retracts)
        before = bucket.levels
        plan = bucket.compact()
        found.append((bucket.copy(), before, plan))
    return found


def assert_ordered(bucket: Bucket) -> None:
    """Check that levels are key-disjoint, and that each run is newer than those behind it."""
    for run in bucket.levels.runs:
        keys = sorted(bounds(file) for file in run.files)
        assert all(high < low for (_, high), (low, _) in pairwise(keys))
    for newer, older in pairwise(bucket.levels.runs):
        assert numbers(newer)[0] > numbers(older)[1]


def assert_retracts_are_dropped_at_the_bottom_only(
    plan: CompactionPlan, before: Levels, options: TableOptions
) -> None:
    is_bottom = plan.output_level >= before.highest_level
    assert plan.drops_retracts == (is_bottom or options.deletion_vectors_enabled)


def numbers(run: LevelRun) -> tuple[int, int]:
    """Return the smallest and the largest sequence number of a run."""
    return (
        min(file.min_sequence_number for file in run.files),
        max(file.max_sequence_number for file in run.files),
    )
