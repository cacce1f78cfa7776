"""A supervisor keeps one stream's query equal to its registration."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import pytest

from braid.lake import (
    BatchAccount,
    InvalidRequest,
    LimitExceeded,
    ManualClock,
    OffsetMismatch,
    Problem,
    StorageUnavailable,
    StreamFenced,
    StreamPosition,
)
from braid.pipelines.kafka.topic import TopicMissing
from braid.pipelines.plan_changes.current_plan import PlanVersion
from braid.pipelines.settings import RestartPolicy
from braid.pipelines.sink.sink_progress import SinkProgress
from braid.pipelines.stream.group_mirror import MirrorState
from braid.pipelines.stream.stream_query import RegisteredStream
from braid.pipelines.stream.stream_supervisor import StreamSupervisor
from braid.registry.rules.stream_completion import complete_stream
from braid.schemas import DesiredState, StreamDefinition, StreamEntry, StreamState, TableDocument
from tests.unit.records.given_streams import given_spec

SPEC = given_spec({"id": "INT", "a": "INT", "version": "INT"})
ENTRY = StreamEntry(spec=complete_stream(SPEC, StreamDefinition(topic="topic"), name="s"))
DOCUMENT = TableDocument(database="db", name="t", table=SPEC, streams={"s": ENTRY})


@dataclass
class StubQuery:
    """A query that a test controls."""

    progress: SinkProgress | None
    end: dict[int, int] = field(default_factory=dict)
    end_error: Exception | None = None
    failure: BaseException | None = None
    is_active: bool = True
    is_finished: bool = False
    is_completed: bool = False
    is_stopped: bool = False
    refreshed: int = 0
    refresh_error: Exception | None = None
    mirror: MirrorState | None = None

    def refresh_plan(self) -> None:
        if self.refresh_error is not None:
            raise self.refresh_error
        self.refreshed += 1

    def finish_step(self) -> None:
        pass

    def apply_back_pressure(self) -> None:
        pass

    @property
    def beginning_offsets(self) -> Mapping[int, int]:
        return dict.fromkeys(self.end, 0)

    def end_offsets(self) -> Mapping[int, int]:
        if self.end_error is not None:
            raise self.end_error
        return self.end

    def stop(self) -> None:
        self.is_stopped = True
        self.is_active = False

    def fail(self, error: BaseException) -> None:
        self.failure = error
        self.is_active = False


class CompletingQuery(StubQuery):
    """A query that completes right after somebody has asked whether it has."""

    @property
    def is_completed(self) -> bool:
        was_active, self.is_active = self.is_active, False
        return not was_active

    @is_completed.setter
    def is_completed(self, _: bool) -> None:
        pass


@dataclass
class StubStarter:
    """Starts stub queries, or fails."""

    error: Exception | None = None
    started: list[StubQuery] = field(default_factory=list)
    dead_lettered: int = 1
    at_start: Callable[[], None] = lambda: None
    completed: list[int] = field(default_factory=list)
    completion_error: Exception | None = None

    def record_completion(self, table: str, stream: str, *, generation: int) -> None:
        assert (table, stream) == ("db.t", "s")
        if self.completion_error is not None:
            raise self.completion_error
        self.completed.append(generation)

    def start(self, document: TableDocument, entry: StreamEntry) -> StubQuery:
        assert document.identifier == "db.t"
        self.at_start()
        if self.error is not None:
            raise self.error
        position = StreamPosition(
            stream="s",
            epoch=len(self.started) + 1,
            topic="topic",
            topic_id="id",
            offsets={0: 5},
            account=BatchAccount(accepted=4, dead_lettered=self.dead_lettered),
        )
        query = StubQuery(progress=SinkProgress(position=position), end={0: 8})
        self.started.append(query)
        return query


@dataclass
class StubContact:
    """Storage that answers as a test says."""

    answered_ms: int | None = None
    error: Exception | None = None


@dataclass
class Bench:
    """A supervisor and what it works with."""

    clock: ManualClock = field(default_factory=ManualClock)
    contact: StubContact = field(default_factory=StubContact)
    older: str | None = None
    starter: StubStarter = field(default_factory=StubStarter)
    reported: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.supervisor = StreamSupervisor(
            table="db.t",
            stream="s",
            starter=self.starter,
            contact=self.contact,
            restarts=RestartPolicy(wait_ms_min=1_000, wait_ms_max=60_000),
            measure_ms=2_000,
            clock=self.clock,
            dead_letters=lambda: self.reported,
            older_holder=lambda: self.older,
        )

    @property
    def state(self) -> StreamState:
        return self.supervisor.progress.state

    @property
    def trace(self) -> str:
        return self.supervisor.progress.trace or ""

    def want(
        self,
        state: DesiredState = DesiredState.RUNNING,
        *,
        generation: int = 0,
        completed: int | None = None,
    ) -> None:
        entry = ENTRY.model_copy(
            update={
                "desired_state": state,
                "restart_generation": generation,
                "completed_generation": completed,
            }
        )
        self.supervisor.set_registered(RegisteredStream(document=DOCUMENT, entry=entry))

    def step(self, *, after_ms: int = 0) -> StreamState:
        self.clock.advance(ms=after_ms)
        self.supervisor.step()
        return self.state


def _refuse(bench: Bench, **reasons: int) -> None:
    query = bench.starter.started[-1]
    assert query.progress is not None
    query.progress = replace(query.progress, commits=1, dead_letters=tuple(reasons.items()))


@pytest.fixture
def bench() -> Bench:
    """A stream that is wanted to run."""
    bench = Bench()
    bench.want()
    return bench


def test_a_registered_stream_is_started_once(bench: Bench) -> None:
    assert bench.step() is StreamState.RUNNING
    assert bench.step() is StreamState.RUNNING

    assert len(bench.starter.started) == 1


def test_a_query_that_completes_while_it_is_looked_at_has_not_failed(bench: Bench) -> None:
    bench.want()
    bench.supervisor.step()
    (query,) = bench.starter.started
    query.__class__ = CompletingQuery
    bench.supervisor.step()
    assert (query.is_active, bench.state) == (False, StreamState.RUNNING)

    bench.supervisor.step()

    assert bench.state is StreamState.COMPLETED
    assert (bench.starter.completed, len(bench.starter.started)) == ([0], 1)


def test_a_query_that_has_ended_as_planned_is_followed_by_another(bench: Bench) -> None:
    bench.step()
    first = bench.starter.started[-1]
    first.is_finished, first.is_active = True, False

    assert bench.step() is StreamState.RUNNING
    assert bench.step() is StreamState.RUNNING

    assert first.is_stopped
    assert len(bench.starter.started) == 2


def _complete(bench: Bench) -> StreamState:
    """Let the running query end by itself, with everything read."""
    query = bench.starter.started[-1]
    query.is_completed, query.is_active = True, False
    return bench.step()


def test_a_query_that_has_read_all_completes_the_stream(bench: Bench) -> None:
    bench.step()

    assert _complete(bench) is StreamState.COMPLETED
    assert bench.starter.completed == [0]
    assert bench.starter.started[-1].is_stopped


def test_a_completed_stream_is_not_started_again_from_an_older_document(bench: Bench) -> None:
    """The runner may have read the registry before the completion was recorded there."""
    bench.step()
    _complete(bench)
    bench.want()
    assert bench.step() is StreamState.COMPLETED

    bench.want(completed=0)
    assert bench.step() is StreamState.COMPLETED
    assert len(bench.starter.started) == 1


def test_a_completed_stream_starts_again_on_request(bench: Bench) -> None:
    bench.step()
    _complete(bench)
    bench.want(generation=1, completed=0)

    assert bench.step() is StreamState.RUNNING
    assert _complete(bench) is StreamState.COMPLETED
    assert bench.starter.completed == [0, 1]


def test_a_stream_that_is_registered_alike_after_it_has_completed_reads_again(
    bench: Bench,
) -> None:
    bench.step()
    _complete(bench)
    bench.want(DesiredState.STOPPED, completed=0)
    assert bench.step() is StreamState.STOPPED
    bench.supervisor.set_registered(None)
    bench.step()
    bench.want()

    assert bench.step() is StreamState.RUNNING
    assert len(bench.starter.started) == 2


def test_a_completion_that_cannot_be_recorded_is_tried_again(bench: Bench) -> None:
    bench.step()
    bench.starter.completion_error = StorageUnavailable("no answer")
    assert _complete(bench) is StreamState.RETRYING
    assert not bench.starter.started[-1].is_stopped

    bench.starter.completion_error = None
    assert bench.step() is StreamState.COMPLETED
    assert len(bench.starter.started) == 1


def test_progress_is_that_of_the_query_and_the_topic(bench: Bench) -> None:
    bench.step()
    bench.step(after_ms=2_000)

    progress = bench.supervisor.progress
    assert (progress.epoch, progress.topic_id) == (1, "id")
    assert (dict(progress.offsets), dict(progress.end_offsets)) == ({0: 5}, {0: 8})
    assert progress.lag_records == 3
    assert progress.account.records == 5


def test_a_backlog_from_before_a_start_has_no_age_until_a_record_of_it_is_committed(
    bench: Bench,
) -> None:
    """The time since the start would make a stream that is a day behind look as if it had almost caught up."""
    bench.step()
    bench.step(after_ms=2_000)
    progress = bench.supervisor.progress
    assert (progress.lag_records, progress.lag_seconds) == (3, None)

    query = bench.starter.started[-1]
    assert query.progress is not None
    query.progress = replace(query.progress, newest_ms=bench.clock.now_ms() - 86_400_000)
    bench.step(after_ms=2_000)
    assert bench.supervisor.progress.lag_seconds == 86_402.0

    query.end = {0: 5}
    bench.step(after_ms=2_000)
    query.end = {0: 6}
    bench.step(after_ms=2_000)
    assert bench.supervisor.progress.lag_seconds == 2.0


def test_another_query_forgets_that_the_one_before_had_caught_up(bench: Bench) -> None:
    bench.step()
    bench.starter.started[-1].end = {0: 5}
    bench.step(after_ms=2_000)
    assert bench.supervisor.progress.lag_seconds == 0
    bench.want(generation=1)
    bench.step()

    bench.step(after_ms=2_000)
    assert bench.supervisor.progress.lag_seconds is None


def test_dead_letters_by_reason_are_summed_over_queries() -> None:
    bench = Bench(reported={"malformed": 1})
    assert bench.supervisor.progress.dead_letters_by_reason == {"malformed": 1}
    bench.want()
    bench.step()
    _refuse(bench, malformed=2)
    bench.step()
    assert bench.supervisor.progress.dead_letters_by_reason == {"malformed": 3}

    bench.want(generation=1)
    bench.starter.dead_lettered = 3
    bench.step()
    assert bench.supervisor.progress.dead_letters_by_reason == {"malformed": 3}
    _refuse(bench, wrong_type=1)
    bench.step()
    assert bench.supervisor.progress.dead_letters_by_reason == {"malformed": 3, "wrong_type": 1}


def test_dead_letters_that_another_runner_counted_are_taken_over() -> None:
    bench = Bench()
    bench.reported = {"tombstone": 1}
    bench.want()
    bench.step()

    assert bench.supervisor.progress.dead_letters_by_reason == {"tombstone": 1}


def test_dead_letters_of_an_earlier_table_of_the_name_are_not_counted() -> None:
    bench = Bench(reported={"malformed": 2})
    bench.want()
    bench.step()

    assert bench.supervisor.progress.dead_letters_by_reason == {}


def test_a_mirror_that_fails_is_reported_and_changes_no_state(bench: Bench) -> None:
    bench.step()
    bench.starter.started[-1].mirror = MirrorState(group="g", mirrored_ms=7, error="members")

    assert bench.step() is StreamState.RUNNING
    mirror = bench.supervisor.progress.mirror
    assert mirror is not None
    assert (mirror.group, mirror.mirrored_ms, mirror.error) == ("g", 7, "members")


def test_columns_that_no_record_has_a_value_for_are_reported(bench: Bench) -> None:
    bench.step()
    query = bench.starter.started[0]
    assert query.progress is not None
    query.progress = replace(
        query.progress, records=7, unmatched=(("a", "payload.aa"),), unmatched_fields=("opp",)
    )
    bench.step()

    progress = bench.supervisor.progress
    assert (progress.records_since_start, progress.unmatched_columns) == (7, {"a": "payload.aa"})
    assert progress.unmatched_fields == ("opp",)


def test_a_stream_of_a_runner_with_leases_is_waited_for(bench: Bench) -> None:
    """A version without assignments has it."""
    bench.older = "another"
    assert bench.step() is StreamState.UNASSIGNED
    assert bench.step() is StreamState.UNASSIGNED
    assert not bench.starter.started

    bench.older = None
    assert bench.step() is StreamState.RUNNING


def test_a_fenced_query_waits_for_the_runner_with_leases_that_has_fenced_it(bench: Bench) -> None:
    bench.step()
    bench.older = "another"
    assert bench.step() is StreamState.RUNNING
    bench.starter.started[0].fail(StreamFenced("newer", stream="s", epoch=1, table_epoch=2))
    bench.step()

    assert bench.step(after_ms=60_000) is StreamState.UNASSIGNED
    assert len(bench.starter.started) == 1


def test_a_pause_and_a_stop_end_the_query(bench: Bench) -> None:
    bench.step()
    bench.want(DesiredState.PAUSED)
    assert bench.step() is StreamState.PAUSED
    assert bench.starter.started[0].is_stopped
    bench.want(DesiredState.STOPPED)
    assert bench.step() is StreamState.STOPPED


def test_lag_is_not_reported_while_it_is_not_measured(bench: Bench) -> None:
    bench.step()
    bench.step(after_ms=2_000)
    assert bench.supervisor.progress.lag_records == 3
    bench.want(DesiredState.PAUSED)
    bench.step()

    progress = bench.supervisor.progress
    assert (progress.lag_records, progress.lag_seconds) == (None, None)


def test_the_bounds_of_the_topic_stay_reported_when_the_stream_stops(bench: Bench) -> None:
    bench.step()
    bench.step(after_ms=2_000)
    measured = bench.supervisor.progress.topic_offsets
    bench.want(DesiredState.STOPPED)
    bench.step()

    progress = bench.supervisor.progress
    assert measured is not None
    assert (dict(measured.beginning), dict(measured.end)) == ({0: 0}, {0: 8})
    assert progress.topic_offsets == measured
    assert progress.end_offsets == {}


def test_a_stream_that_is_not_registered_any_more_is_stopped(bench: Bench) -> None:
    bench.step()
    bench.supervisor.set_registered(None)

    assert bench.step() is StreamState.STOPPED
    assert bench.starter.started[0].is_stopped


def test_a_restart_replaces_the_query(bench: Bench) -> None:
    bench.step()
    bench.want(generation=1)
    bench.step()

    assert [query.is_stopped for query in bench.starter.started] == [True, False]
    assert bench.supervisor.progress.restart_generation == 1


def wanted_with(*, version: int, **spec: object) -> RegisteredStream:
    """The stream of another version, with other fields."""
    entry = ENTRY.model_copy(
        update={"spec": ENTRY.spec.model_copy(update=spec), "version": version}
    )
    return RegisteredStream(document=DOCUMENT, entry=entry)


def test_the_running_query_takes_up_another_version(bench: Bench) -> None:
    bench.step()
    bench.step()
    assert bench.starter.started[0].refreshed == 0
    bench.supervisor.set_registered(wanted_with(version=2, max_message_bytes=7))
    bench.step()
    bench.step()

    (query,) = bench.starter.started
    assert (query.refreshed, query.is_stopped) == (1, False)


def test_the_running_query_takes_up_another_schema(bench: Bench) -> None:
    bench.step()
    document = DOCUMENT.model_copy(update={"schema_id": 1})
    bench.supervisor.set_registered(RegisteredStream(document=document, entry=ENTRY))
    bench.step()

    assert [query.refreshed for query in bench.starter.started] == [1]


def test_a_field_that_is_not_live_takes_a_new_query(bench: Bench) -> None:
    bench.step()
    bench.supervisor.set_registered(wanted_with(version=2, topic="other"))
    bench.step()

    assert [query.is_stopped for query in bench.starter.started] == [True, False]


def test_a_stream_that_fits_no_more_fails_until_it_is_declared_otherwise(bench: Bench) -> None:
    bench.step()
    bench.starter.started[0].refresh_error = InvalidRequest("no such column")
    bench.supervisor.set_registered(wanted_with(version=2))

    assert bench.step() is StreamState.FAILED
    assert "no such column\nonce this is fixed" in bench.trace
    assert bench.starter.started[0].is_stopped
    assert bench.step(after_ms=10**9) is StreamState.FAILED
    bench.supervisor.set_registered(wanted_with(version=3))
    assert bench.step() is StreamState.RUNNING


def test_a_plan_that_cannot_be_read_now_is_refreshed_later(bench: Bench) -> None:
    bench.step()
    query = bench.starter.started[0]
    query.refresh_error = StorageUnavailable("away")
    bench.supervisor.set_registered(wanted_with(version=2))
    assert bench.step() is StreamState.RETRYING
    query.refresh_error = None
    assert bench.step() is StreamState.RUNNING

    assert (query.refreshed, query.is_stopped) == (1, False)


def test_status_has_the_plan_version_of_the_query(bench: Bench) -> None:
    bench.step()
    query = bench.starter.started[0]
    assert query.progress is not None
    version = PlanVersion(schema_id=3, stream_version=2, since_ms=9)
    query.progress = replace(query.progress, plan_version=version)
    bench.step()

    progress = bench.supervisor.progress
    assert (progress.schema_id, progress.stream_version, progress.followed_ms) == (3, 2, 9)


def test_a_failed_query_waits_and_starts_again(bench: Bench) -> None:
    bench.step()
    bench.starter.started[0].fail(OffsetMismatch("a gap", stream="s"))

    assert bench.step() is StreamState.RETRYING
    assert "a gap\nthe runner makes attempt 1 in 1000 ms" in bench.trace
    assert bench.step(after_ms=999) is StreamState.RETRYING
    assert bench.step(after_ms=1) is StreamState.RUNNING
    assert bench.trace == ""
    assert bench.supervisor.progress.failure is None


def test_a_clock_that_is_set_back_prolongs_no_wait(bench: Bench) -> None:
    bench.step()
    bench.starter.started[0].fail(OffsetMismatch("a gap", stream="s"))
    assert bench.step() is StreamState.RETRYING

    assert bench.step(after_ms=-86_400_000) is StreamState.RUNNING


def test_a_failure_that_is_not_permanent_is_retried_without_end(bench: Bench) -> None:
    """An hour without a broker: an attempt a minute, then the stream continues."""
    bench.starter.error = StorageUnavailable("kafka is away")
    since_ms = bench.clock.now_ms()
    for _ in range(60):
        assert bench.step(after_ms=60_000) is not StreamState.FAILED
    assert bench.supervisor.progress.state is StreamState.RETRYING
    failure = bench.supervisor.progress.failure
    bench.starter.error = None

    assert failure is not None
    assert (failure.cause, failure.attempts) == ("kafka is away", 60)
    assert failure.since_ms == since_ms + 60_000
    assert failure.next_attempt_ms == bench.clock.now_ms() + 60_000
    assert bench.step(after_ms=60_000) is StreamState.RUNNING


def test_each_failure_is_one_line_of_the_log(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.starter.error = StorageUnavailable("kafka\nis away")
    for _ in range(3):
        bench.step(after_ms=60_000)

    assert [record.getMessage() for record in caplog.records] == [
        f"retrying stream=db.t/s attempt={n} in_ms={1_000 << (n - 1)} error=kafka; is away"
        for n in (1, 2, 3)
    ]
    assert not any(record.exc_info for record in caplog.records)


def test_only_the_first_of_unexpected_failures_is_logged_with_its_trace(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.starter.error = KeyError("a")
    for _ in range(3):
        assert bench.step(after_ms=60_000) is StreamState.RETRYING

    assert [record.exc_info is not None for record in caplog.records] == [True, False, False]


def test_a_restart_that_is_asked_for_cuts_a_wait_short(bench: Bench) -> None:
    bench.starter.error = StorageUnavailable("kafka is away")
    bench.step()
    bench.starter.error = None

    assert bench.step() is StreamState.RETRYING
    bench.want(generation=1)
    assert bench.step() is StreamState.RUNNING


def test_a_commit_makes_earlier_failures_forgotten(bench: Bench) -> None:
    for _ in range(5):
        bench.step(after_ms=1_000)
        query = bench.starter.started[-1]
        assert query.progress is not None
        query.progress = SinkProgress(position=query.progress.position, commits=1)
        bench.step()
        query.fail(StorageUnavailable("again"))
        bench.step()

    assert "attempt 1 in 1000 ms" in bench.trace


@pytest.mark.parametrize(
    "error", [InvalidRequest("no such column"), LimitExceeded("too many dead letters")]
)
def test_a_permanent_failure_is_not_retried(bench: Bench, error: Exception) -> None:
    bench.step()
    bench.starter.started[0].fail(error)

    assert bench.step() is StreamState.FAILED
    assert bench.step(after_ms=10**9) is StreamState.FAILED
    assert bench.trace.endswith("once this is fixed: POST .../streams/s/start")


def test_a_failed_stream_reports_what_to_mend(bench: Bench) -> None:
    problem = Problem(field="columns.a", value="a", message="no such column", hint="name another")
    bench.starter.error = InvalidRequest("the stream does not fit", problems=[problem])
    bench.step()

    failure = bench.supervisor.progress.failure
    assert failure is not None
    assert failure.next_attempt_ms is None
    (error,) = failure.errors
    assert (error.field, error.value, error.hint) == ("columns.a", "a", "name another")


def test_a_missing_topic_is_waited_for(bench: Bench) -> None:
    bench.starter.error = TopicMissing("no such topic")
    bench.step()
    assert bench.state is StreamState.RETRYING
    assert "no such topic\nthe runner makes attempt 1 in" in bench.trace
    bench.starter.error = None

    assert bench.step(after_ms=60_000) is StreamState.RUNNING
    assert bench.trace == ""


def test_a_topic_deleted_under_a_running_query_is_waited_for(bench: Bench) -> None:
    bench.step()
    bench.starter.started[0].end_error = TopicMissing("no such topic")

    assert bench.step(after_ms=2_000) is StreamState.RETRYING
    assert bench.starter.started[0].is_stopped
    assert bench.step(after_ms=1_000) is StreamState.RUNNING


def test_an_attempt_under_way_keeps_the_failure_of_the_last_one(bench: Bench) -> None:
    bench.starter.error = StorageUnavailable("kafka is away")
    bench.step()
    bench.starter.error = None
    seen: list[tuple[StreamState, str]] = []
    bench.starter.at_start = lambda: seen.append((bench.state, bench.trace))

    assert bench.step(after_ms=1_000) is StreamState.RUNNING
    ((state, trace),) = seen
    assert state is StreamState.STARTING
    assert "kafka is away" in trace
    assert bench.trace == ""


def test_a_topic_that_does_not_fit_the_table_is_not_retried(bench: Bench) -> None:
    bench.starter.error = OffsetMismatch("made again", stream="s")

    assert bench.step() is StreamState.FAILED
    assert "once this is fixed" in bench.trace


def test_a_topic_made_again_under_a_running_query_stops_it(bench: Bench) -> None:
    bench.step()
    bench.starter.started[0].end_error = OffsetMismatch("made again", stream="s")

    assert bench.step(after_ms=2_000) is StreamState.FAILED
    assert bench.starter.started[0].is_stopped


def test_a_cluster_that_does_not_answer_is_reported_and_leaves_the_query_running(
    bench: Bench,
) -> None:
    bench.step()
    bench.step(after_ms=2_000)
    reached_ms = bench.clock.now_ms()
    (query,) = bench.starter.started
    query.end_error = StorageUnavailable("kafka is away")
    for _ in range(10):
        assert bench.step(after_ms=500) is (
            StreamState.RUNNING
            if bench.clock.now_ms() < reached_ms + 2_000
            else StreamState.RETRYING
        )

    progress = bench.supervisor.progress
    assert not query.is_stopped
    assert (progress.lag_records, progress.lag_seconds, progress.end_offsets) == (None, None, {})
    assert progress.broker_reached_ms == reached_ms
    assert progress.failure is not None
    assert (progress.failure.cause, progress.failure.attempts) == ("kafka is away", 2)
    assert progress.failure.since_ms == reached_ms + 2_000
    query.end_error = None
    assert bench.step(after_ms=2_000) is StreamState.RUNNING
    assert bench.trace == ""
    assert bench.supervisor.progress.lag_records == 3
    assert bench.supervisor.progress.broker_reached_ms == bench.clock.now_ms()


def test_storage_that_does_not_answer_is_reported(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.contact.answered_ms = 7
    bench.step()
    bench.contact.error = StorageUnavailable("the store is away")
    for _ in range(5):
        assert bench.step(after_ms=3_000) is StreamState.RETRYING

    assert not bench.starter.started[0].is_stopped
    assert bench.supervisor.progress.storage_reached_ms is not None
    assert (
        caplog.messages.count(
            "the warehouse does not answer stream=db.t/s error=StorageUnavailable: the store is away"
        )
        == 1
    )
    bench.contact.error, bench.contact.answered_ms = None, 8
    assert bench.step() is StreamState.RUNNING
    assert bench.supervisor.progress.storage_reached_ms == 8


def test_a_failed_stream_stays_failed_when_storage_answers_again(bench: Bench) -> None:
    bench.step()
    bench.starter.started[0].fail(InvalidRequest("too wide"))
    assert bench.step() is StreamState.FAILED
    failure, trace = bench.supervisor.progress.failure, bench.trace
    bench.contact.error = StorageUnavailable("the store is away")
    assert bench.step(after_ms=3_000) is StreamState.RETRYING
    bench.contact.error = None

    assert bench.step() is StreamState.FAILED
    assert (bench.supervisor.progress.failure, bench.trace) == (failure, trace)
    assert len(bench.starter.started) == 1


def test_starts_that_fail_again_and_again_are_a_crash_loop_until_a_commit(bench: Bench) -> None:
    bench.starter.error = RuntimeError("boom")
    loops = []
    for _ in range(6):
        bench.step(after_ms=60_000)
        failure = bench.supervisor.progress.failure
        assert failure is not None
        loops.append(failure.crash_loop)

    assert loops == [False, False, False, False, True, True]
    assert "crash loop: 6 starts have failed without a commit" in bench.trace
    assert failure is not None
    assert failure.next_attempt_ms == bench.clock.now_ms() + 32_000
    bench.starter.error = None
    bench.step(after_ms=60_000)
    failure = bench.supervisor.progress.failure
    assert bench.state is StreamState.RUNNING
    assert failure is not None
    assert (failure.crash_loop, failure.attempts, failure.next_attempt_ms) == (True, 6, None)
    bench.step()
    query = bench.starter.started[-1]
    assert query.progress is not None
    shown = [bench.supervisor.progress.failure]
    query.progress = replace(query.progress, commits=1)
    bench.step()
    shown.append(bench.supervisor.progress.failure)
    assert shown == [failure, None]
    query.fail(RuntimeError("boom"))
    bench.step()
    assert bench.supervisor.progress.failure is not None
    assert not bench.supervisor.progress.failure.crash_loop


def test_a_restart_that_is_asked_for_ends_a_crash_loop(bench: Bench) -> None:
    bench.starter.error = RuntimeError("boom")
    for _ in range(5):
        bench.step(after_ms=60_000)
    bench.want(generation=1)
    bench.step()

    failure = bench.supervisor.progress.failure
    assert failure is not None
    assert (failure.crash_loop, failure.attempts) == (False, 1)


def test_failures_that_come_slowly_are_no_crash_loop(bench: Bench) -> None:
    bench.starter.error = RuntimeError("boom")
    for _ in range(8):
        bench.step(after_ms=160_000)

    assert bench.supervisor.progress.failure is not None
    assert not bench.supervisor.progress.failure.crash_loop


def test_a_long_run_without_records_makes_earlier_failures_forgotten(bench: Bench) -> None:
    bench.starter.error = StorageUnavailable("away")
    for _ in range(5):
        bench.step(after_ms=60_000)
    bench.starter.error = None
    bench.step(after_ms=60_000)
    bench.step(after_ms=60_000)
    bench.starter.started[0].fail(StorageUnavailable("again"))
    bench.step()

    assert "attempt 1 in 1000 ms" in bench.trace


@pytest.mark.parametrize("desired", [DesiredState.RUNNING, DesiredState.STOPPED])
def test_closing_stops_the_query_and_keeps_the_state_of_a_stopped_stream(
    bench: Bench, desired: DesiredState
) -> None:
    bench.step()
    bench.want(desired)
    bench.step()
    bench.supervisor.close()

    assert bench.starter.started[0].is_stopped
    is_stopped = desired is DesiredState.STOPPED
    assert bench.state is (StreamState.STOPPED if is_stopped else StreamState.UNASSIGNED)


def test_the_load_is_the_part_of_the_time_that_batches_take(bench: Bench) -> None:
    bench.step()
    query = bench.starter.started[0]
    loads = []
    for commits in range(1, 16):
        assert query.progress is not None
        query.progress = replace(query.progress, commits=commits, batch_ms=1_500)
        bench.step(after_ms=5_000)
        loads.append(bench.supervisor.progress.load)

    assert loads[:11] == [None] * 11
    assert loads[11:] == pytest.approx([0.3] * 4, abs=0.01)
    bench.want(generation=1)
    bench.step()
    assert bench.supervisor.progress.load is None
