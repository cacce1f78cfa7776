"""What a full compaction of one bucket does, decided from metadata alone.

Everything goes to the highest level. Files are taken section by section, in key order:

1. A section of several runs has to be merged, so it waits for a rewrite.
2. In a section of one run a small file waits for a rewrite too; a large one closes the rewrite that
   waits, and stays whole.
3. A rewrite of nothing but one run is none: its files stay whole.
4. A file that stays whole gets its new level in the metadata. If it has retracts, which the highest
   level must not keep, it is rewritten alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lake.format.data_file import DataFileMeta
from lake.format.data_types import DataField
from lake.lsm.sorted_run import Section, SortedRun, plan_sections
from lake.options import TableOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """Sections that are merged into new files together.

    Attributes:
        sections: At least one, key-disjoint, in key order.
    """

    sections: tuple[Section, ...]

    @property
    def files(self) -> tuple[DataFileMeta, ...]:
        """The files of all sections."""
        return tuple(
            file for section in self.sections for run in section.runs for file in run.files
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FullCompactionPlan:
    """What becomes of the files of one bucket; those it does not name stay as they are.

    Attributes:
        output_level: The highest level of the bucket, where everything ends.
        upgrades: Files that only change their level, in key order.
        rewrites: In key order. What they write lies between the upgrades, never across one.
    """

    output_level: int
    upgrades: tuple[DataFileMeta, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to do."""
        return not self.upgrades and not self.rewrites

    @property
    def files(self) -> tuple[DataFileMeta, ...]:
        """The files that are replaced."""
        rewritten = tuple(file for rewrite in self.rewrites for file in rewrite.files)
        return (*self.upgrades, *rewritten)


def plan_full_compaction(
    files: Sequence[DataFileMeta], key_fields: Sequence[DataField], options: TableOptions
) -> FullCompactionPlan:
    """Return what brings all files of a bucket to one sorted run on the highest level.

    Args:
        files: Live files of one partition and bucket, in any order.
        key_fields: Trimmed primary key, in order.
        options: Of the table: `num-levels`, `target-file-size`, `compaction.small-file-ratio` and
            `compaction.force-rewrite-all-files`.

    Source:
        merge-semantics 7.1, 7.4.
    """
    levels = [file.level for file in files]
    output_level = max(options.num_levels - 1, *levels) if levels else options.num_levels - 1
    if all(level == output_level for level in levels):
        return FullCompactionPlan(
            output_level=output_level, rewrites=tuple(_forced_rewrites(files, key_fields, options))
        )
    planner = _Planner(output_level, options)
    for section in plan_sections(files, key_fields):
        planner.take(section)
    return planner.finish()


def _forced_rewrites(
    files: Sequence[DataFileMeta], key_fields: Sequence[DataField], options: TableOptions
) -> Iterator[Rewrite]:
    """Yield a rewrite for each file of a bucket that is one run on the highest level already."""
    if not options.compaction_force_rewrite_all_files:
        return
    for section in plan_sections(files, key_fields):
        for run in section.runs:
            yield from map(_alone, run.files)


class _Planner:
    """Takes the sections of a bucket in key order; knows what waits for a rewrite."""

    def __init__(self, output_level: int, options: TableOptions) -> None:
        self._output_level = output_level
        self._small_bytes = options.target_file_size_bytes * options.compaction_small_file_ratio
        self._is_rewrite_forced = options.compaction_force_rewrite_all_files
        self._waiting: list[Section] = []
        self._upgrades: list[DataFileMeta] = []
        self._rewrites: list[Rewrite] = []

    def take(self, section: Section) -> None:
        if len(section.runs) > 1:
            self._waiting.append(section)
            return
        for file in section.runs[0].files:
            if file.file_size < self._small_bytes:
                self._waiting.append(Section(runs=(SortedRun(files=(file,)),)))
            else:
                self._close()
                self._keep_whole([file])

    def finish(self) -> FullCompactionPlan:
        self._close()
        return FullCompactionPlan(
            output_level=self._output_level,
            upgrades=tuple(self._upgrades),
            rewrites=tuple(self._rewrites),
        )

    def _close(self) -> None:
        waiting, self._waiting = tuple(self._waiting), []
        if len(waiting) == 1 and len(waiting[0].runs) == 1:
            self._keep_whole(waiting[0].runs[0].files)
        elif waiting:
            self._rewrites.append(Rewrite(sections=waiting))

    def _keep_whole(self, files: Iterable[DataFileMeta]) -> None:
        for file in files:
            # A count of None is that of a very old writer: there may be retracts.
            if file.delete_row_count != 0 or self._is_rewrite_forced:
                self._rewrites.append(_alone(file))
            elif file.level != self._output_level:
                self._upgrades.append(file)


def _alone(file: DataFileMeta) -> Rewrite:
    return Rewrite(sections=(Section(runs=(SortedRun(files=(file,)),)),))
