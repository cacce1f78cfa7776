"""New files of level 0, merged among themselves: cheap where a compaction would rewrite much more.

A compaction takes level 1 along, and more, however little is new. Where commits are small and many,
that writes everything again and again. So before a compaction the newest files of level 0 may be
merged into one file of level 0 instead, as long as level 0 is small: below the geometric mean of what
was appended since the last such merge, and of what the compaction would rewrite besides. There a
merge of level 0, done until the compaction is worth it, has written as much as the compaction will.

1. Newest first, files are taken as long as the next one is no larger than those before it together;
   further ones, until at most one run more is left than `num-sorted-run.compaction-trigger`.
2. One file alone waits for more, and so does level 0 when nothing was appended since it was merged:
   that run more is what this costs readers.
3. A level 0 that has outgrown the bound, or small files, is compacted as it always was.

Bytes written per byte appended, commits of one size, one compaction between commits:

| commits | keys | compactions alone | with merges of level 0 |
|---|---|---|---|
| 200 | all new | 3.6 | 3.5 |
| 2,000 | all new | 16.9 | 7.1 |
| 10,000 | all new | 50.1 | 12.0 |
| 10,000 | as many as 200 commits hold | 7.6 | 5.7 |

Merging files of level 0 alone must not show. It does not where a merge of some neighbours in the order
of records, put in their position, gives what all records give: see `can_merge_adjacent`. Tables that need
lookup are never merged like that: there level 0 is what has not met the compacted rows yet; nor are
those that ask for `compaction.force-up-level-0`.
"""

from collections.abc import Sequence
from typing import Final

from lake.format.data_file import DataFileMeta, FileSource
from lake.format.data_types import TypeRoot
from lake.lsm.compaction_pick import (
    CompactionUnit,
    Picked,
    PickState,
    pick_compaction,
    state_after_taking,
)
from lake.lsm.levels import LevelRun, Levels
from lake.merge.column_function import ColumnFunction
from lake.merge.functions.registry import function_named
from lake.merge.spec import MergeSpec
from lake.options import MergeEngine, TableOptions

_ASSOCIATIVE: Final = frozenset(
    {"last_value", "last_non_null_value", "first_value", "first_non_null_value"}
)
"""Of functions that mind the order, those that neighbours can be merged by beforehand."""

_ASSOCIATIVE_IN_GROUPS: Final = frozenset({"last_value"})
"""The same where a late record may be older than the one before it."""

_ARITHMETIC: Final = frozenset({"sum", "product"})
"""Functions whose values round or overflow, at other records when they merge in another order.

A sum of 64 bits that overflows is an error whichever way it is reached, and the least likely.
"""


def pick_merge_or_compaction(
    levels: Levels,
    spec: MergeSpec,
    options: TableOptions,
    state: PickState,
    *,
    now_ms: int,
    local_hour: int,
) -> Picked:
    """Return what to compact next in a bucket: what `pick_compaction` says, or of level 0 only.

    Args:
        levels: Of the bucket.
        spec: How the table's records merge.
        options: Of the table.
        state: From the last pick of the bucket, else `first_pick_state`.
        now_ms: Milliseconds since 1970.
        local_hour: 0 to 23, in the zone that `compaction.offpeak.*.hour` are meant in.

    Returns:
        A unit as `pick_compaction` gives it, or one of the newest files of level 0 that goes to
        level 0; or none.
    """
    picked = pick_compaction(levels, options, state, now_ms=now_ms, local_hour=local_hour)
    if picked.unit is None or picked.is_early:
        return picked
    count = count_level_0_merge(levels, picked.unit, spec, options)
    if count is None:
        return picked
    if count == 1:
        return Picked(unit=None, state=state)
    unit = CompactionUnit(output_level=0, runs=levels.runs[:count])
    return Picked(unit=unit, state=state_after_taking(state, unit))


