"""Status of streams, of backfills and of the maintenance of tables, as the service returns it (`row` has the status of rows)."""

from collections.abc import Mapping

from pydantic import Field

from braid.schemas.backfill import BackfillState
from braid.schemas.contract import Contract
from braid.schemas.document import DesiredState
from braid.schemas.problem import FieldProblem
from braid.schemas.progress import BackPressure, StreamState, TableProgress


class LastCommit(Contract):
    """A stream's newest commit.

    Attributes:
        snapshot_id: The snapshot; None when only the time is known.
        time: Time of the commit, ISO 8601, UTC.
    """

    snapshot_id: int | None
    time: str


class AccountView(Contract):
    """A stream's records by their outcome; `records` is the sum of the other counts.

    Attributes:
        records: All records.
        accepted: Records that became a row of a file.
        folded: Records merged with a later one of the same key in their micro-batch.
        ignored: Records left out, as the declaration demands.
        dead_lettered: Records that became dead letters.
    """

    records: int = 0
    accepted: int = 0
    folded: int = 0
    ignored: int = 0
    dead_lettered: int = 0


class BackfillStatus(Contract):
    """A backfill of a stream. A field that is None is not known.

    Attributes:
        name: The backfill's name.
        state: RUNNING, WAITING (held back, because the live stream is behind), FINISHED, or STOPPED: started
            again, it continues.
        source: Where its records come from; of files their number, and the name of the file, folder or pattern
            without its path.
        generation: Generation of its records in the order of arrival, below 0.
        account: Counts of the records that are in the table.
        done: The part of the source that was read, from 0 to 1.
        rows_per_second: Rows a second, while it runs.
        seconds_left: Estimated time until the end, while it runs.
        last_commit_at: Time of its newest commit, ISO 8601, UTC.
        reported_at: Time of its process's newest report, ISO 8601, UTC.
        error: Why its process has ended.
    """

    name: str
    state: BackfillState
    source: str
    generation: int
    account: AccountView
    done: float | None = None
    rows_per_second: float | None = None
    seconds_left: float | None = None
    last_commit_at: str
    reported_at: str | None = None
    error: str | None = None


class FailureView(Contract):
    """The failure that keeps a stream from running; in a crash loop the newest one, also while the stream is STARTING or RUNNING.

    Attributes:
        cause: The cause in one line.
        errors: The problems to fix; empty for a temporary failure.
        since: Time of the first of the consecutive failures, ISO 8601, UTC.
        attempts: Consecutive failures, without a commit in between.
        next_attempt_at: Time of the next attempt, ISO 8601, UTC; None: it is under way, or, if the stream is FAILED,
            needs one of the verbs `start`, `resume` and `restart`, or another declaration of the stream.
        crash_loop: Whether five starts within ten minutes have failed without a commit. The runner tries on, at least once a
            minute.
    """

    cause: str
    errors: tuple[FieldProblem, ...] = ()
    since: str
    attempts: int
    next_attempt_at: str | None
    crash_loop: bool = False


class MirrorView(Contract):
    """The mirror of a stream's position in a consumer group.

    Attributes:
        group: The consumer group.
        mirrored_at: Time of the newest commit to the group, ISO 8601, UTC; None: there was none.
        error: Why the newest attempt failed; None: it did not. The stream goes on all the same.
    """

    group: str
    mirrored_at: str | None = None
    error: str | None = None


