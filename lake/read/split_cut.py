"""Splits of a scan, cut to a size: what one task of many reads.

A bucket's split holds whole sections, and no two of them share a key, so a bucket may be cut between
any two. What a task has to know of a file is much less than what planning has: bounds of values have
done their work, counts of nulls say which columns need not be decoded.

Source: merge-semantics 7.5, and 1.7 for what a split is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lake.format.binary_row import EMPTY_ROW
from lake.format.data_file import DataFileMeta
from lake.format.statistics import EMPTY_STATS
from lake.lsm.sorted_run import Section, SortedRun
from lake.read.scan_plan import Split


def cut_splits(
    splits: Sequence[Split], *, target_bytes: int, open_file_bytes: int
) -> tuple[Split, ...]:
    """Return the same rows in splits of about a size, in the same order.

    Pure: no I/O. A section is never cut, so one of many large files stays a split of its own.

    Args:
        splits: Of a plan; one each bucket.
        target_bytes: Of the files of a split, at least 1.
        open_file_bytes: What opening a file costs besides: a smaller one counts as much.

    Returns:
        Splits that can be sent elsewhere: bounds of keys and values are left out of them.
    """
    assert target_bytes > 0, target_bytes
    return tuple(
        replace(split, sections=tuple(_slim(section) for section in sections))
        for split in splits
        for sections in _packs(split.sections, target_bytes, open_file_bytes)
    )


def split_bytes(split: Split) -> int:
    """Return the bytes of a split's files."""
    return sum(file.file_size for file in split.files)


def _packs(
    sections: Sequence[Section], target_bytes: int, open_file_bytes: int
) -> Iterator[list[Section]]:
    """Yield neighbouring sections; as many together as fit."""
    pack: list[Section] = []
    size = 0
    for section in sections:
        weight = sum(
            max(file.file_size, open_file_bytes) for run in section.runs for file in run.files
        )
        if pack and size + weight > target_bytes:
            yield pack
            pack, size = [], 0
        pack.append(section)
        size += weight
    if pack:
        yield pack


def _slim(section: Section) -> Section:
    return Section(
        runs=tuple(
            SortedRun(files=tuple(_slim_file(file) for file in run.files)) for run in section.runs
        )
    )


def _slim_file(file: DataFileMeta) -> DataFileMeta:
    return replace(
        file,
        key_stats=EMPTY_STATS,
        value_stats=replace(file.value_stats, min_values=EMPTY_ROW, max_values=EMPTY_ROW),
    )
