"""What a maintenance service has done to a table, and what it cannot do for now."""

from dataclasses import dataclass, field
from typing import Final

from lake.maintenance.compaction.compaction_picks import CompactionMemory
from lake.maintenance.compaction.compaction_result import CompactionResult

RETRY_MS_MIN: Final = 1_000
RETRY_MS_MAX: Final = 300_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveFailure:
    """Something that fails again and again.

    Attributes:
        error: The last failure, in words.
        count: Failures in a row.
        retry_ms: When it is tried again, milliseconds since 1970; the pause doubles each time.
    """

    error: str
    count: int
    retry_ms: int


@dataclass(slots=True, kw_only=True)
class MaintenanceStats:
    """What a service has done to one table so far.

    Attributes:
        polls: How often the table was polled.
        buckets: Buckets with files at the last look.
        most_runs: The most sorted runs of a bucket at the last look.
        compactions: Buckets compacted.
        dropped: Buckets worked on in vain, because somebody else was faster.
        rows_in: Rows read by compactions.
        rows_out: Rows written by them, or moved with their files.
        expired: Snapshots removed.
        failures: Buckets, looks and expiries that failed.
        active_failures: What has failed and not yet succeeded since, by what it is about.
        memory: What picking remembers.
    """

    polls: int = 0
    buckets: int = 0
    most_runs: int = 0
    compactions: int = 0
    dropped: int = 0
    rows_in: int = 0
    rows_out: int = 0
    expired: int = 0
    failures: int = 0
    active_failures: dict[str, ActiveFailure] = field(default_factory=dict)
    memory: CompactionMemory = field(default_factory=CompactionMemory, repr=False)

    @property
    def error(self) -> str | None:
        """What fails for now, the newest of it; None when nothing does."""
        # A copy: other threads ask while this one's owner works on.
        found = list(self.active_failures.items())
        return f"{found[-1][0]}: {found[-1][1].error}" if found else None

    def count(self, result: CompactionResult) -> None:
        """Add what a compaction did."""
        self.compactions += result.buckets
        self.dropped += len(result.dropped)
        self.rows_in += result.rows_in
        self.rows_out += result.rows_out

    def is_due(self, subject: str, *, now_ms: int) -> bool:
        """Return whether something may be tried now, after it failed or because it never did."""
        failure = self.active_failures.get(subject)
        return failure is None or now_ms >= failure.retry_ms

    def succeed(self, subject: str) -> None:
        """Forget that something failed."""
        self.active_failures.pop(subject, None)

    def fail(self, subject: str, error: str, *, now_ms: int) -> bool:
        """Count a failure and put off the next try; return whether it is one not told before."""
        before = self.active_failures.pop(subject, None)
        count = 1 if before is None else before.count + 1
        pause_ms = min(RETRY_MS_MAX, RETRY_MS_MIN << min(count - 1, 32))
        self.active_failures[subject] = ActiveFailure(
            error=error, count=count, retry_ms=now_ms + pause_ms
        )
        self.failures += 1
        return before is None or before.error != error
