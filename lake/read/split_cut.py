"""Cutting of a scan's splits to a size, so that many tasks can share the work.

A split consists of whole sections. No two sections share a key, so a bucket may be cut between any two of them. A
task needs less of a file's metadata than planning does. Statistics of keys and bounds of values are left out, because
planning has used them; counts of nulls stay, because a reader does not decode columns that have only nulls.

Source: merge-semantics 7.5, and 1.7 for what a split is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from braid.lake.format.binary_row import EMPTY_ROW
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.statistics import EMPTY_STATS
from braid.lake.lsm.sorted_run import Section, SortedRun
from braid.lake.read.scan_plan import Split


def cut_splits(
    splits: Sequence[Split], *, target_bytes: int, open_file_bytes: int
) -> tuple[Split, ...]:
    """Return the same rows in splits of about `target_bytes`, in the same order.

    Pure: no I/O. A section is never cut, because its files are merged: a section of many large files
    stays one split.

    Args:
        splits: Splits of a plan; one per bucket.
        target_bytes: Bytes of the files of a split, at least 1.
        open_file_bytes: Cost of opening a file, in bytes: smaller files count as this much.

    Returns:
        Splits that are small to serialise: without the statistics of keys and the bounds of values.
    """
    assert target_bytes > 0, target_bytes
    assert open_file_bytes >= 0, open_file_bytes
    cut = tuple(
        replace(split, sections=tuple(_without_bounds(section) for section in sections))
        for split in splits
        for sections in _groups(split.sections, target_bytes, open_file_bytes)
    )
    sections_before = sum(len(split.sections) for split in splits)
    assert sum(len(split.sections) for split in cut) == sections_before, "each section once"
    return cut


def split_bytes(split: Split) -> int:
    """Return the size of a split's files in bytes."""
    return sum(file.file_size for file in split.files)


def _groups(
    sections: Sequence[Section], target_bytes: int, open_file_bytes: int
) -> Iterator[list[Section]]:
    """Yield groups of neighbouring sections, each with as many as fit, at least one."""
    group: list[Section] = []
    size = 0
    for section in sections:
        weight = sum(
            max(file.file_size, open_file_bytes) for run in section.runs for file in run.files
        )
        # A section that is larger than the target forms a group alone.
        if group and size + weight > target_bytes:
            yield group
            group, size = [], 0
        group.append(section)
        size += weight
    if group:
        yield group


def _without_bounds(section: Section) -> Section:
    return Section(
        runs=tuple(
            SortedRun(files=tuple(_file_without_bounds(file) for file in run.files))
            for run in section.runs
        )
    )


def _file_without_bounds(file: DataFileMeta) -> DataFileMeta:
    return replace(
        file,
        key_stats=EMPTY_STATS,
        value_stats=replace(file.value_stats, min_values=EMPTY_ROW, max_values=EMPTY_ROW),
    )
