"""Keeps one stream's query equal to what is wanted of it.

    UNASSIGNED ── lease ──► STARTING ── claimed ──► RUNNING ── a person has to mend it ──► FAILED
        ▲                      ▲                       │                                     │
        │ lease lost           │ after a wait          │ all else              asked for, or │
        └──────── any ─────────┴────── RETRYING ◄──────┘              declared otherwise:    │
                               ▲                                             STARTING ◄──────┘
                               └─ Kafka does not answer; the query goes on by itself ─► RUNNING
    PAUSED keeps the lease without a query; STOPPED gives it back.

A changed declaration is taken up by the running query between two micro-batches; what a query is
fixed to (`plan_source.LIVE_FIELDS` has the rest) takes a new one.

What a person has to mend (`pipelines.stream.failure` has the list) makes a stream FAILED until somebody asks
for another start or declares it otherwise. Every other failure is tried again without end, at most a
minute apart, from the table's offsets.

One thread calls `step`; `progress` may be read from any.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from lake import Clock, InvalidRequest, LakeError, OffsetMismatch, StorageUnavailable, StreamFenced
from pipelines.settings import RestartPolicy
from pipelines.sink.sink_progress import SinkProgress
from pipelines.stream.current_plan import can_apply_live
from pipelines.stream.failure import Failure, classify_failure
from pipelines.stream.failure_log import FailureLog
from pipelines.stream.stream_report import StreamReport
from registry.store.leases import Lease, LeaseStore
from schemas import (
    DesiredState,
    FieldProblem,
    StreamEntry,
    StreamFailure,
    StreamProgress,
    StreamState,
    TableDocument,
)

_LOG = logging.getLogger(__name__)


class StreamQuery(Protocol):
    """A running query, as `Ingest` is one."""

    @property
    def is_active(self) -> bool:
        """Whether it still runs."""
        ...

    @property
    def is_finished(self) -> bool:
        """Whether it has ended as planned, and another one is to go on."""
        ...

    @property
    def failure(self) -> BaseException | None:
        """What ended it."""
        ...

    @property
    def progress(self) -> SinkProgress | None:
        """What it has committed."""
        ...

    def refresh_plan(self) -> None:
        """Take up what has changed in the declaration or the table; raises what ends the query."""
        ...

    def finish_step(self) -> None:
        """End the query if another one is to continue now, with more partitions; raises what ends it."""
        ...

    def apply_back_pressure(self) -> None:
        """Apply the back-pressure of the table; raises only what ends the query."""
        ...

    def end_offsets(self) -> Mapping[int, int]:
        """Return the topic's end by partition."""
        ...

    def stop(self) -> None:
        """Stop it."""
        ...


