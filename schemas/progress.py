"""What a runner reports about the streams that it hosts."""

from collections.abc import Mapping
from enum import StrEnum

from pydantic import Field

from schemas.contract import Contract
from schemas.problem import FieldProblem


class StreamState(StrEnum):
    """What a stream is doing, in Kafka Connect's words, and one of ours.

    RETRYING: something that passes by itself keeps the stream from reading, and is tried again
    without end. FAILED: a person has to mend something.
    """

    UNASSIGNED = "UNASSIGNED"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    RETRYING = "RETRYING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    FAILED = "FAILED"


class StreamFailure(Contract):
    """What keeps a stream from running.

    Attributes:
        cause: One line.
        errors: What a person has to mend, field by field; empty where it passes by itself.
        since_ms: When the first of the failures in a row was, milliseconds since the epoch, UTC.
        attempts: Failures in a row, without a commit in between.
        next_attempt_ms: When it is tried again; None: not before somebody asks for it.
    """

    cause: str
    errors: tuple[FieldProblem, ...] = ()
    since_ms: int
    attempts: int = Field(ge=1)
    next_attempt_ms: int | None = None


class Account(Contract):
    """What became of the records of a stream: each is counted once.

    Attributes:
        accepted: Written to the table as a row of their own.
        folded: Merged with a later or earlier record of the same key before writing.
        ignored: Left out because the stream's declaration says so.
        dead_lettered: Refused and sent to the dead-letter topic.
    """

    accepted: int = Field(default=0, ge=0)
    folded: int = Field(default=0, ge=0)
    ignored: int = Field(default=0, ge=0)
    dead_lettered: int = Field(default=0, ge=0)

    @property
    def records(self) -> int:
        """The records read: the sum of the four."""
        return self.accepted + self.folded + self.ignored + self.dead_lettered


class BackPressure(Contract):
    """How far a stream is slowed down because compaction of its table is behind.

    Attributes:
        factor: What interval and bound are multiplied with; 1: the stream runs as declared.
        runs: The most sorted runs of a bucket that its newest micro-batch wrote to.
        interval_ms: Between the starts of two micro-batches, in effect.
        records_max: Records of a micro-batch, wanted; in effect where batches are full.
    """

    factor: int
    runs: int
    interval_ms: int
    records_max: int


class StreamProgress(Contract):
    """What a runner says about one stream; None: not known yet.

    Attributes:
        state: What the query is doing.
        trace: Why it failed, as text, until a query runs; None unless RETRYING, FAILED or STARTING.
        failure: The same in parts.
        restart_generation: The generation of the registry that this query was started for.
        epoch: The claim on the stream under which it commits.
        topic_id: Kafka's id of the topic.
        generation: Of the order of its group, in which the stream writes.
        offsets: Next offset to read, by Kafka partition.
        end_offsets: The topic's end offset, by Kafka partition.
        lag_records: Sum of end minus next offsets; None unless RUNNING and measured.
        lag_seconds: Age of the oldest record that is not committed, at `updated_ms`; None unless
            RUNNING and measured.
        broker_reached_ms: When Kafka answered last, milliseconds since the epoch, UTC.
        storage_reached_ms: When the warehouse answered last.
        last_commit_snapshot: Snapshot id of the stream's newest commit.
        last_commit_ms: When that was, milliseconds since the epoch, UTC.
        account: Sums since the stream's first record, as the table holds them.
        dead_letters_by_reason: Refused records by reason, over all queries of the stream; may
            fall short of `account` after a runner was killed.
        batch_id: The newest micro-batch that was committed.
        batch_records: Records in it.
        batch_ms: How long it took.
        back_pressure: How fast the stream writes; None before its first commit.
        records_since_start: Records that its query has committed.
        unmatched_columns: Columns that none of them had a value for, and the path of each in messages.
        schema_id: The table's schema that it writes by.
        stream_version: The version of its declaration that it writes by.
        followed_ms: When both came into effect, milliseconds since the epoch, UTC.
    """

    state: StreamState
    trace: str | None = None
    failure: StreamFailure | None = None
    restart_generation: int = 0
    epoch: int | None = None
    topic_id: str | None = None
    generation: int | None = None
    offsets: Mapping[int, int] = Field(default_factory=dict)
    end_offsets: Mapping[int, int] = Field(default_factory=dict)
    lag_records: int | None = None
    lag_seconds: float | None = None
    broker_reached_ms: int | None = None
    storage_reached_ms: int | None = None
    last_commit_snapshot: int | None = None
    last_commit_ms: int | None = None
    account: Account = Field(default_factory=Account)
    dead_letters_by_reason: Mapping[str, int] = Field(default_factory=dict)
    batch_id: int | None = None
    batch_records: int | None = None
    batch_ms: int | None = None
    back_pressure: BackPressure | None = None
    records_since_start: int | None = None
    unmatched_columns: Mapping[str, str] = Field(default_factory=dict)
    schema_id: int | None = None
    stream_version: int | None = None
    followed_ms: int | None = None


class TableProgress(Contract):
    """What a runner says about the upkeep of one table, since it began with it.

    Attributes:
        looks: How often the table was looked at.
        buckets: Buckets with files at the last look.
        most_runs: The most sorted runs of a bucket at the last look.
        compactions: Buckets compacted.
        dropped: Buckets worked on in vain, because somebody else was faster.
        rows_in: Rows read by compactions.
        rows_out: Rows written by them, or moved with their files.
        expired: Snapshots removed.
        failures: Buckets, looks and expiries that failed.
        error: What fails for now; None when nothing does.
    """

    looks: int = 0
    buckets: int = 0
    most_runs: int = 0
    compactions: int = 0
    dropped: int = 0
    rows_in: int = 0
    rows_out: int = 0
    expired: int = 0
    failures: int = 0
    error: str | None = None


class RunnerProgress(Contract):
    """What one runner says, overwritten every few seconds.

    Attributes:
        runner: The runner's name.
        started_ms: When the process started, milliseconds since the epoch, UTC.
        updated_ms: When this was written.
        streams: By `<database>.<table>/<stream>`.
        tables: Those that it compacts, by `<database>.<table>`.
    """

    runner: str
    started_ms: int
    updated_ms: int
    streams: Mapping[str, StreamProgress] = Field(default_factory=dict)
    tables: Mapping[str, TableProgress] = Field(default_factory=dict)
