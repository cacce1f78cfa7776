"""Levels of one bucket and their sorted runs.

On level 0 every file is a run; each level from 1 on is one run.

Source: merge-semantics 7.1.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from braid.lake.format.data_file import DataFileMeta
from braid.lake.options.table_options import TableOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelRun:
    """A sorted run of one level.

    Attributes:
        level: Level of the files.
        files: At least one file, in no particular order; exactly one on level 0.
    """

    level: int
    files: tuple[DataFileMeta, ...]

    @property
    def size(self) -> int:
        """Return the size of the files in bytes."""
        return sum(file.file_size for file in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """All runs of one bucket.

    Attributes:
        runs: The runs, newest first: the files of level 0 by their sequence numbers, then the levels
            that have files, ascending.
        max_level: The highest level of the table, with or without files.
    """

    runs: tuple[LevelRun, ...]
    max_level: int

    @property
    def files(self) -> tuple[DataFileMeta, ...]:
        """Return the files of all runs."""
        return tuple(file for run in self.runs for file in run.files)

    @property
    def highest_level(self) -> int:
        """Return the highest level that has files; -1 without any."""
        return max((run.level for run in self.runs), default=-1)


def levels_of(files: Sequence[DataFileMeta], options: TableOptions) -> Levels:
    """Return the runs of a bucket.

    Args:
        files: Live files of one partition and bucket, in any order.
        options: Options of the table: `num-levels`, which the levels of existing files may exceed.
    """
    members: defaultdict[int, list[DataFileMeta]] = defaultdict(list)
    for file in files:
        members[file.level].append(file)
    newest_first = sorted(members.pop(0, ()), key=_age)
    runs = [LevelRun(level=0, files=(file,)) for file in newest_first]
    runs += [LevelRun(level=level, files=tuple(members[level])) for level in sorted(members)]
    max_level = max([options.num_levels - 1, *members])
    return Levels(runs=tuple(runs), max_level=max_level)


def _age(file: DataFileMeta) -> tuple[int, int, int, str]:
    """Return the key that sorts files of level 0 from the newest to the oldest."""
    return (
        -file.max_sequence_number,
        file.min_sequence_number,
        file.creation_time_ms or 0,
        file.file_name,
    )
