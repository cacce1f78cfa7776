"""Progress report of a runner: the streams that it hosts, with their states and accounts, and the tables that it compacts."""

from collections.abc import Mapping
from enum import StrEnum

from pydantic import Field

from braid.schemas.contract import Contract
from braid.schemas.problem import FieldProblem


class StreamState(StrEnum):
    """The state of a stream, in the words of Kafka Connect where it has one.

    RETRYING: a temporary failure keeps the stream from reading, and the runner tries again without
    limit. FAILED: a person has to fix something. COMPLETED: a stream with the trigger `available_now` has read
    all that its topic held at the start; no runner works on it. EXTERNAL: Spark programs write the stream, and none
    of them is known to a runner.
    """

    UNASSIGNED = "UNASSIGNED"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    RETRYING = "RETRYING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    FAILED = "FAILED"
    COMPLETED = "COMPLETED"
    EXTERNAL = "EXTERNAL"


class StreamFailure(Contract):
    """The failure that keeps a stream from running; in a crash loop the newest one, also while the stream is STARTING or RUNNING.

    Attributes:
        cause: The cause in one line.
        errors: The problems that a person has to fix; empty for a temporary failure.
        since_ms: Time of the first of the consecutive failures, milliseconds since the epoch, UTC.
        attempts: Consecutive failures, without a commit in between.
        next_attempt_ms: Time of the next attempt, milliseconds since the epoch, UTC; None: it is under way, or, if
            the stream is FAILED, needs a lifecycle verb or another declaration.
        crash_loop: Whether five starts within ten minutes have failed without a commit. The runner tries on.
    """

    cause: str
    errors: tuple[FieldProblem, ...] = ()
    since_ms: int
    attempts: int = Field(ge=1)
    next_attempt_ms: int | None = None
    crash_loop: bool = False


class Account(Contract):
    """The records of a stream by their outcome: each record is counted once.

    Attributes:
        accepted: Records written to the table as a row of their own.
        folded: Records merged with a later or earlier record of the same key before writing.
        ignored: Records left out because of the stream's declaration.
        dead_lettered: Records refused and sent to the dead-letter topic.
    """

    accepted: int = Field(default=0, ge=0)
    folded: int = Field(default=0, ge=0)
    ignored: int = Field(default=0, ge=0)
    dead_lettered: int = Field(default=0, ge=0)

    @property
    def records(self) -> int:
        """The number of records read: the sum of the four counts."""
        return self.accepted + self.folded + self.ignored + self.dead_lettered


class BackPressure(Contract):
    """The slowdown of a stream because compaction of its table is behind.

    Attributes:
        factor: Multiplier of interval and bound; 1: the stream runs as declared.
        runs: Largest number of sorted runs among the buckets that the newest micro-batch wrote to.
        interval_ms: The current time between the starts of two micro-batches.
        records_max: The current bound of a micro-batch, in records.
    """

    factor: int
    runs: int
    interval_ms: int
    records_max: int


class TopicOffsets(Contract):
    """Bounds of a stream's topic as its newest query has measured them.

    Attributes:
        beginning: First offset that Kafka had when the query started, by partition; it only rises.
        end: Offset after the last committed record, by partition; it usually rises.
        measured_ms: Time of the measurement of `end`, milliseconds since the epoch, UTC.
    """

    beginning: Mapping[int, int]
    end: Mapping[int, int]
    measured_ms: int


class MirrorProgress(Contract):
    """What a runner has done to mirror a stream's position in a consumer group.

    Attributes:
        group: The consumer group.
        mirrored_ms: Time of the newest commit to the group, milliseconds since the epoch, UTC; None: there was none.
        error: Why the newest attempt failed; None: it did not.
    """

    group: str
    mirrored_ms: int | None = None
    error: str | None = None


