"""Buckets that only picking and planning know: appends and compactions of files without rows."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from braid.lake.format.binary_row import decode_rows
from braid.lake.format.data_file import DataFileMeta, FileSource
from braid.lake.lsm.compaction_pick import Picked, PickState, first_pick_state
from braid.lake.lsm.compaction_plan import CompactionPlan, plan_compaction
from braid.lake.lsm.levels import Levels, levels_of
from braid.lake.lsm.sorted_run import Section
from braid.lake.options.table_options import TableOptions
from tests.support.committing import ID, data_file

Pick = Callable[[Levels, PickState, int], Picked]
"""From the bucket, what was remembered and the time to what to compact."""


@dataclass(slots=True, kw_only=True)
class Bucket:
    """One bucket, and what has been written to it.

    Attributes:
        options: Of the table.
        pick: What is asked for compactions.
        size_max: Bytes that all keys take; merging records of equal keys leaves no more.
        files: Live.
        state: Of picking.
        appended: Bytes that writers have written.
        compacted: Bytes that compactions have written.
        clock_ms: One more with each compaction asked for.
    """

    options: TableOptions
    pick: Pick
    size_max: int | None = None
    files: list[DataFileMeta] = field(default_factory=list)
    state: PickState | None = None
    appended: int = 0
    compacted: int = 0
    clock_ms: int = 0
    _count: int = 0

    @property
    def levels(self) -> Levels:
        """Return its runs."""
        return levels_of(self.files, self.options)

    def copy(self) -> "Bucket":
        """Return the bucket as it is now."""
        return replace(self, files=list(self.files))

    def append(self, size: int, *, low: int = 0, high: int = 9, retracts: int = 0) -> None:
        """Add a file of level 0, newer than all others."""
        self.appended += size
        self.files.append(
            self._file(FileSource.APPEND, size, low, high, sequence=self._count, retracts=retracts)
        )

    def compact(self) -> CompactionPlan | None:
        """Do what is picked, if anything; return what was done."""
        self.clock_ms += 1
        levels = self.levels
        picked = self.pick(
            levels, self.state or first_pick_state(levels, utc_ms_of=int), self.clock_ms
        )
        self.state = picked.state
        if picked.unit is None:
            return None
        plan = plan_compaction(picked.unit, levels, [ID], self.options)
        assert not plan.is_empty
        gone = {file.file_name for file in plan.files}
        self.files = [file for file in self.files if file.file_name not in gone]
        self.files += [replace(u.file, level=plan.output_level) for u in plan.upgrades]
        for rewrite in plan.rewrites:
            self._merge(rewrite.sections, plan)
        return plan

    def _merge(self, sections: tuple[Section, ...], plan: CompactionPlan) -> None:
        files = [file for section in sections for run in section.runs for file in run.files]
        size = sum(file.file_size for file in files)
        size = size if self.size_max is None else min(size, self.size_max)
        self.compacted += size
        retracts = 0 if plan.drops_retracts else sum(file.delete_row_count or 0 for file in files)
        lows, highs = zip(*(bounds(file) for file in files), strict=True)
        merged = self._file(
            FileSource.COMPACT, size, min(lows), max(highs), sequence=0, retracts=retracts
        )
        self.files.append(
            replace(
                merged,
                level=plan.output_level,
                min_sequence_number=min(file.min_sequence_number for file in files),
                max_sequence_number=max(file.max_sequence_number for file in files),
            )
        )

    def _file(
        self, source: FileSource, size: int, low: int, high: int, *, sequence: int, retracts: int
    ) -> DataFileMeta:
        self._count += 1
        return data_file(
            f"f{self._count}",
            low=low,
            high=high,
            file_size=size,
            file_source=source,
            min_sequence_number=sequence,
            max_sequence_number=sequence,
            delete_row_count=retracts,
        )


def bounds(file: DataFileMeta) -> tuple[int, int]:
    """Return a file's smallest and largest key."""
    low, high = decode_rows([file.min_key, file.max_key], [ID]).column(0).to_pylist()
    return low, high
