"""Sections of overlapping files, each divided into the fewest sorted runs."""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from braid.lake.format.binary_row import decode_rows
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.data_types import DataField
from braid.lake.merge.order.key_order import key_codes


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedRun:
    """Files whose keys do not overlap: read one after another they are sorted.

    Attributes:
        files: At least one file, in key order.
    """

    files: tuple[DataFileMeta, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Runs whose keys overlap with each other and with no other section of the bucket.

    Attributes:
        runs: At least one run, oldest first, which means by their smallest `min_sequence_number`.
    """

    runs: tuple[SortedRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class _Interval:
    """The key range of one file, as codes that are comparable with those of the other files."""

    low: int
    high: int
    index: int


def plan_sections(files: Sequence[DataFileMeta], key_fields: Sequence[DataField]) -> list[Section]:
    """Return the sections of one bucket's files, in key order.

    Args:
        files: Live files of one partition and bucket, in any order.
        key_fields: Trimmed primary key, in order; `min_key` and `max_key` decode by it.

    Returns:
        Key-disjoint sections, each with the smallest number of runs that holds its files.

    Source:
        merge-semantics 7.5.
    """
    return [
        _section([[files[interval.index] for interval in run] for run in _pack_into_runs(section)])
        for section in _cut_into_sections(_intervals(files, key_fields))
    ]


def _intervals(files: Sequence[DataFileMeta], key_fields: Sequence[DataField]) -> list[_Interval]:
    if not files:
        return []
    keys = [file.min_key for file in files] + [file.max_key for file in files]
    codes = key_codes(decode_rows(keys, key_fields).columns).tolist()
    lows, highs = codes[: len(files)], codes[len(files) :]
    return sorted(
        _Interval(low=low, high=high, index=index)
        for index, (low, high) in enumerate(zip(lows, highs, strict=True))
    )


def _cut_into_sections(intervals: Sequence[_Interval]) -> Iterator[list[_Interval]]:
    """Yield groups of intervals; each begins beyond every key of the group before."""
    section: list[_Interval] = []
    bound = -1
    for interval in intervals:
        # Compared with `bound` and not with the last interval: an earlier one may reach further.
        if section and interval.low > bound:
            yield section
            section = []
        section.append(interval)
        bound = max(bound, interval.high)
    if section:
        yield section


def _pack_into_runs(section: Sequence[_Interval]) -> list[list[_Interval]]:
    """Return the fewest runs: each interval is appended to the run that ends first, if it fits there.

    Greedy interval partitioning: intervals come by their low key, so if the run that ends first
    overlaps an interval, every run does, and a new run is needed.
    """
    runs: list[list[_Interval]] = []
    ends: list[tuple[int, int]] = []  # (last key of the run, its index in `runs`)
    for interval in section:
        if ends and interval.low > ends[0][0]:
            _, index = heapq.heappop(ends)
            runs[index].append(interval)
        else:
            index = len(runs)
            runs.append([interval])
        heapq.heappush(ends, (interval.high, index))
    return runs


def _section(runs: Sequence[Sequence[DataFileMeta]]) -> Section:
    def age(run: Sequence[DataFileMeta]) -> tuple[int, str]:
        # The name breaks ties, so that the order does not depend on the order of the files.
        return min((file.min_sequence_number, file.file_name) for file in run)

    return Section(runs=tuple(SortedRun(files=tuple(run)) for run in sorted(runs, key=age)))