class StreamProgress(Contract):
    """A runner's report of one stream. A field that is None is not known yet, unless stated otherwise.

    Attributes:
        state: State of the query.
        trace: The failure as text, until a query runs; None unless RETRYING, FAILED or STARTING.
        failure: The failure as fields.
        restart_generation: The restart generation of the registry that the query was started for.
        epoch: Epoch of the claim on the stream under which the query commits.
        topic_id: Kafka's id of the topic.
        generation: Generation of the group's order in which the stream writes.
        offsets: Next offset to read, by Kafka partition.
        end_offsets: The topic's end offset, by Kafka partition.
        lag_records: Sum of end minus next offsets; None unless RUNNING and measured.
        lag_seconds: Estimated age of the oldest record that is not committed, at `updated_ms`; too low
            where one partition is behind the others. None unless RUNNING and measured; also None while
            records wait and the query has neither committed one nor caught up since its start.
        broker_reached_ms: Time of Kafka's last answer, milliseconds since the epoch, UTC.
        storage_reached_ms: Time of the warehouse's last answer, milliseconds since the epoch, UTC.
        last_commit_snapshot: Snapshot id of the stream's newest commit.
        last_commit_ms: Time of that commit, milliseconds since the epoch, UTC.
        account: Counts since the stream's first record, as the table holds them.
        dead_letters_by_reason: Refused records by reason, over all queries of the stream; their
            sum may be below that of `account` after a runner was killed.
        batch_id: The newest committed micro-batch.
        batch_records: Number of records in that micro-batch.
        batch_ms: Duration of that micro-batch, milliseconds.
        back_pressure: The slowdown of the stream; None before its first commit.
        records_since_start: Number of records that the query has committed.
        unmatched_columns: Columns for which none of these records had a value, with their paths in messages.
        unmatched_fields: Fields of the stream's conditions for which none of these records had a value.
        schema_id: The table's schema by which the stream writes.
        stream_version: The version of the stream's declaration by which it writes.
        followed_ms: Time since when the stream writes by both, milliseconds since the epoch, UTC.
        topic_offsets: Bounds of the topic as last measured; kept when the query ends, unlike `end_offsets`.
        mirror: The mirror of the position in a consumer group; None: none is declared.
        load: Fraction of the time that micro-batches took during the last minutes, 0..1.
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
    unmatched_fields: tuple[str, ...] = ()
    schema_id: int | None = None
    stream_version: int | None = None
    followed_ms: int | None = None
    topic_offsets: TopicOffsets | None = None
    mirror: MirrorProgress | None = None
    load: float | None = None


class TableProgress(Contract):
    """A runner's report of the maintenance of one table, since it began to maintain the table.

    Attributes:
        looks: Number of polls of the table for work.
        buckets: Buckets with files at the last poll.
        most_runs: Largest number of sorted runs of a bucket at the last poll.
        files: Number of live data files at the last poll.
        file_bytes: Size of these files.
        snapshot_id: The newest snapshot at the last poll; None: there was none.
        snapshots: Number of snapshots that are kept; None: not known.
        compactions: Number of compactions of a bucket.
        dropped: Buckets whose compaction was dropped because of a conflicting commit.
        rows_in: Rows read by compactions.
        rows_out: Rows written by compactions, or moved with their files.
        expired: Number of snapshots removed.
        failures: Compactions, polls and expiries that failed.
        error: The current failure; None when there is none.
    """

    looks: int = 0
    buckets: int = 0
    most_runs: int = 0
    files: int = 0
    file_bytes: int = 0
    snapshot_id: int | None = None
    snapshots: int | None = None
    compactions: int = 0
    dropped: int = 0
    rows_in: int = 0
    rows_out: int = 0
    expired: int = 0
    failures: int = 0
    error: str | None = None


class ExecutorsProgress(Contract):
    """A runner's report of its executors on a Spark cluster.

    Attributes:
        running: Executors that run.
        lost: Executors that have ended since the start of the runner, by themselves or with their machines.
        last_lost_host: Host and port of the last of these; None: none was lost.
        last_lost_reason: Why it ended, as Spark tells it.
        last_lost_ms: When the runner noticed, milliseconds since the epoch, UTC.
    """

    running: int
    lost: int = 0
    last_lost_host: str | None = None
    last_lost_reason: str | None = None
    last_lost_ms: int | None = None


class RunnerProgress(Contract):
    """The report of one runner, overwritten every few seconds.

    Attributes:
        runner: The runner's name.
        started_ms: Start of the process, milliseconds since the epoch, UTC.
        updated_ms: Time of this report, milliseconds since the epoch, UTC.
        has_ended: It is the last report of a runner that has ended in order.
        streams: The streams' reports by `<database>.<table>/<stream>`.
        tables: Reports of the tables that the runner compacts, by `<database>.<table>`.
        owner: Id of the process, unique; None: of a version without assignments.
        executors: Its executors; None for a runner whose tasks run on its own machine.
    """

    runner: str
    started_ms: int
    updated_ms: int
    has_ended: bool = False
    streams: Mapping[str, StreamProgress] = Field(default_factory=dict)
    tables: Mapping[str, TableProgress] = Field(default_factory=dict)
    owner: str | None = None
    executors: ExecutorsProgress | None = None

    def is_alive(self, since_ms: int) -> bool:
        """Return whether the runner is alive, as far as the report tells.

        Args:
            since_ms: A runner whose report is older is gone; milliseconds since the epoch, UTC.
        """
        return not self.has_ended and self.updated_ms >= since_ms
