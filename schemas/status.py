"""A stream's status: what is wanted of it, and what is seen of it."""

from collections.abc import Mapping

from pydantic import Field

from schemas.contract import Contract
from schemas.document import DesiredState
from schemas.problem import FieldProblem
from schemas.progress import BackPressure, StreamState, TableProgress


class LastCommit(Contract):
    """A stream's newest commit.

    Attributes:
        snapshot_id: The snapshot; None when only the time is known.
        time: ISO 8601, UTC.
    """

    snapshot_id: int | None
    time: str


class AccountView(Contract):
    """What became of a stream's records; `records` is the sum of the others."""

    records: int = 0
    accepted: int = 0
    folded: int = 0
    ignored: int = 0
    dead_lettered: int = 0


class FailureView(Contract):
    """What keeps a stream from running.

    Attributes:
        cause: One line.
        errors: What has to be mended, field by field; empty where it passes by itself.
        since: When the first of the failures in a row was, ISO 8601, UTC.
        attempts: Failures in a row.
        next_attempt_at: ISO 8601, UTC; None: not before `start` or another declaration.
    """

    cause: str
    errors: tuple[FieldProblem, ...] = ()
    since: str
    attempts: int
    next_attempt_at: str | None


class StreamStatus(Contract):
    """What is wanted of a stream and what is seen of it; None: not known.

    Attributes:
        database: Of the table.
        table: The table's name.
        stream: The stream's name.
        state: What it is doing. UNASSIGNED: no living runner reports it. RETRYING: something that
            passes by itself is tried again without end. FAILED: a person has to mend something.
        desired_state: What its owner wants.
        trace: Why it failed or has no runner any more, as text; None while all is well.
        failure: The same in parts; None unless RETRYING, FAILED, or STARTING again.
        worker_id: The runner that hosts it.
        reported_at: When the runner said so, ISO 8601, UTC.
        epoch: The claim under which it commits.
        offsets: Next offset to read, by Kafka partition.
        end_offsets: The topic's end, by Kafka partition; like the lag None unless a query is RUNNING,
            for nobody else looks.
        lag_records: Records not read yet; None where Kafka has not answered lately.
        lag_seconds: Age of the oldest of them, likewise.
        broker_reached_at: When Kafka last answered the runner, ISO 8601, UTC.
        storage_reached_at: When the warehouse last answered it.
        last_commit: The newest commit.
        account: Sums since the first record.
        dead_letters: Records by reason, since the query's start.
        back_pressure: How far the stream is slowed down because compaction is behind; None unless
            a query is RUNNING and has committed.
        records_since_start: Records that the running query has committed.
        unmatched_columns: Columns that none of them had a value for, and the path that messages were read
            at: a path that is misspelt shows here.
        version: Of the stream, as registered.
        followed_version: The version that it writes by, as its runner last said.
        followed_schema_id: The table's schema that it writes by, likewise.
        followed_since: Since when it writes by both, ISO 8601, UTC.
        unreadable_reports: Runners whose reports cannot be read; one may be the stream's.
        missing_features: What the stream needs and this service does not have: a newer version has
            registered it, and only runners of such a version run it.
    """

    database: str
    table: str
    stream: str
    state: StreamState
    desired_state: DesiredState
    trace: str | None = None
    failure: FailureView | None = None
    worker_id: str | None = None
    reported_at: str | None = None
    epoch: int | None = None
    offsets: Mapping[int, int] = Field(default_factory=dict)
    end_offsets: Mapping[int, int] | None = None
    lag_records: int | None = None
    lag_seconds: float | None = None
    broker_reached_at: str | None = None
    storage_reached_at: str | None = None
    last_commit: LastCommit | None = None
    account: AccountView = Field(default_factory=AccountView)
    dead_letters: Mapping[str, int] = Field(default_factory=dict)
    back_pressure: BackPressure | None = None
    records_since_start: int | None = None
    unmatched_columns: Mapping[str, str] = Field(default_factory=dict)
    version: int = 1
    followed_version: int | None = None
    followed_schema_id: int | None = None
    followed_since: str | None = None
    unreadable_reports: tuple[str, ...] = ()
    missing_features: tuple[str, ...] = ()


class VerbAnswer(StreamStatus):
    """What a verb did, and the stream's status right after it.

    Attributes:
        verb: What was asked.
        message: What was done, or why there was nothing to do.
    """

    verb: str
    message: str


class TableMaintenanceView(TableProgress):
    """What one runner says about the upkeep of a table.

    Attributes:
        worker_id: The runner.
        reported_at: When it said so, ISO 8601, UTC.
    """

    worker_id: str
    reported_at: str


class MaintenanceStatus(Contract):
    """How far compaction is with a table, and who is at it.

    Attributes:
        database: Of the table.
        table: The table's name.
        snapshot_id: The snapshot that was looked at; None before the first commit.
        buckets: Buckets with files in it.
        most_runs: The most sorted runs of a bucket, which every read of it merges.
        tombstones: Deletes of removed rows that compactions keep on the highest level, so that older
            records do not bring the rows back.
        compaction_trigger: As many runs make a compaction due (`num-sorted-run.compaction-trigger`).
        stop_trigger: More slow down the streams that write there (`num-sorted-run.stop-trigger`).
        upkeep: What living runners that look after the table say, one at most times.
        unreadable_reports: Runners whose reports cannot be read; one may look after the table.
    """

    database: str
    table: str
    snapshot_id: int | None
    buckets: int
    most_runs: int
    tombstones: int
    compaction_trigger: int
    stop_trigger: int
    upkeep: tuple[TableMaintenanceView, ...] = ()
    unreadable_reports: tuple[str, ...] = ()
