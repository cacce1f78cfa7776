"""What a compaction did."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedCompaction:
    """The work on one bucket that was given up; nothing of it is left.

    Attributes:
        partition: Directory of the partition, `p=a/q=b`; empty without partitions.
        bucket: Bucket number.
        files: Files that were to be replaced.
        reason: Why, for people.
    """

    partition: str
    bucket: int
    files: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionResult:
    """What a compaction changed, and what it could not.

    A file that was only moved to another level counts on both sides.

    Attributes:
        snapshot_id: The COMPACT snapshot, the newest of several; None when nothing was to be done or
            all was dropped.
        buckets: Buckets whose files it replaced.
        files_in: Files it took out.
        files_out: Files it put in their place.
        files_moved: Those among them that kept their bytes.
        rows_in: Rows of the files taken out, retracts included.
        rows_out: Rows of the files put in their place.
        dropped: Work in vain: somebody else was faster, so the files were gone or the level taken.
    """

    snapshot_id: int | None = None
    buckets: int = 0
    files_in: int = 0
    files_out: int = 0
    files_moved: int = 0
    rows_in: int = 0
    rows_out: int = 0
    dropped: tuple[DroppedCompaction, ...] = ()

    def plus(self, other: "CompactionResult") -> "CompactionResult":
        """Return what both changed together."""
        ids = [one for one in (self.snapshot_id, other.snapshot_id) if one is not None]
        return CompactionResult(
            snapshot_id=max(ids, default=None),
            buckets=self.buckets + other.buckets,
            files_in=self.files_in + other.files_in,
            files_out=self.files_out + other.files_out,
            files_moved=self.files_moved + other.files_moved,
            rows_in=self.rows_in + other.rows_in,
            rows_out=self.rows_out + other.rows_out,
            dropped=(*self.dropped, *other.dropped),
        )
