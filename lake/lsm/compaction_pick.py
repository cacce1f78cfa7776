"""Compaction picks: which sorted runs of a bucket universal compaction takes next, by metadata alone.

The runs that one compaction takes are a *unit*. The units of this module have the newest run, and possibly
runs after it. (`level_0_merge` also makes units of the newest files of level 0, whose output stays on level 0.
`compaction_plan` also makes units of a whole bucket, or of single files of the highest level.) The first of these
rules that applies decides how many runs a unit has:

| rule | when | takes |
|---|---|---|
| early full compaction | enough commits were made, an interval has passed, the bucket is small, or the levels below the highest are large; each condition applies only if its option is set (with `changelog-producer` = `full-compaction`, the number of commits is 1 by default) | all runs |
| size amplification | all runs but the oldest are together large compared with the oldest | all runs |
| size ratio | the newest run, plus `compaction.size-ratio` percent (1 by default, more in off-peak hours), is at least as large as the next one | the newest run, then each next one, as long as the same holds for all runs before it together |
| run count | there are more runs than the trigger | enough runs to leave as many as the trigger, then more by size ratio |
| level 0 has to go up | the table needs lookup (under `lookup-compact` = `gentle` only at every `lookup-compact.max-interval`-th such pick), or else has `compaction.force-up-level-0` | all of level 0, then more by size ratio |

The middle three rules require at least as many runs as the trigger. The output level of a unit is one below
the level of the first run left out, or the highest level when no run is left out. The output level of a unit of this
module is never level 0, so the unit takes levels 0 and 1 whole, whatever their sizes.

Versions of Paimon differ in when levels 0 and 1 are taken. Paimon 2.0.0 compares sizes first, stops
at the first run that is too large, and at the end adds the rest of level 0, and the level after it.
Here, as in later versions, levels 0 and 1 are taken at once, so that their sizes count against the
next level. Otherwise level 1 of a table that needs lookup would absorb every small commit and grow
without bounds, because such a table never has enough runs for another rule. Readers see the same
rows.

Commits are counted by the files that they added to level 0 of the bucket, because files do not record
which of them were committed together. So a commit of several files can make a full compaction come earlier, but
never later. Files that other units have taken from level 0 since the last full compaction are
remembered; an unknown number counts as enough.

Source: merge-semantics 6.2, 7.2, 7.3, 10.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from braid.lake.format.data_file import FileSource
from braid.lake.lsm.levels import LevelRun, Levels
from braid.lake.options.table_options import ChangelogProducer, LookupCompaction, TableOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionUnit:
    """Runs to compact together.

    Attributes:
        output_level: Level of the files that replace the runs.
        runs: At least one run, newest first. Every run of the levels up to the output level is included,
            unless `rewrites_each` or the files are merged within level 0 (see `level_0_merge`).
        rewrites_each: Each file is rewritten by itself; otherwise files are merged and moved by the
            rules of `plan_compaction`.
    """

    output_level: int
    runs: tuple[LevelRun, ...]
    rewrites_each: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PickState:
    """The memory of one bucket from one pick to the next.

    Attributes:
        last_full_ms: When all runs were last picked, milliseconds since 1970; None if unknown.
        misses: Number of picks that could have forced level 0 up but did not, since the last that did.
        commits: Number of committed files that picks have taken from level 0 since all runs were last
            picked; None if unknown.
    """

    last_full_ms: int | None = None
    misses: int = 0
    commits: int | None = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Picked:
    """The outcome of a pick.

    Attributes:
        unit: The unit to compact; None when no rule applies.
        state: State for the next pick of the bucket.
        is_early: The unit is an early full compaction, which must not be deferred.
    """

    unit: CompactionUnit | None
    state: PickState
    is_early: bool = False


def first_pick_state(levels: Levels, *, utc_ms_of: Callable[[int], int]) -> PickState:
    """Return the state for the first pick of a bucket.

    The newest file on the highest level gives the time of the last full compaction.

    Args:
        levels: Levels of the bucket.
        utc_ms_of: From the local time stored in files, in milliseconds as if it were UTC, to
            milliseconds since 1970 UTC.
    """
    on_top = (run for run in levels.runs if run.level == levels.max_level)
    times = [file.creation_time_ms for run in on_top for file in run.files]
    known = [time for time in times if time is not None]
    return PickState(
        last_full_ms=utc_ms_of(max(known)) if known else None,
        commits=None if _has_intermediate(_below_top(levels)) else 0,
    )


def pick_compaction(
    levels: Levels, options: TableOptions, state: PickState, *, now_ms: int, local_hour: int
) -> Picked:
    """Return what to compact next in a bucket.

    Args:
        levels: Levels of the bucket.
        options: Options of the table.
        state: State from the last pick of the bucket, else `first_pick_state`.
        now_ms: Milliseconds since 1970 UTC.
        local_hour: 0 to 23, in the time zone of `compaction.offpeak.*.hour`.

    Returns:
        A unit of the newest runs that contains all of level 0, or no unit if no rule applies.
    """
    assert 0 <= local_hour <= 23, local_hour
    picker = _Picker(levels, options, local_hour)
    early = picker.early_full(state, now_ms)
    count = early or picker.universal()
    if not count and _forces_up_level_0(options):
        state = replace(state, misses=_misses_after(options, state.misses))
        count = 0 if state.misses else picker.level_0()
    if not count:
        return Picked(unit=None, state=state)
    unit = _unit(levels, count)
    if len(unit.runs) == len(levels.runs):
        state = replace(state, last_full_ms=now_ms, commits=0)
    else:
        state = state_after_taking(state, unit)
    return Picked(unit=unit, state=state, is_early=bool(early))


def state_after_taking(state: PickState, unit: CompactionUnit) -> PickState:
    """Return the state after the pick of a unit that does not have all runs of the bucket."""
    return replace(state, commits=(state.commits or 0) + _appended(unit.runs))


def is_off_peak(options: TableOptions, local_hour: int) -> bool:
    """Return whether an hour is off-peak, when `compaction.offpeak-ratio` adds to the size ratio.

    Args:
        options: Options of the table: off-peak hours are from `compaction.offpeak.start.hour` until before
            `compaction.offpeak.end.hour`, across midnight if the end is smaller than the start.
        local_hour: 0 to 23.
    """
    start, end = options.compaction_offpeak_start_hour, options.compaction_offpeak_end_hour
    if start == -1 or end == -1 or start == end:
        return False
    if start < end:
        return start <= local_hour < end
    return local_hour >= start or local_hour < end


class _Picker:
    """The rules; each returns the number of newest runs to take, 0 if the rule does not apply."""

    def __init__(self, levels: Levels, options: TableOptions, local_hour: int) -> None:
        self._runs = levels.runs
        self._sizes = [run.size for run in levels.runs]
        self._max_level = levels.max_level
        self._below_top = _below_top(levels)
        self._options = options
        self._trigger = options.num_sorted_run_compaction_trigger
        off_peak = options.compaction_offpeak_ratio if is_off_peak(options, local_hour) else 0
        self._percent = 100 + options.compaction_size_ratio + off_peak

    def early_full(self, state: PickState, now_ms: int) -> int:
        is_due = self._are_commits_due(state) or (
            len(self._runs) > 1
            and (
                self._is_interval_over(state, now_ms)
                or self._is_small()
                or self._is_increment_large()
            )
        )
        return len(self._runs) if is_due else 0

    def universal(self) -> int:
        count = len(self._runs)
        if count >= self._trigger:
            taken = self._size_amplification() or self._extend(1)
            if taken:
                return taken
        if count > self._trigger:
            # n runs become one, so n = count - trigger + 1 leaves as many runs as the trigger.
            return self._extend(count - self._trigger + 1, is_forced=True)
        return 0

    def level_0(self) -> int:
        count = sum(run.level == 0 for run in self._runs)
        return self._extend(count, is_forced=True) if count else 0

    def _are_commits_due(self, state: PickState) -> bool:
        enough = _commits_per_full(self._options)
        if enough is None or not self._below_top:
            return False
        if state.commits is None:
            return True  # unknown counts as enough
        # Another process may have compacted files of level 0: an intermediate level then stands for
        # at least one commit.
        taken = max(state.commits, _has_intermediate(self._below_top))
        return taken + _appended(self._below_top) >= enough

    def _is_interval_over(self, state: PickState, now_ms: int) -> bool:
        interval = self._options.compaction_optimization_interval_ms
        if interval is None:
            return False
        return state.last_full_ms is None or now_ms - state.last_full_ms > interval

    def _is_small(self) -> bool:
        threshold = self._options.compaction_total_size_threshold_bytes
        return threshold is not None and sum(self._sizes) < threshold

    def _is_increment_large(self) -> bool:
        threshold = self._options.compaction_incremental_size_threshold_bytes
        if threshold is None:
            return False
        return sum(run.size for run in self._below_top) > threshold

    def _size_amplification(self) -> int:
        # The oldest run has about the size of the live rows; the newer runs are the additional space.
        *newer, oldest = self._sizes or [0]
        percent = self._options.compaction_max_size_amplification_percent
        return len(self._runs) if 100 * sum(newer) > percent * oldest else 0

    def _extend(self, count: int, *, is_forced: bool = False) -> int:
        """Return how many of the newest runs to take by size ratio: at least `count`, or 0.

        Args:
            count: Number of the newest runs that are taken first, at least 1.
            is_forced: These runs are taken even if no other run is added. That is always so for two or
                more.
        """
        assert count > 0, "an extension begins with a run"
        is_triggered = is_forced or count > 1
        size = sum(self._sizes[:count])
        for run, next_size in zip(self._runs[count:], self._sizes[count:], strict=True):
            is_too_large = size * self._percent < next_size * 100
            # The output must not be level 0, so levels 0 and 1 are taken whole, even if too large.
            if is_too_large and not (is_triggered and run.level <= 1):
                break
            size += next_size
            count += 1
            is_triggered = True
        return count if is_triggered else 0


def _unit(levels: Levels, count: int) -> CompactionUnit:
    """Return the unit of the newest `count` runs."""
    runs = levels.runs
    output_level = levels.max_level if count == len(runs) else runs[count].level - 1
    assert output_level > 0, "a unit takes levels 0 and 1 whole"
    return CompactionUnit(output_level=output_level, runs=runs[:count])


def _commits_per_full(options: TableOptions) -> int | None:
    """Return the number of commits per full compaction; None when commits do not count.

    A table whose changelog comes from full compactions has no changelog without them, so there the number
    is 1 unless another one is declared.
    """
    needs_full = options.changelog_producer is ChangelogProducer.FULL_COMPACTION
    declared = options.full_compaction_delta_commits
    if declared is None or declared < 0:
        return 1 if needs_full else None
    return max(declared, 1)


def _below_top(levels: Levels) -> tuple[LevelRun, ...]:
    return tuple(run for run in levels.runs if run.level != levels.max_level)


def _appended(runs: Iterable[LevelRun]) -> int:
    """Return how many runs are files of commits, not of compactions."""
    return sum(_is_appended(run) for run in runs)


def _has_intermediate(runs: Iterable[LevelRun]) -> bool:
    """Return whether a run below the highest level comes from a compaction."""
    return not all(map(_is_appended, runs))


def _is_appended(run: LevelRun) -> bool:
    return run.level == 0 and run.files[0].file_source is not FileSource.COMPACT


def _forces_up_level_0(options: TableOptions) -> bool:
    return options.needs_lookup or options.compaction_force_up_level_0


def _misses_after(options: TableOptions, misses: int) -> int:
    """Return the count of misses after another one; 0 when level 0 is to be compacted now."""
    is_gentle = options.needs_lookup and options.lookup_compact is LookupCompaction.GENTLE
    interval = options.lookup_compact_max_interval if is_gentle else 1
    return (misses + 1) % interval
