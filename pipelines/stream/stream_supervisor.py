"""Supervisor of one stream: keeps its query equal to its registration.

    UNASSIGNED ─────────────► STARTING ── claimed ──► RUNNING ── permanent failure ──► FAILED
        ▲                      ▲                       │                                │
        │ closed               │ after a wait          │ other failure                  │ restart asked for,
        └──────── any ─────────┴────── RETRYING ◄──────┘                 or declared    │
                               ▲                                         otherwise:     │
                               │                                         STARTING ◄─────┘
                               └─ Kafka or storage does not answer; the query runs on by itself ─► RUNNING

There is a supervisor while the stream is assigned to this runner. A PAUSED stream stays with it, without a query. A RUNNING
stream becomes COMPLETED by itself when it has read all records that it was started for. The registry records this, so that no
runner starts the stream again.

A runner of a version without assignments may still have the stream, by a lease. Before the first start, and after a fence, the
supervisor waits for the end of that lease.

The running query applies a changed declaration between two micro-batches, where that is possible
(`registry.live_fields`); any other change needs a new query.

Starts that fail again and again without a commit are a *crash loop*, which the report says (`RestartPolicy`). The runner tries on,
and nothing moves the stream to another runner meanwhile.

After a permanent failure (`failure` has the list) a stream is FAILED until its restart is requested, or until
its declaration, the table's declaration or the table's schema changes. After every other failure the query is
started again from the table's offsets, after a wait (`RestartPolicy`), without a limit of attempts.

One thread calls `step`; `set_registered` and `progress` may be used from any thread.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

from braid.lake import (
    Clock,
    InvalidRequest,
    LakeError,
    OffsetMismatch,
    StorageUnavailable,
    StreamFenced,
)
from braid.pipelines.settings import RestartPolicy
from braid.pipelines.stream.failure import Failure, classify_failure
from braid.pipelines.stream.failure_log import FailureLog
from braid.pipelines.stream.stream_query import QueryStarter, RegisteredStream, StreamQuery
from braid.pipelines.stream.stream_report import StreamReport
from braid.registry.live_fields import can_apply_live
from braid.schemas import (
    DesiredState,
    FieldProblem,
    StreamEntry,
    StreamFailure,
    StreamProgress,
    StreamState,
)

_LOG = logging.getLogger(__name__)


class StorageContact(Protocol):
    """Whether storage answers this process."""

    @property
    def answered_ms(self) -> int | None:
        """When it last answered, milliseconds since the epoch; None: never."""
        ...

    @property
    def error(self) -> BaseException | None:
        """Why it does not answer; None: it does."""
        ...


class StreamSupervisor:
    """Starts, watches, restarts and stops the query of one stream."""

    def __init__(
        self,
        *,
        table: str,
        stream: str,
        starter: QueryStarter,
        contact: StorageContact,
        restarts: RestartPolicy,
        measure_ms: int,
        clock: Clock,
        dead_letters: Callable[[], Mapping[str, int]] = dict,
        older_holder: Callable[[], str | None] = lambda: None,
    ) -> None:
        """Make a supervisor that does nothing until `set_registered` and `step`.

        Args:
            table: `<database>.<table>`.
            stream: The stream's name.
            starter: Starts queries.
            contact: Whether the warehouse's storage answers.
            restarts: When failed queries start again.
            measure_ms: Interval between two reads of the topic's end, milliseconds.
            clock: The clock for waits and lag.
            dead_letters: Returns the dead letters of the stream that runners have reported, by
                reason; called at once and after each start. Raises nothing.
            older_holder: Returns the runner of a version without assignments that holds a lease of the stream, or None;
                raises errors of storage.
        """
        self.table = table
        self.stream = stream
        self._starter = starter
        self._contact = contact
        self._older_holder = older_holder
        self._is_free_of_older = False
        self._restarts = restarts
        self._measure_ms = measure_ms
        self._clock = clock
        # Guards `_registered` alone: all else belongs to the thread that calls `step`.
        self._lock = threading.Lock()
        self._registered: RegisteredStream | None = None
        self._query: StreamQuery | None = None
        self._running: RegisteredStream | None = None
        self._completed: StreamEntry | None = None
        self._attempts = 0
        self._failed_ms: deque[int] = deque(maxlen=restarts.crash_loop_starts)
        self._is_crash_loop = False
        self._commits_seen = 0
        self._started_ms = 0
        self._retry_ms: int | None = None
        self._failed: RegisteredStream | None = None
        self._report_failure: Callable[[], None] | None = None
        self._failing_since_ms: int | None = None
        self._reported_failure: StreamFailure | None = None
        self._unanswered = 0
        self._answered_ms: int | None = None
        self._storage = FailureLog(_LOG, f"the warehouse does not answer stream={table}/{stream}")
        self._report = StreamReport(measure_ms=measure_ms, clock=clock, dead_letters=dead_letters)

    @property
    def progress(self) -> StreamProgress:
        """The stream's report as of the last step."""
        return self._report.progress

    def set_registered(self, registered: RegisteredStream | None) -> None:
        """Set the stream's registration; None: it is not registered any more."""
        with self._lock:
            self._registered = registered

    def step(self) -> None:
        """Do all work that is due, and return. Errors that concern only this stream are not raised."""
        with self._lock:
            registered = self._registered
        if registered is None or registered.entry != self._completed:
            self._completed = None
        desired = DesiredState.STOPPED if registered is None else registered.entry.desired_state
        try:
            if registered is None or desired is DesiredState.STOPPED:
                self._stop_query()
                self._forget_failure()
                self._set_state(StreamState.STOPPED)
            elif desired is DesiredState.RUNNING and (
                registered.entry.is_completed or self._completed is not None
            ):
                self._stop_query()
                self._forget_failure()
                self._set_state(StreamState.COMPLETED)
            elif (silence := self._silence_of_storage()) is not None:
                # Nothing changes, and the next step looks again.
                self._set_unanswered(classify_failure(silence))
            elif desired is DesiredState.PAUSED:
                self._stop_query()
                self._forget_failure()
                self._set_state(StreamState.PAUSED)
            else:
                self._keep_running(registered)
        except (LakeError, OSError) as error:
            # Nothing changes, and the next step asks again.
            self._storage.note_failure(error)
            self._set_unanswered(classify_failure(error))

    def close(self) -> None:
        """Stop the query; the report of a stream that is stopped or completed stays."""
        self._stop_query()
        if self.progress.state not in (StreamState.STOPPED, StreamState.COMPLETED):
            self._set_state(StreamState.UNASSIGNED)

    @property
    def _key(self) -> str:
        return f"{self.table}/{self.stream}"

    def _silence_of_storage(self) -> BaseException | None:
        """Return why storage does not answer; None: it does."""
        error = self._contact.error
        if error is not None:
            self._storage.note_failure(error)
        elif self._contact.answered_ms != self._answered_ms:
            self._answered_ms = self._contact.answered_ms
            self._storage.note_success()
            self._report.note_contact(storage_ms=self._answered_ms)
        return error

    def _keep_running(self, registered: RegisteredStream) -> None:
        if self._query is not None and self._takes_restart(registered):
            _LOG.info("restart requested stream=%s", self._key)
            self._stop_query()
            self._forget_failure()
        if self._failed is not None and self._failed.differs(registered):
            self._forget_failure()
        if self._query is not None:
            self._refresh_plan(self._query, registered)
        # The refresh may have ended the query.
        if self._query is not None:
            self._watch(self._query, registered)
        elif self._is_start_due():
            if self._is_with_older_runner():
                self._set_state(StreamState.UNASSIGNED)
            else:
                self._start(registered)
        elif self._report_failure is not None:
            # Meanwhile storage may not have answered, which was reported then.
            self._report_failure()

    def _is_with_older_runner(self) -> bool:
        if self._is_free_of_older:
            return False
        holder = self._older_holder()
        self._is_free_of_older = holder is None
        if holder is not None and self.progress.state is not StreamState.UNASSIGNED:
            _LOG.warning(
                "a runner of an earlier version has the stream stream=%s runner=%s",
                self._key,
                holder,
            )
        return holder is not None

    def _takes_restart(self, registered: RegisteredStream) -> bool:
        running = self._running
        return (
            running is None
            or running.entry.restart_generation != registered.entry.restart_generation
            or not can_apply_live(running.entry.spec, registered.entry.spec)
        )

    def _refresh_plan(self, query: StreamQuery, registered: RegisteredStream) -> None:
        if self._running is None or not self._running.differs(registered):
            return
        try:
            query.refresh_plan()
        except InvalidRequest as error:
            self._stop_query()
            self._fail(error, registered)
            return
        # Not set after an error of storage, which `step` handles: the next step refreshes again.
        self._running = registered

    def _is_start_due(self) -> bool:
        if self._failed is None:
            return True
        if self._retry_ms is None:
            return False
        # A wait that is longer than any means that the clock was set back since it was begun.
        return not 0 < self._retry_ms - self._clock.now_ms() <= self._restarts.wait_ms_max

    def _start(self, registered: RegisteredStream) -> None:
        assert self._query is None, "a stream has one query"
        self._set_state(StreamState.STARTING, failure=self._failure_of_loop())
        self._running = registered
        self._commits_seen = 0
        self._report.measure_anew()
        try:
            query = self._starter.start(registered.document, registered.entry)
        except Exception as error:  # noqa: BLE001 - whatever it is, it ends this stream's start only
            self._fail(error, registered, is_topic_check=True)
            return
        self._report.count_before(query.progress)
        self._query = query
        self._started_ms = self._clock.now_ms()
        # The claim has read from the storage and from Kafka.
        self._report.note_contact(storage_ms=self._started_ms, broker_ms=self._started_ms)
        generation = registered.entry.restart_generation
        _LOG.info("started stream=%s generation=%d", self._key, generation)
        self._set_running()

    def _watch(self, query: StreamQuery, registered: RegisteredStream) -> None:
        # Read first: a query that completes while it is looked at is active here, and completed at the next step.
        is_active = query.is_active
        progress = query.progress
        if progress is not None and progress.commits > self._commits_seen:
            self._commits_seen = progress.commits
            self._forget_attempts()
        if query.is_finished:
            self._stop_query()  # the next step starts the one that continues
            return
        if query.is_completed:
            self._complete(registered)
            return
        if not is_active:
            error = query.failure or RuntimeError("the query ended by itself")
            self._stop_query()
            self._fail(error, registered)
            return
        self._failed = None
        if not self._unanswered:
            self._set_running()
        try:
            query.finish_step()
            query.apply_back_pressure()
            is_answered = self._report.measure(
                query.progress, query.end_offsets, beginning=query.beginning_offsets
            )
        except StorageUnavailable as error:
            # Spark retries by itself, and ends the query when Kafka has not answered for long.
            self._wait_for_kafka(classify_failure(error))
        except (OffsetMismatch, InvalidRequest) as error:
            self._stop_query()
            self._fail(error, registered, is_topic_check=True)
        else:
            if is_answered:
                self._note_answer()

    def _complete(self, registered: RegisteredStream) -> None:
        generation = registered.entry.restart_generation
        # Recorded first: if storage does not answer, the query stays, and the next step tries again.
        self._starter.record_completion(self.table, self.stream, generation=generation)
        # The runner may have read this entry before, and pass it on once more.
        self._completed = registered.entry
        _LOG.info("completed stream=%s generation=%d", self._key, generation)
        self._stop_query()
        self._set_state(StreamState.COMPLETED)

    def _set_running(self) -> None:
        self._unanswered = 0
        if not self._is_crash_loop:
            self._failing_since_ms = None
        self._set_state(StreamState.RUNNING, failure=self._failure_of_loop())

    def _failure_of_loop(self) -> StreamFailure | None:
        """Return the newest failure of a crash loop, for a query that has started again and committed nothing yet."""
        if not self._is_crash_loop or self._reported_failure is None:
            return None
        return self._reported_failure.model_copy(update={"next_attempt_ms": None})

    def _note_answer(self) -> None:
        if self._unanswered:
            _LOG.info("kafka answers again stream=%s", self._key)
        if self._clock.now_ms() - self._started_ms >= self._restarts.wait_ms_max:
            # A topic may be silent: the longest wait without a failure counts like a commit.
            self._forget_attempts()
        self._set_running()

    def _wait_for_kafka(self, failure: Failure) -> None:
        if not self._unanswered:
            _LOG.warning("kafka does not answer stream=%s error=%s", self._key, failure.cause)
        self._unanswered += 1
        self._set_unanswered(failure)

    def _set_unanswered(self, failure: Failure) -> None:
        """Report that the query, if there is one, continues without result until Kafka or storage answers again."""
        attempts = max(1, self._unanswered)
        at_ms = self._clock.now_ms() + self._measure_ms
        trace = f"{failure.text}\nthe runner tries again without limit"
        self._set_failure(
            StreamState.RETRYING, failure, attempts=attempts, at_ms=at_ms, trace=trace
        )

    def _fail(
        self, error: BaseException, registered: RegisteredStream, *, is_topic_check: bool = False
    ) -> None:
        assert self._query is None, "a query is stopped before its failure is reported"
        failure = classify_failure(error, is_topic_check=is_topic_check)
        self._failed = registered
        self._unanswered = 0
        self._count_attempt()
        if isinstance(error, StreamFenced):
            self._is_free_of_older = False
        if failure.is_permanent:
            self._retry_ms = None
            state = StreamState.FAILED
            trace = f"{failure.text}\nonce this is fixed: POST .../streams/{self.stream}/start"
            _LOG.error("failed stream=%s error=%s", self._key, failure.cause)
        else:
            wait_ms = self._restarts.wait_ms(self._attempts)
            self._retry_ms = self._clock.now_ms() + wait_ms
            state = StreamState.RETRYING
            trace = f"{failure.text}\nthe runner makes attempt {self._attempts} in {wait_ms} ms"
            if self._is_crash_loop:
                trace += f"\ncrash loop: {self._attempts} starts have failed without a commit"
            # The trace of an unexpected error shows its origin; logging it once is enough.
            is_new = not failure.is_expected and self._attempts == 1
            _LOG.warning(
                "retrying stream=%s attempt=%d in_ms=%d error=%s",
                self._key,
                self._attempts,
                wait_ms,
                failure.cause,
                exc_info=error if is_new else None,
            )
        self._report_failure = partial(
            self._set_failure,
            state,
            failure,
            attempts=self._attempts,
            at_ms=self._retry_ms,
            trace=trace,
        )
        self._report_failure()

    def _count_attempt(self) -> None:
        self._attempts += 1
        self._failed_ms.append(self._clock.now_ms())
        is_full = len(self._failed_ms) == self._failed_ms.maxlen
        if is_full and self._failed_ms[-1] - self._failed_ms[0] <= self._restarts.crash_loop_ms:
            if not self._is_crash_loop:
                _LOG.error("crash loop stream=%s attempts=%d", self._key, self._attempts)
            self._is_crash_loop = True

    def _forget_attempts(self) -> None:
        self._attempts = 0
        self._failed_ms.clear()
        self._is_crash_loop = False

    def _set_failure(
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
        reported = StreamFailure(
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
            crash_loop=self._is_crash_loop and state is StreamState.RETRYING,
        )
        self._reported_failure = reported
        self._set_state(state, trace=trace, failure=reported)

    def _forget_failure(self) -> None:
        self._failed = None
        self._report_failure = None
        self._failing_since_ms = None
        self._retry_ms = None
        self._forget_attempts()

    def _stop_query(self) -> None:
        if self._query is None:
            return
        query, self._query = self._query, None
        self._unanswered = 0
        query.stop()
        _LOG.info("stopped stream=%s", self._key)
        # Its last commit may have come after the last step.
        self._report.note_progress(query.progress)
        self._report.note_mirror(query.mirror)

    def _set_state(
        self,
        state: StreamState,
        *,
        trace: str | None = None,
        failure: StreamFailure | None = None,
    ) -> None:
        running = self._running
        generation = 0 if running is None else running.entry.restart_generation
        self._report.set_state(state, generation=generation, trace=trace, failure=failure)
        if self._query is not None:
            self._report.note_progress(self._query.progress)
            self._report.note_mirror(self._query.mirror)