def count_level_0_merge(
    levels: Levels, unit: CompactionUnit, spec: MergeSpec, options: TableOptions
) -> int | None:
    """Return how many of the newest files of level 0 to merge rather than compact a unit.

    Args:
        levels: Of the bucket.
        unit: That is due; it holds all of level 0.
        spec: How the table's records merge.
        options: Of the table.

    Returns:
        From 1 on, where 1 means to wait; None when the unit is the better, or the only choice.
    """
    new = [run for run in levels.runs if run.level == 0]
    size = sum(run.size for run in new)
    # Larger files would not be merged by a plan, which leaves large ones whole.
    small_bytes = options.target_file_size_bytes * options.compaction_small_file_ratio
    stays_apart = options.needs_lookup or options.compaction_force_up_level_0
    if stays_apart or not can_merge_adjacent(spec) or size >= small_bytes:
        return None
    appended = sum(run.size for run in new if run.files[0].file_source is not FileSource.COMPACT)
    besides = sum(run.size for run in unit.runs) - size
    too_many = len(levels.runs) - (options.num_sorted_run_compaction_trigger + 1)
    if not appended and too_many <= 0 < len(new):
        return 1
    if size * size >= appended * besides:
        return None
    count = max(_count_of_similar_size(new, options), too_many + 1)
    if not _is_order_free(spec):
        count = _count_with_overlapping(new, count)
    if count > len(new):
        return None
    is_apart = _is_order_free(spec) or _are_adjacent(new[:count], levels)
    return count if is_apart else None


def can_merge_adjacent(spec: MergeSpec) -> bool:
    """Return whether records that follow one another may be merged before they meet the others.

    Of deduplicate any may. Of partial-update and aggregation adds may, where no field orders records
    across neighbours, and functions do not tell a merged record from the ones it was merged from.

    Args:
        spec: Of a table that does not need lookup.
    """
    if _is_order_free(spec):
        return True
    if spec.engine is MergeEngine.FIRST_ROW or spec.sequence_fields:
        return False
    grouped = {name for group in spec.groups for name in group.protected}
    # Records without a version of the group leave null behind, which the merged file cannot hold.
    if grouped & spec.not_null_columns:
        return False
    return all(
        _is_associative(function, is_grouped=function.column in grouped)
        for function in spec.functions
    )


def _is_associative(function: ColumnFunction, *, is_grouped: bool) -> bool:
    known = function_named(function.name)
    if known is None:
        return False
    if known.name in _ARITHMETIC:
        is_bigint = function.type is not None and function.type.root is TypeRoot.BIGINT
        return known.name == "sum" and is_bigint
    allowed = _ASSOCIATIVE_IN_GROUPS if is_grouped else _ASSOCIATIVE
    return known.order_free or known.name in allowed


def _is_order_free(spec: MergeSpec) -> bool:
    """Return whether one record of a key wins as a whole, whatever it is merged with first."""
    return spec.engine is MergeEngine.DEDUPLICATE


def _count_of_similar_size(new: Sequence[LevelRun], options: TableOptions) -> int:
    """Return how many of the newest files to take by their sizes, at least 1."""
    count, size = 1, new[0].size
    while count < len(new) and new[count].size * 100 <= size * (
        100 + options.compaction_size_ratio
    ):
        size += new[count].size
        count += 1
    return count


def _count_with_overlapping(new: Sequence[LevelRun], count: int) -> int:
    """Return how many files to take so that none left out has records between theirs."""
    files: list[DataFileMeta] = [run.files[0] for run in new]
    while count < len(files):
        oldest = min(file.min_sequence_number for file in files[:count])
        if files[count].max_sequence_number < oldest:
            break
        count += 1
    return count


def _are_adjacent(taken: Sequence[LevelRun], levels: Levels) -> bool:
    """Return whether files hold adds only, all of them behind what is compacted already.

    A writer that has begun before a compaction may commit behind it, with smaller numbers.
    """
    files = [run.files[0] for run in taken]
    compacted = [file for run in levels.runs if run.level > 0 for file in run.files]
    newest = max((file.max_sequence_number for file in compacted), default=-1)
    return all(file.delete_row_count == 0 and file.min_sequence_number > newest for file in files)
