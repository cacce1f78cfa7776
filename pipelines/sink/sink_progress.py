"""Progress of a sink: its commits since it was created, as one immutable value."""

from collections import Counter
from dataclasses import dataclass, replace

from braid.lake import CommitResult, StreamPosition
from braid.pipelines.pace.back_pressure import Pace
from braid.pipelines.plan_changes.current_plan import PlanVersion
from braid.pipelines.sink.task_report import TaskReport
from braid.records.stream_plan import StreamPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkProgress:
    """What a sink has done since it was made.

    Attributes:
        position: The stream's position in the table after the newest commit or claim.
        snapshot_id: Snapshot id of the newest commit; None before the first.
        batch_id: The newest micro-batch that was committed or skipped as a replay.
        batch_records: Records in the newest micro-batch that was committed.
        batch_ms: Time from Spark's call to the end of that micro-batch's commit, milliseconds.
        commits: Micro-batches committed.
        replays: Micro-batches that were in the table already.
        dead_letters: Refused records by reason.
        newest_ms: Kafka's largest timestamp among committed records; None before the first.
        pace: How fast the stream writes from now on; None before the first commit.
        plan_version: The declaration and schema that the stream writes by, set whenever the progress is read.
        records: Records of the micro-batches committed.
        seen: Columns that some of these records had a value for.
        unmatched: The other columns, each with the path in messages at which its value was expected.
        seen_fields: Addresses of the fields of conditions that some of these records had a value for.
        unmatched_fields: Those of the other fields of conditions.
    """

    position: StreamPosition
    snapshot_id: int | None = None
    batch_id: int | None = None
    batch_records: int | None = None
    batch_ms: int | None = None
    commits: int = 0
    replays: int = 0
    dead_letters: tuple[tuple[str, int], ...] = ()
    newest_ms: int | None = None
    pace: Pace | None = None
    plan_version: PlanVersion | None = None
    records: int = 0
    seen: frozenset[str] = frozenset()
    unmatched: tuple[tuple[str, str], ...] = ()
    seen_fields: frozenset[str] = frozenset()
    unmatched_fields: tuple[str, ...] = ()

    def after_replay(self, batch_id: int) -> "SinkProgress":
        """Return the progress after a micro-batch that was in the table already."""
        return replace(self, batch_id=batch_id, replays=self.replays + 1)

    def after_commit(
        self,
        batch_id: int,
        report: TaskReport,
        result: CommitResult,
        *,
        position: StreamPosition,
        plan: StreamPlan,
        pace: Pace,
        batch_ms: int,
        now_ms: int,
    ) -> "SinkProgress":
        """Return the progress after a micro-batch was committed.

        Args:
            batch_id: Spark's number of the micro-batch.
            report: What its tasks did.
            result: The result of the commit.
            position: The stream's position in the table now.
            plan: The plan that the micro-batch was written by.
            pace: How fast the stream writes from now on.
            batch_ms: Time from Spark's call to the end of the commit, milliseconds.
            now_ms: Milliseconds since the epoch.
        """
        assert position.stream == self.position.stream, "a sink serves one stream"
        seen = self.seen | frozenset(report.seen)
        seen_fields = self.seen_fields | frozenset(report.seen_fields)
        reasons = Counter(dict(self.dead_letters)) + Counter(dict(report.dead_letters))
        newest_ms = max(report.newest_ms or 0, self.newest_ms or 0)
        return SinkProgress(
            position=position,
            snapshot_id=result.snapshot_id,
            batch_id=batch_id,
            batch_records=report.account.records,
            batch_ms=batch_ms,
            commits=self.commits + 1,
            replays=self.replays,
            dead_letters=tuple(sorted(reasons.items())),
            # A producer's clock may be wrong: a clock that is ahead would hide the lag from then on.
            newest_ms=min(newest_ms, now_ms) or None,
            pace=pace,
            records=self.records + report.account.records,
            seen=seen,
            unmatched=tuple(
                (column.name, column.address) for column in plan.columns if column.name not in seen
            ),
            seen_fields=seen_fields,
            unmatched_fields=tuple(
                field.name
                for field in (*plan.conditions.fields, *plan.conditions.parts)
                if field.name not in seen_fields
            ),
        )