class StreamStatus(Contract):
    """The desired state of a stream and its state as reported. A field that is None is not known.

    Attributes:
        database: The table's database.
        table: The table's name.
        stream: The stream's name.
        state: The stream's state. UNASSIGNED: no living runner reports it. RETRYING: its runner tries again
            after a temporary failure, without limit. FAILED: a person has to fix something. COMPLETED: it has
            read all that its topic held when it was started, and ends with that. EXTERNAL: Spark programs write it, so no
            runner has it.
        desired_state: The state that the stream's owner has requested.
        trace: Why the stream failed or has no runner any more, as text; None without a failure.
        failure: The failure as fields; None unless RETRYING, FAILED, or STARTING again.
        worker_id: The runner that hosts the stream.
        reported_at: Time of the runner's report, ISO 8601, UTC.
        epoch: Epoch of the claim under which the stream commits.
        offsets: Next offset to read, by Kafka partition.
        end_offsets: The topic's end offset, by Kafka partition. None unless the stream is RUNNING: only a
            running query measures it, and the lag with it.
        lag_records: Records not read yet; None if Kafka has not answered recently.
        lag_seconds: Estimated age of the oldest of these records, too low where one partition is behind the
            others; None if `lag_records` is None, or nothing is known of their age yet: until the query has
            committed a record, or caught up, since its start.
        broker_reached_at: Time when Kafka last answered the runner, ISO 8601, UTC.
        storage_reached_at: Time when the warehouse last answered the runner, ISO 8601, UTC.
        last_commit: The newest commit.
        account: Counts since the stream's first record.
        skipped_offsets: Offsets that the stream has never read because its position was moved over them, on
            request or because they had expired; `/offsets` names the ranges.
        dead_letters: Dead letters by reason, over all queries of the stream.
        replayed_dead_letters: How many of them were replayed; the others are in no row.
        back_pressure: The slowdown because compaction is behind; None unless a query is RUNNING and
            has committed.
        mirror: The mirror of the position in a consumer group, as its runner last reported; None: none is declared.
        records_since_start: Records that the running query has committed.
        unmatched_columns: Columns for which none of these records had a value, with their paths in messages;
            a misspelt path shows here.
        unmatched_fields: Fields of the stream's conditions for which none of these records had a value.
        version: Version of the stream as registered.
        followed_version: The version by which the stream writes, as its runner last reported.
        followed_schema_id: The table's schema by which the stream writes, as its runner last reported.
        followed_since: Time since when the stream writes by both, ISO 8601, UTC.
        backfills: The backfills of the stream, in the order in which they were begun.
        unreadable_reports: Runners whose reports cannot be read; one may be the stream's.
        missing_features: Features that the stream needs and this service lacks: a newer version has
            registered the stream, and only runners of such a version run it.
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
    skipped_offsets: int = 0
    dead_letters: Mapping[str, int] = Field(default_factory=dict)
    replayed_dead_letters: int = 0
    back_pressure: BackPressure | None = None
    mirror: MirrorView | None = None
    records_since_start: int | None = None
    unmatched_columns: Mapping[str, str] = Field(default_factory=dict)
    unmatched_fields: tuple[str, ...] = ()
    version: int = 1
    followed_version: int | None = None
    followed_schema_id: int | None = None
    followed_since: str | None = None
    backfills: tuple[BackfillStatus, ...] = ()
    unreadable_reports: tuple[str, ...] = ()
    missing_features: tuple[str, ...] = ()


class VerbAnswer(StreamStatus):
    """The effect of a lifecycle verb, and the stream's status right after it.

    Attributes:
        verb: The verb.
        message: What was done, or why there was nothing to do.
    """

    verb: str
    message: str


class TableMaintenanceView(TableProgress):
    """One runner's report of the maintenance of a table.

    Attributes:
        worker_id: The runner.
        reported_at: Time of the report, ISO 8601, UTC.
    """

    worker_id: str
    reported_at: str


class MaintenanceStatus(Contract):
    """The state of a table's compaction, and the runners that do it.

    Attributes:
        database: The table's database.
        table: The table's name.
        snapshot_id: The snapshot whose files are counted; None before the first commit.
        buckets: Buckets with files.
        most_runs: Largest number of sorted runs of a bucket; a read of the bucket merges all its runs.
        tombstones: Deletes of removed rows that compactions keep on the highest level, so that older
            records do not restore the rows.
        compaction_trigger: Number of runs at which a compaction is due
            (`num-sorted-run.compaction-trigger`).
        stop_trigger: Number of runs above which streams that write to the bucket are slowed down
            (`num-sorted-run.stop-trigger`).
        upkeep: Reports of the living runners that maintain the table; usually one.
        unreadable_reports: Runners whose reports cannot be read; one may maintain the table.
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
