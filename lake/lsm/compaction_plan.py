"""Compaction plans: which files of a unit are rewritten and which only change their level, by metadata.

Files are planned section by section, in key order:

1. A section of several runs has to be merged, so it is added to the pending rewrite.
2. In a section of one run a small file is added to the pending rewrite too; a large one ends the pending
   rewrite and stays whole.
3. A pending rewrite of a single small file is dropped: the file stays whole.
4. A file that stays whole gets its new level in the metadata, unless a rule of the table (see
   `_UpgradeRules`) or expired rows in the file require a rewrite.

Retracts and expired rows are dropped unless they may hide an older record on a level above the output level. They
hide none if no higher level has files, or if deletion vectors mark the older records. A compaction within level 0
drops none. In a table with `braid.delete-retention` the young retracts stay (`tombstones`).

The unit of a full compaction is made here too (`full_compaction_unit`). If the bucket is one run on the highest
level already, the unit has only the files with rows to drop, or all with `compaction.force-rewrite-all-files`, and
each is rewritten by itself.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.data_types import DataField
from braid.lake.lsm.compaction_pick import CompactionUnit
from braid.lake.lsm.levels import LevelRun, Levels
from braid.lake.lsm.sorted_run import Section, SortedRun, plan_sections
from braid.lake.options.table_options import ChangelogProducer, MergeEngine, TableOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """A file that only changes its level.

    Attributes:
        file: The file before the change.
        scans: The file's records are still read: for a changelog, or to mark the older records of its
            keys in deletion vectors.
    """

    file: DataFileMeta
    scans: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """Sections that are merged into new files together.

    Attributes:
        sections: At least one section; the sections are key-disjoint and in key order.
    """

    sections: tuple[Section, ...]

    @property
    def files(self) -> tuple[DataFileMeta, ...]:
        """The files of all sections."""
        return tuple(
            file for section in self.sections for run in section.runs for file in run.files
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPlan:
    """The plan for the files of one unit; files that it does not name stay unchanged.

    Attributes:
        output_level: Level of the files that are written or moved.
        drops_retracts: Rewritten files have no expired rows, and no retracts but the young ones of a table
            with `braid.delete-retention`.
        upgrades: The upgrades, in key order.
        rewrites: The rewrites, in key order. No upgraded file lies within the key range of a rewrite.
    """

    output_level: int
    drops_retracts: bool
    upgrades: tuple[Upgrade, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Return whether no file changes."""
        return not self.upgrades and not self.rewrites

    @property
    def files(self) -> tuple[DataFileMeta, ...]:
        """The files that are replaced, moved ones first."""
        moved = tuple(upgrade.file for upgrade in self.upgrades)
        rewritten = tuple(file for rewrite in self.rewrites for file in rewrite.files)
        return (*moved, *rewritten)


def full_compaction_unit(
    levels: Levels, options: TableOptions, *, marked: frozenset[str] = frozenset()
) -> CompactionUnit | None:
    """Return the unit that makes a bucket one sorted run on the highest level; None if nothing is to do.

    If the bucket is one such run already, the unit has the files with rows to drop, or all files with
    `compaction.force-rewrite-all-files`, and each is rewritten by itself.

    Args:
        levels: Levels of the bucket.
        options: Options of the table: `compaction.force-rewrite-all-files`.
        marked: Names of files of the bucket with rows that a rewrite drops: deletion vectors mark
            these rows, or the rows are retracts past their retention, or expired.

    Source:
        merge-semantics 7.4.
    """
    if not levels.runs:
        return None
    if any(run.level != levels.max_level for run in levels.runs):
        return CompactionUnit(output_level=levels.max_level, runs=levels.runs)
    if options.compaction_force_rewrite_all_files:
        marked = frozenset(file.file_name for file in levels.files)
    return _rewrite_unit(levels, marked)


def _rewrite_unit(levels: Levels, names: frozenset[str]) -> CompactionUnit | None:
    """Return the unit that rewrites the named files of the highest level one by one; None without any."""
    files = tuple(
        file for file in levels.files if file.level == levels.max_level and file.file_name in names
    )
    if not files:
        return None
    run = LevelRun(level=levels.max_level, files=files)
    return CompactionUnit(output_level=levels.max_level, runs=(run,), rewrites_each=True)


def plan_compaction(
    unit: CompactionUnit,
    levels: Levels,
    key_fields: Iterable[DataField],
    options: TableOptions,
    *,
    expired: Collection[str] = frozenset(),
) -> CompactionPlan:
    """Return which files of a unit are merged into new ones, and which only change their level.

    A file with a deletion vector may change its level: the vector refers to the file by name.

    Args:
        unit: The unit to plan.
        levels: Levels of the bucket that the unit was picked from.
        key_fields: Trimmed primary key, in order.
        options: Options of the table: `target-file-size`, `compaction.small-file-ratio`,
            `compaction.force-rewrite-all-files`, and the options of its merge.
        expired: Names of files that may have expired rows. They are rewritten where the plan removes
            expired rows.

    Source:
        merge-semantics 6.2, 6.4, 7.4.
    """
    files = [file for run in unit.runs for file in run.files]
    planner = _Planner(unit, levels, options, expired)
    for section in plan_sections(files, tuple(key_fields)):
        planner.take(section)
    return planner.finish()


