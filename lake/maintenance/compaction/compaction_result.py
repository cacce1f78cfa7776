"""Result of a compaction."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedCompaction:
    """A bucket whose compaction was dropped; the new files are deleted.

    Attributes:
        partition: Directory of the partition, `p=a/q=b`; empty without partitions.
        bucket: Bucket number.
        files: Files that were to be replaced.
        reason: Why the compaction was dropped, as text for users.
    """

    partition: str
    bucket: int
    files: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionResult:
    """Counts of what a compaction changed, and the buckets that it dropped.

    A file that was only moved to another level counts both in `files_in` and in `files_out`.

    Attributes:
        snapshot_id: Id of the COMPACT snapshot, the newest of several; None when no bucket was due or
            all were dropped.
        buckets: Number of buckets whose files were replaced.
        files_in: Number of files that were replaced.
        files_out: Number of files that replaced them.
        files_moved: Number of files that only changed their level.
        rows_in: Number of rows in the replaced files, retracts included.
        rows_out: Number of rows in the files that replaced them.
        dropped: Buckets that another process had changed, so that the new files no longer fitted, or whose
            race to commit was lost too often.
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
        """Return the result of both compactions together."""
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
