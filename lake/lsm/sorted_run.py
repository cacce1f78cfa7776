"""Which files overlap: sections of keys, and in each the fewest sorted runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from lake.format.data_file import DataFileMeta
from lake.format.data_types import DataField


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedRun:
    """Files of ascending keys that do not overlap: read one after another they are sorted.

    Attributes:
        files: At least one, in key order.
    """

    files: tuple[DataFileMeta, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Runs whose keys overlap with each other and with no other section of the bucket.

    Attributes:
        runs: At least one; ordered by their smallest `min_sequence_number`, oldest first.
    """

    runs: tuple[SortedRun, ...]


def plan_sections(
    files: Sequence[DataFileMeta], key_fields: Sequence[DataField]
) -> tuple[Section, ...]:
    """Return the sections of one bucket's files, in key order.

    Args:
        files: Live files of one partition and bucket, in any order.
        key_fields: Trimmed primary key, in order; `min_key` and `max_key` decode by it.

    Returns:
        Key-disjoint sections, each with the smallest number of runs that holds its files.

    Source:
        merge-semantics 7.5.
    """
    raise NotImplementedError
