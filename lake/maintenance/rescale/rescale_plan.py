"""Plan of a rescale: the units of files that are rewritten together for another bucket count. Pure functions.

A record keeps its level, sequence number and kind; only its bucket changes. Only records that deletion vectors
mark are left out. So every key has the same live records as before, and reads, changelogs and the visibility of
level 0 give the same results.

Let `g` be the greatest common divisor of the old and the new bucket count. The rows of an old bucket go only to
new buckets whose number has the same remainder modulo `g`. The files of a *unit* are rewritten together. A unit
is either of these:

- one file of level 0, because it is a run of its own, and each of its parts becomes a run of its own;
- the files of one partition on one higher level, in all old buckets with the same remainder: they become one run on
  that level in each of the new buckets.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyroaring import AbstractBitMap

from braid.lake.errors import Problem, UnsupportedFeature
from braid.lake.format.bucket import BucketId
from braid.lake.format.data_types import DataField
from braid.lake.format.manifest import FileIdentity, ManifestEntry
from braid.lake.lsm.sorted_run import SortedRun, plan_sections
from braid.lake.snapshots.deletion_vectors import BucketVectors


@dataclass(frozen=True, slots=True, kw_only=True)
class RescaleUnit:
    """Files that are rewritten together.

    Attributes:
        partition: Serialised partition row.
        level: Level of all files.
        total_buckets: Bucket count that the files were routed with.
        entries: Entries of the files, in no particular order.
        buckets: The new buckets that their rows may be in, ascending.
        marks: Deletion vectors of the files that have any, by file name.
    """

    partition: bytes
    level: int
    total_buckets: int
    entries: tuple[ManifestEntry, ...]
    buckets: range
    marks: Mapping[str, AbstractBitMap]

    def __post_init__(self) -> None:
        assert self.entries, "a unit has files"
        assert self.level > 0 or len(self.entries) == 1, "files of level 0 are runs of their own"

    @property
    def inputs(self) -> frozenset[FileIdentity]:
        """Return the identities of the files."""
        return frozenset(entry.identity for entry in self.entries)

    @property
    def size(self) -> int:
        """Return the bytes of the files."""
        return sum(entry.file.file_size for entry in self.entries)

    def runs(self, key_fields: Sequence[DataField]) -> tuple[tuple[int, SortedRun], ...]:
        """Return the old buckets, each with its files in key order."""
        members: defaultdict[int, list[ManifestEntry]] = defaultdict(list)
        for entry in self.entries:
            members[entry.bucket].append(entry)
        return tuple((bucket, _run(members[bucket], key_fields)) for bucket in sorted(members))


def plan_rescale(
    entries: Sequence[ManifestEntry], vectors: Mapping[BucketId, BucketVectors], *, buckets: int
) -> tuple[RescaleUnit, ...]:
    """Return the units to rewrite, so that all files have one bucket count.

    Args:
        entries: Live files of a snapshot; files that have the new count already stay.
        vectors: The snapshot's deletion vectors, of the buckets that have any.
        buckets: The new count, at least 1.

    Raises:
        UnsupportedFeature: A file was routed by an index and not by a bucket count.
    """
    assert buckets >= 1, "a rescale has a fixed count"
    groups: defaultdict[tuple[object, ...], list[ManifestEntry]] = defaultdict(list)
    for entry in entries:
        if entry.total_buckets != buckets:
            _check_count(entry)
            groups[_group(entry, buckets)].append(entry)
    return tuple(_unit(tuple(members), vectors, buckets) for members in groups.values())


def _group(entry: ManifestEntry, buckets: int) -> tuple[object, ...]:
    """Return the key of the unit that a file belongs to."""
    if entry.file.level == 0:
        return entry.identity
    step = math.gcd(entry.total_buckets, buckets)
    return entry.partition, entry.total_buckets, entry.bucket % step, entry.file.level


def _unit(
    members: tuple[ManifestEntry, ...], vectors: Mapping[BucketId, BucketVectors], buckets: int
) -> RescaleUnit:
    first = members[0]
    step = math.gcd(first.total_buckets, buckets)
    marks: dict[str, AbstractBitMap] = {}
    for entry in members:
        found = vectors.get((entry.partition, entry.bucket))
        marked = None if found is None else found.vectors.get(entry.file.file_name)
        if marked:
            marks[entry.file.file_name] = marked
    return RescaleUnit(
        partition=first.partition,
        level=first.file.level,
        total_buckets=first.total_buckets,
        entries=members,
        buckets=range(first.bucket % step, buckets, step),
        marks=marks,
    )


def _run(members: Sequence[ManifestEntry], key_fields: Sequence[DataField]) -> SortedRun:
    sections = plan_sections([entry.file for entry in members], key_fields)
    return SortedRun(
        files=tuple(file for section in sections for run in section.runs for file in run.files)
    )


def _check_count(entry: ManifestEntry) -> None:
    if entry.total_buckets >= 1:
        return
    problem = Problem(
        field="bucket",
        value=str(entry.total_buckets),
        message=f"the rows of file {entry.file.file_name} were not routed by a bucket count",
        hint="write the rows into a new table of the wanted bucket count",
    )
    message = "only tables with a fixed bucket count can be rescaled"
    raise UnsupportedFeature(message, problems=[problem])