def drops_retracts(output_level: int, levels: Levels, options: TableOptions) -> bool:
    """Return whether files written to a level need no retracts.

    Args:
        output_level: Output level of the unit.
        levels: Levels of the bucket before the compaction.
        options: Options of the table.
    """
    assert 0 <= output_level <= levels.max_level, output_level
    # A retract hides older records, which lie on higher levels only.
    is_bottom = output_level >= levels.highest_level
    return output_level != 0 and (is_bottom or options.deletion_vectors_enabled)


class _Planner:
    """Plans the sections of a unit in key order; holds the pending rewrite."""

    def __init__(
        self, unit: CompactionUnit, levels: Levels, options: TableOptions, expired: Collection[str]
    ) -> None:
        self._unit = unit
        self._drops_retracts = drops_retracts(unit.output_level, levels, options)
        # Where an older record of its key may be left, an expired row has to stay: it hides that record.
        self._expired = frozenset(expired if self._drops_retracts else ())
        self._rules = _UpgradeRules(unit.output_level, levels.max_level, options)
        self._small_bytes = options.target_file_size_bytes * options.compaction_small_file_ratio
        self._pending: list[Section] = []
        self._upgrades: list[Upgrade] = []
        self._rewrites: list[Rewrite] = []

    def take(self, section: Section) -> None:
        if self._unit.rewrites_each:
            self._rewrites.extend(_alone(file) for run in section.runs for file in run.files)
        elif len(section.runs) > 1:
            self._pending.append(section)
        else:
            self._take_run(section.runs[0])

    def finish(self) -> CompactionPlan:
        self._end_rewrite()
        return CompactionPlan(
            output_level=self._unit.output_level,
            drops_retracts=self._drops_retracts,
            upgrades=tuple(self._upgrades),
            rewrites=tuple(self._rewrites),
        )

    def _take_run(self, run: SortedRun) -> None:
        for file in run.files:
            if file.file_size < self._small_bytes:
                self._pending.append(Section(runs=(SortedRun(files=(file,)),)))
            else:
                # The pending rewrite ends here even if small files follow: a rewrite across this file
                # would overlap it.
                self._end_rewrite()
                self._keep_whole(file)

    def _end_rewrite(self) -> None:
        """End the pending rewrite."""
        pending, self._pending = tuple(self._pending), []
        if len(pending) == 1 and len(pending[0].runs) == 1:
            for file in pending[0].runs[0].files:
                self._keep_whole(file)
        elif pending:
            self._rewrites.append(Rewrite(sections=pending))

    def _keep_whole(self, file: DataFileMeta) -> None:
        if self._rules.rewrites(file) or file.file_name in self._expired:
            self._rewrites.append(_alone(file))
        elif file.level != self._unit.output_level:
            self._upgrades.append(Upgrade(file=file, scans=self._rules.scans(file)))


@dataclass(frozen=True, slots=True)
class _UpgradeRules:
    """Rules of a table for a file that could stay whole.

    A file of level 0 in a table that needs lookup holds records that have not been merged with the
    compacted rows of their keys. If the output level is the highest one, there are no such rows. Otherwise
    a record replaces the compacted row as a whole if the table deduplicates by sequence number alone; every
    other merge needs both the record and the row, so the file is rewritten. The file is also rewritten where
    its new level has another file format; files of higher levels keep their format.

    Source:
        merge-semantics 6.3.
    """

    output_level: int
    max_level: int
    options: TableOptions

    def rewrites(self, file: DataFileMeta) -> bool:
        """Return whether the file is rewritten alone."""
        # Very old writers leave the count None: there may be retracts.
        may_hold_retracts = file.delete_row_count != 0
        if self.options.compaction_force_rewrite_all_files:
            return True
        if self.output_level == self.max_level and may_hold_retracts:
            return True  # retracts are dropped here, which takes a rewrite
        if not self._meets_by_lookup(file):
            return False
        formats = [self.options.data_file_format(at) for at in (file.level, self.output_level)]
        if formats[0] != formats[1]:
            return True
        if self.options.deletion_vectors_enabled and may_hold_retracts:
            # Readers of such a table do not check compacted files for retracts.
            return True
        return self.output_level != self.max_level and not self._is_latest_final()

    def scans(self, file: DataFileMeta) -> bool:
        """Return whether the records of a file that only changes its level are read."""
        if self.options.changelog_producer is ChangelogProducer.FULL_COMPACTION:
            return self.output_level == self.max_level
        if not self._meets_by_lookup(file):
            return False
        if self.options.changelog_producer is ChangelogProducer.LOOKUP:
            return True
        # On the highest level no older record is left to be marked.
        return self.options.deletion_vectors_enabled and self.output_level != self.max_level

    def _meets_by_lookup(self, file: DataFileMeta) -> bool:
        is_full_only = self.options.changelog_producer is ChangelogProducer.FULL_COMPACTION
        is_new = file.level == 0 and self.output_level != 0
        return is_new and self.options.needs_lookup and not is_full_only

    def _is_latest_final(self) -> bool:
        options = self.options
        return options.merge_engine is MergeEngine.DEDUPLICATE and not options.sequence_field


def _alone(file: DataFileMeta) -> Rewrite:
    return Rewrite(sections=(Section(runs=(SortedRun(files=(file,)),)),))