class QueryStarter(Protocol):
    """Starts queries."""

    def start(self, document: TableDocument, entry: StreamEntry) -> StreamQuery:
        """Return the started query of a stream."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredStream:
    """What the registry says of the stream now."""

    document: TableDocument
    entry: StreamEntry


class StreamSupervisor:
    """Starts, watches, restarts and stops the query of one stream."""

    def __init__(
        self,
        *,
        table: str,
        stream: str,
        owner: str,
        starter: QueryStarter,
        leases: LeaseStore,
        lease_ttl_ms: int,
        restarts: RestartPolicy,
        measure_ms: int,
        clock: Clock,
        dead_letters: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        """Make a supervisor that does nothing until `want` and `step`.

        Args:
            table: `<database>.<table>`.
            stream: The stream's name.
            owner: Who takes the lease: unique to this process.
            starter: Starts queries.
            leases: The warehouse's.
            lease_ttl_ms: How long the stream stays ours without a word from us.
            restarts: When failed queries start again.
            measure_ms: How often the topic's end is asked for.
            clock: For leases, waits and lag.
            dead_letters: Tells what runners have reported of the stream's dead letters, by
                reason; asked at once and before each start. Raises nothing.
        """
        self.table = table
        self.stream = stream
        self._owner = owner
        self._starter = starter
        self._leases = leases
        self._lease_ttl_ms = lease_ttl_ms
        self._restarts = restarts
        self._clock = clock
        self._lock = threading.Lock()
        self._wanted: RegisteredStream | None = None
        self._lease: Lease | None = None
        self._renewed_ms = 0
        self._query: StreamQuery | None = None
        self._running: RegisteredStream | None = None
        self._attempts = 0
        self._commits_seen = 0
        self._started_ms = 0
        self._measure_ms = measure_ms
        self._retry_ms: int | None = None
        self._failed: RegisteredStream | None = None
        self._failing_since_ms: int | None = None
        self._unanswered = 0
        self._storage = FailureLog(_LOG, f"the warehouse does not answer stream={table}/{stream}")
        self._report = StreamReport(measure_ms=measure_ms, clock=clock, dead_letters=dead_letters)

    @property
    def progress(self) -> StreamProgress:
        """The stream as of the last step."""
        return self._report.progress

    def want(self, wanted: RegisteredStream | None) -> None:
        """Say what the registry says; None: it does not know the stream any more."""
        with self._lock:
            self._wanted = wanted

    def step(self) -> None:
        """Do what is due, and come back. Raises nothing that concerns only this stream."""
        with self._lock:
            wanted = self._wanted
        desired = DesiredState.STOPPED if wanted is None else wanted.entry.desired_state
        try:
            if wanted is None or desired is DesiredState.STOPPED:
                self._stop_query()
                self._release()
                self._forget_failure()
                self._tell(StreamState.STOPPED)
            elif not self._has_lease():
                self._stop_query()
                self._tell(StreamState.UNASSIGNED)
            elif desired is DesiredState.PAUSED:
                self._stop_query()
                self._forget_failure()
                self._tell(StreamState.PAUSED)
            else:
                self._keep_running(wanted)
        except (LakeError, OSError) as error:
            # Storage did not answer about the lease: keep what we have, ask again.
            self._storage.failed(error)
            self._tell_unanswered(classify_failure(error))

    def close(self) -> None:
        """Stop the query and give the lease back."""
        self._stop_query()
        try:
            self._release()
        except LakeError as error:
            _LOG.warning("lease not released stream=%s error=%s", self._key, error)
        self._tell(StreamState.UNASSIGNED)

    @property
    def _key(self) -> str:
        return f"{self.table}/{self.stream}"

    def _has_lease(self) -> bool:
        now_ms = self._clock.now_ms()
        if self._lease is not None:
            if now_ms - self._renewed_ms < self._lease_ttl_ms // 3:
                return True
            self._lease = self._leases.renew(self._lease)
            if self._lease is None:
                _LOG.warning("lease lost stream=%s", self._key)
                return False
        else:
            ttl_ms = self._lease_ttl_ms
            self._lease = self._leases.acquire(self.table, self.stream, self._owner, ttl_ms)
        self._renewed_ms = now_ms
        self._storage.over()
        self._report.reached(storage_ms=now_ms)
        return self._lease is not None

    def _release(self) -> None:
        if self._lease is not None:
            self._leases.release(self._lease)
            self._lease = None

    def _keep_running(self, wanted: RegisteredStream) -> None:
        if self._query is not None and self._takes_restart(wanted):
            _LOG.info("restart wanted stream=%s", self._key)
            self._stop_query()
            self._forget_failure()
        if self._failed is not None and _differ(self._failed, wanted):
            self._forget_failure()
        if self._query is not None:
            self._follow(self._query, wanted)
        if self._query is not None:
            self._watch(self._query, wanted)
        elif self._is_start_due():
            self._start(wanted)

    def _takes_restart(self, wanted: RegisteredStream) -> bool:
        running = self._running
        return (
            running is None
            or running.entry.restart_generation != wanted.entry.restart_generation
            or not can_apply_live(running.entry.spec, wanted.entry.spec)
        )

    def _follow(self, query: StreamQuery, wanted: RegisteredStream) -> None:
        if self._running is None or not _differ(self._running, wanted):
            return
        try:
            query.refresh_plan()
        except InvalidRequest as error:
            self._stop_query()
            self._fail(error, wanted)
            return
        # Storage that does not answer comes to `step`, and the next one asks again.
        self._running = wanted

    def _is_start_due(self) -> bool:
        if self._failed is None:
            return True
        return self._retry_ms is not None and self._clock.now_ms() >= self._retry_ms

    def _start(self, wanted: RegisteredStream) -> None:
        self._tell(StreamState.STARTING)
        self._running = wanted
        self._commits_seen = 0
        self._report.measure_anew()
        try:
            query = self._starter.start(wanted.document, wanted.entry)
        except Exception as error:  # noqa: BLE001 - whatever it is, it ends this stream's start only
            self._fail(error, wanted, is_topic_check=True)
            return
        self._report.count_before(query.progress)
        self._query = query
        self._started_ms = self._clock.now_ms()
        # To claim the stream both were asked.
        self._report.reached(storage_ms=self._started_ms, broker_ms=self._started_ms)
        _LOG.info("started stream=%s generation=%d", self._key, wanted.entry.restart_generation)
        self._run_on()

    def _watch(self, query: StreamQuery, wanted: RegisteredStream) -> None:
        progress = query.progress
        if progress is not None and progress.commits > self._commits_seen:
            self._commits_seen = progress.commits
            self._attempts = 0
        if query.is_finished:
            self._stop_query()  # the next step starts the one that goes on
            return
        if not query.is_active:
            error = query.failure or RuntimeError("the query ended by itself")
            self._stop_query()
            self._fail(error, wanted)
            return
        self._failed = None
        if not self._unanswered:
            self._run_on()
        try:
            query.finish_step()
            query.apply_back_pressure()
            is_answered = self._report.measure(query.progress, query.end_offsets)
        except StorageUnavailable as error:
            # Spark asks again by itself, and ends the query when it has asked in vain for long.
            self._wait_for_kafka(classify_failure(error))
        except (OffsetMismatch, InvalidRequest) as error:
            self._stop_query()
            self._fail(error, wanted, is_topic_check=True)
        else:
            if is_answered:
                self._answered()

    def _run_on(self) -> None:
        self._unanswered = 0
        self._failing_since_ms = None
        self._tell(StreamState.RUNNING)

    def _answered(self) -> None:
        if self._unanswered:
            _LOG.info("kafka answers again stream=%s", self._key)
        if self._clock.now_ms() - self._started_ms >= self._restarts.wait_ms_max:
            # A topic may be silent: so long without a failure is as good as a commit.
            self._attempts = 0
        self._run_on()

    def _wait_for_kafka(self, failure: Failure) -> None:
        if not self._unanswered:
            _LOG.warning("kafka does not answer stream=%s error=%s", self._key, failure.cause)
        self._unanswered += 1
        self._tell_unanswered(failure)

    def _tell_unanswered(self, failure: Failure) -> None:
        """Tell that a query, if there is one, goes on in vain until something answers again."""
        attempts = max(1, self._unanswered)
        at_ms = self._clock.now_ms() + self._measure_ms
        trace = f"{failure.text}\ntried again without end"
        self._tell_failure(
            StreamState.RETRYING, failure, attempts=attempts, at_ms=at_ms, trace=trace
        )

    def _fail(
        self, error: BaseException, wanted: RegisteredStream, *, is_topic_check: bool = False
    ) -> None:
        failure = classify_failure(error, is_topic_check=is_topic_check)
        self._failed = wanted
        self._unanswered = 0
        self._attempts += 1
        if isinstance(error, StreamFenced):
            # Whoever fenced us is the owner now; if that is a mistake, the lease expires.
            self._renewed_ms = 0
        if failure.is_permanent:
            self._retry_ms = None
            state = StreamState.FAILED
            trace = f"{failure.text}\nwhen this is mended: POST .../streams/{self.stream}/start"
            _LOG.error("failed stream=%s error=%s", self._key, failure.cause)
        else:
            wait_ms = self._restarts.wait_ms(self._attempts)
            self._retry_ms = self._clock.now_ms() + wait_ms
            state = StreamState.RETRYING
            trace = f"{failure.text}\nattempt {self._attempts} in {wait_ms} ms"
            # Where nobody expected it, the first trace says where it comes from.
            is_new = not failure.is_expected and self._attempts == 1
            _LOG.warning(
                "retrying stream=%s attempt=%d in_ms=%d error=%s",
                self._key,
                self._attempts,
                wait_ms,
                failure.cause,
                exc_info=error if is_new else None,
            )
        self._tell_failure(
            state, failure, attempts=self._attempts, at_ms=self._retry_ms, trace=trace
        )

    def _tell_failure(
        self,
        state: StreamState,
        failure: Failure,
        *,
        attempts: int,
        at_ms: int | None,
        trace: str,
    ) -> None:
        if self._failing_since_ms is None:
            self._failing_since_ms = self._clock.now_ms()
        told = StreamFailure(
            cause=failure.cause,
            errors=tuple(
                FieldProblem(
                    pointer=None,
                    field=problem.field,
                    value=problem.value,
                    message=problem.message,
                    hint=problem.hint,
                )
                for problem in failure.problems
            ),
            since_ms=self._failing_since_ms,
            attempts=attempts,
            next_attempt_ms=at_ms,
        )
        self._tell(state, trace=trace, failure=told)

    def _forget_failure(self) -> None:
        self._failed = None
        self._failing_since_ms = None
        self._retry_ms = None
        self._attempts = 0

    def _stop_query(self) -> None:
        if self._query is None:
            return
        query, self._query = self._query, None
        self._unanswered = 0
        query.stop()
        _LOG.info("stopped stream=%s", self._key)
        self._report.note(query.progress)

    def _tell(
        self,
        state: StreamState,
        *,
        trace: str | None = None,
        failure: StreamFailure | None = None,
    ) -> None:
        running = self._running
        generation = 0 if running is None else running.entry.restart_generation
        self._report.tell(state, generation=generation, trace=trace, failure=failure)
        if self._query is not None:
            self._report.note(self._query.progress)


def _differ(known: RegisteredStream, wanted: RegisteredStream) -> bool:
    return (
        known.entry.spec != wanted.entry.spec
        or known.entry.version != wanted.entry.version
        or known.entry.restart_generation != wanted.entry.restart_generation
        or known.document.table != wanted.document.table
        or known.document.schema_id != wanted.document.schema_id
    )
