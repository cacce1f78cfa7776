"""Counts of what a maintenance service has done to one table."""

from dataclasses import dataclass

from braid.lake.maintenance.compaction.compaction_result import CompactionResult
from braid.lake.table.maintenance.failure_backoff import ActiveFailure, FailureBackoff


@dataclass(slots=True, kw_only=True)
class MaintenanceStats:
    """What a service has done to one table since it began to maintain it.

    Attributes:
        failure_backoff: Its failures.
        polls: How often the table was checked for due work.
        buckets: Buckets with files at the last poll.
        most_runs: The most sorted runs of a bucket at the last poll.
        files: Live data files at the last poll.
        file_bytes: Their size.
        snapshot_id: The newest snapshot at the last poll; None: the table had none.
        oldest_snapshot_id: The oldest snapshot after the last expiry; None: not known.
        compactions: Buckets compacted.
        dropped: Buckets whose compaction was dropped because another process was faster.
        rows_in: Rows of the files that compactions rewrote or moved.
        rows_out: Rows of the files that replaced them.
        expired: Snapshots removed.
    """

    failure_backoff: FailureBackoff
    polls: int = 0
    buckets: int = 0
    most_runs: int = 0
    files: int = 0
    file_bytes: int = 0
    snapshot_id: int | None = None
    oldest_snapshot_id: int | None = None
    compactions: int = 0
    dropped: int = 0
    rows_in: int = 0
    rows_out: int = 0
    expired: int = 0

    @property
    def failures(self) -> int:
        """Polls, buckets and expiries that failed."""
        return self.failure_backoff.count

    @property
    def snapshots(self) -> int | None:
        """Number of snapshots that are kept, if none is missing between the oldest and the newest; None: not known."""
        if self.snapshot_id is None or self.oldest_snapshot_id is None:
            return None
        return self.snapshot_id - self.oldest_snapshot_id + 1

    @property
    def active_failures(self) -> dict[str, ActiveFailure]:
        """Failures that no success has followed yet, by subject."""
        return self.failure_backoff.active

    @property
    def error(self) -> str | None:
        """Subject and message of the newest active failure; None without one."""
        return self.failure_backoff.error

    def count(self, result: CompactionResult) -> None:
        """Add what a compaction did."""
        self.compactions += result.buckets
        self.dropped += len(result.dropped)
        self.rows_in += result.rows_in
        self.rows_out += result.rows_out
