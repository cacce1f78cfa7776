"""Merges of small files within level 0, instead of compactions that may rewrite much more.

A compaction rewrites level 1, and possibly higher levels, however few the new rows are. With many
small commits, that rewrites all rows again and again. So if a compaction is due
(`compaction_pick`), the newest files of level 0 may be merged into one file of level 0 instead, as
long as level 0 is smaller than a bound. The bound is the geometric mean of two sizes: the bytes of
level 0 that no such merge has written, and the bytes of higher levels that the compaction would
take. The latter count in full, although the compaction may keep large files whole.

1. Files are taken from the newest on, as long as the next file is no larger than all files before it together
   (`compaction.size-ratio` allows some percent more); then further files are taken, until at most one run more
   than `num-sorted-run.compaction-trigger` is left.
2. If rule 1 takes one file only, nothing is merged or compacted until there are more files. The same holds if all
   files of level 0 were written by merges, unless there are more runs than rule 1 leaves. This costs readers one
   additional run.
3. If level 0 has reached the bound, or is as large as a file that is not small, the compaction
   takes place as usual. An early full compaction is never replaced by a merge of level 0.

Bytes written per byte appended, if all commits have the same size and compaction runs once after each:

| commits | keys | compactions alone | with merges of level 0 |
|---|---|---|---|
| 200 | all new | 3.6 | 3.5 |
| 2,000 | all new | 16.9 | 7.1 |
| 10,000 | all new | 50.1 | 12.0 |
| 10,000 | as many as 200 commits hold | 7.6 | 5.7 |

Merging files of level 0 alone must not change what readers see:

- Under deduplicate it never does, since one record of a key wins whichever records are merged first.
- Elsewhere the table's merge must allow that adjacent records are merged first (`can_merge_adjacent`), and the
  records taken must be adjacent: adds only, newer than every compacted record, and with no record of a file left out
  between them.
- Tables that need lookup are excluded, because their level 0 holds the records that have not been merged with
  compacted rows; so are tables with `compaction.force-up-level-0`.
"""

from collections.abc import Sequence
from typing import Final

from braid.lake.format.data_file import DataFileMeta, FileSource
from braid.lake.format.data_types import TypeRoot
from braid.lake.lsm.compaction_pick import (
    CompactionUnit,
    Picked,
    PickState,
    pick_compaction,
    state_after_taking,
)
from braid.lake.lsm.levels import LevelRun, Levels
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.functions.registry import function_named
from braid.lake.merge.spec import MergeSpec
from braid.lake.options.table_options import MergeEngine, TableOptions

_ASSOCIATIVE: Final = frozenset(
    {"last_value", "last_non_null_value", "first_value", "first_non_null_value"}
)
"""Functions that depend on the order of records, but by which adjacent records can be merged first."""

_ASSOCIATIVE_IN_GROUPS: Final = frozenset({"last_value"})
"""Such functions in sequence groups, where a record may be older than the one before it."""

_ARITHMETIC: Final = frozenset({"sum", "product"})
"""Functions whose values round or overflow; in another order of merges they do so at other records.

Only a BIGINT `sum` is allowed: it does not round, and overflow is least likely in 64 bits.
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
    """Return what to compact next in a bucket: the pick of `pick_compaction`, or files of level 0 only.

    Args:
        levels: Levels of the bucket.
        spec: How the table's records merge.
        options: Options of the table.
        state: State from the last pick of the bucket, else `first_pick_state`.
        now_ms: Milliseconds since 1970 UTC.
        local_hour: 0 to 23, in the time zone of `compaction.offpeak.*.hour`.

    Returns:
        The unit of `pick_compaction`; or a unit of the newest files of level 0 with output level 0; or
        no unit.
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
    """Return how many of the newest files of level 0 to merge instead of compacting a unit.

    Args:
        levels: Levels of the bucket.
        unit: The unit that is due; it contains all of level 0.
        spec: How the table's records merge.
        options: Options of the table.

    Returns:
        A number from 1 on, where 1 means to wait; None when the unit has to be compacted.
    """
    new = [run for run in levels.runs if run.level == 0]
    size = sum(run.size for run in new)
    # `plan_compaction` keeps files above this size whole, so it would not merge them.
    small_bytes = options.target_file_size_bytes * options.compaction_small_file_ratio
    stays_apart = options.needs_lookup or options.compaction_force_up_level_0
    if stays_apart or not can_merge_adjacent(spec) or size >= small_bytes:
        return None
    appended = sum(run.size for run in new if run.files[0].file_source is not FileSource.COMPACT)
    besides = sum(run.size for run in unit.runs) - size
    too_many = len(levels.runs) - (options.num_sorted_run_compaction_trigger + 1)
    if not appended and too_many <= 0 < len(new):
        return 1
    # size >= sqrt(appended * besides): the bound of the module's head, in integers.
    if size * size >= appended * besides:
        return None
    assert new, "level 0 is below the bound, which is 0 without new files"
    count = max(_count_of_similar_size(new, options), too_many + 1)
    if not _is_order_free(spec):
        count = _count_with_overlapping(new, count)
    if count > len(new):
        return None
    is_apart = _is_order_free(spec) or _are_adjacent(new[:count], levels)
    return count if is_apart else None


def can_merge_adjacent(spec: MergeSpec) -> bool:
    """Return whether adjacent records may be merged first, and their result with the others later.

    Under deduplicate all records may. Under partial-update and aggregation adds may, if no sequence field
    orders the records differently, if no protected column is NOT NULL, and if the functions give the same
    result for a merged record as for the records it was merged from.

    Args:
        spec: Merge of a table that does not need lookup.
    """
    if _is_order_free(spec):
        return True
    if spec.engine is MergeEngine.FIRST_ROW or spec.sequence_fields:
        return False
    grouped = {name for group in spec.groups for name in group.protected}
    # Records with null in all ordering columns leave null in the protected columns, and the merged
    # file could not hold it in a NOT NULL column.
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
    """Return whether one record of a key wins as a whole, in whatever order records are merged."""
    return spec.engine is MergeEngine.DEDUPLICATE


def _count_of_similar_size(new: Sequence[LevelRun], options: TableOptions) -> int:
    """Return how many of the newest files to take by size ratio, at least 1."""
    count, size = 1, new[0].size
    while count < len(new) and new[count].size * 100 <= size * (
        100 + options.compaction_size_ratio
    ):
        size += new[count].size
        count += 1
    return count


def _count_with_overlapping(new: Sequence[LevelRun], count: int) -> int:
    """Return how many files to take so that no file left out has records between those of the files taken."""
    files: list[DataFileMeta] = [run.files[0] for run in new]
    while count < len(files):
        oldest = min(file.min_sequence_number for file in files[:count])
        if files[count].max_sequence_number < oldest:
            break
        count += 1
    return count


def _are_adjacent(taken: Sequence[LevelRun], levels: Levels) -> bool:
    """Return whether files hold adds only, all newer than every compacted record.

    A writer that began before a compaction may commit after it, with smaller sequence numbers.
    """
    files = [run.files[0] for run in taken]
    compacted = [file for run in levels.runs if run.level > 0 for file in run.files]
    newest = max((file.max_sequence_number for file in compacted), default=-1)
    return all(file.delete_row_count == 0 and file.min_sequence_number > newest for file in files)
