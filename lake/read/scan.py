"""What a scan has to read, decided from metadata alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from lake.format.manifest import ManifestEntry
from lake.format.schema import TableSchema
from lake.format.snapshot import Snapshot
from lake.lsm.sorted_run import Section
from lake.read.predicate import Condition


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The part of a scan that lies in one bucket.

    Attributes:
        partition: Serialised partition row.
        bucket: Bucket number.
        total_buckets: Buckets of the partition when the files were written.
        sections: Key-disjoint, ascending by key.
    """

    partition: bytes
    bucket: int
    total_buckets: int
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPlan:
    """All splits of a scan, and what pruning saved.

    Attributes:
        snapshot_id: The snapshot that is read; None for a table without one.
        splits: Ordered by partition directory and bucket.
        files_total: Live files of the snapshot.
        files_read: Files in `splits`.
    """

    snapshot_id: int | None
    splits: tuple[Split, ...]
    files_total: int
    files_read: int


def plan_scan(
    snapshot: Snapshot | None,
    schema: TableSchema,
    entries: Sequence[ManifestEntry],
    *,
    where: Sequence[Condition] = (),
    buckets: frozenset[int] | None = None,
    partitions: frozenset[bytes] | None = None,
) -> ScanPlan:
    """Choose the files that can hold rows which fulfil `where`.

    Pure: no I/O.
    """
    raise NotImplementedError
