"""Runner: keeps the running queries of one process equal to the registry.

One Spark driver, one thread per stream. A runner runs the queries of those streams that the assignment gives it. Any number of
runners can work on one table, because nothing but the table connects their queries. It maintains the tables of its streams,
unless its settings say otherwise. It lists and replays dead letters (`LetterDesk`): of its streams, and of streams without a
runner, such as stopped ones, if it is the first living runner that may have them.

    registry ────► Runner.run ──► StreamSupervisor ──► Ingest ──► table
    assignment ──►  │││├──────────── heartbeat ◄────────┘          ▲
                    └└└└─────────► HostedTables: compaction ───────┘
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from uuid import uuid4

from braid.lake import BucketPool, Catalog, Clock, FileIO, LakeError
from braid.pipelines.hosted_tables import HostedTables
from braid.pipelines.maintenance_requests import MaintenanceRequests
from braid.pipelines.metrics import ENDING, UNREAD, RunnerMetrics
from braid.pipelines.placement.heartbeat import Heartbeat
from braid.pipelines.placement.kept_reports import KeptReports
from braid.pipelines.placement.runner_placement import RunnerPlacement
from braid.pipelines.placement.stream_view import StreamView
from braid.pipelines.replay.letter_desk import LetterDesk
from braid.pipelines.settings import RunnerSettings
from braid.pipelines.stream.dead_letter_counts import reported_counts
from braid.pipelines.stream.failure_log import FailureLog
from braid.pipelines.stream.hosted_stream import QUERY_STOP_SECONDS_MAX, HostedStream
from braid.pipelines.stream.stream_query import QueryStarter, RegisteredStream
from braid.pipelines.stream.stream_supervisor import StreamSupervisor
from braid.registry.errors import FeaturesMissing, RegistryError
from braid.registry.placement.assignment import Member, PlaceState
from braid.registry.store.assignments import AssignmentStore
from braid.registry.store.documents import RegisteredTables, RegistryStore
from braid.registry.store.leases import LeaseStore
from braid.registry.store.progress import ProgressStore, stream_key
from braid.registry.store.registry_view import RegistryView
from braid.registry.store.stored_documents import FEATURES, features_missing, missing_features
from braid.registry.store.stream_holders import StreamHolders
from braid.schemas import ExecutorsProgress, RunnerProgress, StreamProgress, StreamState

_LOG = logging.getLogger(__name__)
_KEPT_LOOK_MS = 60_000
_IDLE_THREAD_SECONDS = 0.1  # one without a query ends at once
_IDLE = (StreamState.UNASSIGNED, StreamState.STOPPED, StreamState.COMPLETED)


class Runner:
    """Hosts streams until it is asked to stop."""

    def __init__(
        self,
        settings: RunnerSettings,
        *,
        starter: QueryStarter,
        file_io: FileIO,
        clock: Clock,
        requests: MaintenanceRequests | None = None,
        metrics: RunnerMetrics | None = None,
        new_pool: Callable[[], BucketPool] | None = None,
        executors: Callable[[], ExecutorsProgress | None] = lambda: None,
    ) -> None:
        """Make a runner that hosts nothing yet.

        Args:
            settings: The streams that the runner may host, and the intervals of its polls.
            starter: Starts the queries.
            file_io: The warehouse's storage.
            clock: The clock for reports and waits.
            requests: Of the started queries for maintenance; None: they make none.
            metrics: Of the process; None: metrics that nobody sees.
            new_pool: Makes the pool that compacts; None: processes on this machine.
            executors: Returns the report of the executors on a cluster; returns at once and raises nothing.
        """
        self._executors = executors
        self._metrics = metrics or RunnerMetrics()
        self._settings = settings
        self._starter = starter
        self._clock = clock
        warehouse = settings.warehouse
        store = RegistryStore(file_io, warehouse, clock)
        self._registry = RegistryView(store, file_io, warehouse)
        self._leases = LeaseStore(file_io, warehouse, clock)
        self._progress = ProgressStore(file_io, warehouse, clock)
        self._owner = f"{settings.name}-{uuid4().hex[:12]}"
        self._started_ms = clock.now_ms()
        self._reading = FailureLog(_LOG, "registry cannot be read")
        self._placing = FailureLog(_LOG, "the assignment of streams cannot be followed")
        self._view = StreamView()
        self._hosted: dict[str, HostedStream] = {}
        self._kept = KeptReports({})
        self._unreadable: dict[str, str] = {}
        self._is_registry_read = False
        self._reported: Mapping[str, StreamState] = {}
        self._served: tuple[object, ...] | None = None
        self._followed: tuple[int, int] | None = None
        self._newer: Mapping[str, FeaturesMissing] = {}
        self._heartbeat = Heartbeat(
            self._progress,
            name=settings.name,
            ttl_ms=settings.lease_ttl_ms,
            report=self.report,
            clock=clock,
        )
        self._placement = RunnerPlacement(
            AssignmentStore(file_io, warehouse, clock),
            StreamHolders(file_io, warehouse, clock),
            self._progress,
            self._heartbeat,
            name=settings.name,
            member=Member(
                owner=self._owner,
                labels=settings.labels,
                streams=settings.streams,
                streams_max=settings.streams_max,
                features=tuple(sorted(FEATURES)),
                ttl_ms=settings.lease_ttl_ms,
            ),
            on_lost=self._metrics.lost_streams.inc,
        )
        self._letters = LetterDesk(
            file_io=file_io, warehouse=warehouse, clusters=settings.clusters, clock=clock
        )
        self._maintenance: HostedTables | None = None
        if settings.maintains:
            self._maintenance = HostedTables(
                Catalog(warehouse, file_io=file_io, clock=clock),
                leases=self._leases,
                owner=self._owner,
                lease_ttl_ms=settings.lease_ttl_ms,
                workers=settings.maintenance_workers,
                clock=clock,
                new_pool=new_pool,
            )
            if requests is not None:
                requests.answer_with(self._maintenance.poll_soon)

    def run(self, stop: threading.Event, *, lost: threading.Event | None = None) -> None:
        """Follow the registry until `stop` is set, then let others take the streams, stop every query and return.

        Args:
            stop: Asks the runner to end.
            lost: Set if no query can run any more: then all streams are released at once.
        """
        self._take_over_reports()
        try:
            self._heartbeat.start(interval_ms=max(self._settings.progress_ms, 1))
            self._letters.start(interval_ms=self._settings.poll_ms)
            if self._maintenance is not None:
                self._maintenance.start(interval_ms=self._settings.maintenance_ms)
            while not stop.is_set():
                self._step()
                self._metrics.not_ready = None if self._is_registry_read else UNREAD
                stop.wait(self._settings.poll_ms / 1_000)
        finally:
            self._close(drains=lost is None or not lost.is_set())

    def _step(self) -> None:
        self._follow_registry()
        needed = self._view.needed if self._is_registry_read else None
        error: Exception | None = None
        follows: tuple[Callable[[], None], ...] = (
            partial(self._placement.step, needed),
            # Also by what was known before: without heartbeats it is nothing, and the queries stop.
            lambda: self._apply(self._placement.mine),
        )
        for follow in follows:
            try:
                follow()
            except (LakeError, OSError, RegistryError) as caught:
                error = error or caught
        if error is None:
            self._placing.note_success()
        else:
            self._placing.note_failure(error)
        self._serve_letters()
        if self._maintenance is not None:
            self._maintenance.set_tables(self._hosted_tables())
        states = {key: one.supervisor.progress.state for key, one in self._hosted.items()}
        if states != self._reported:
            self._reported = states
            self._heartbeat.beat_soon()

    def _follow_registry(self) -> None:
        try:
            tables = self._registry.tables()  # one request to storage while nothing changes
        except (LakeError, OSError) as error:
            # Running queries continue: nothing is known to have changed.
            self._reading.note_failure(error)
            return
        self._reading.note_success()
        self._is_registry_read = True
        self._view.update(tables)
        now_ms = self._clock.now_ms()
        followed = (self._view.version, now_ms // _KEPT_LOOK_MS)
        if followed != self._followed:
            self._followed = followed
            self._newer = _newer_streams(tables)
            self._kept.update(self._view.entry, now_ms=now_ms)
        self._warn_of_unreadable({**tables.unreadable, **tables.newer, **self._newer})

    def _apply(self, mine: Mapping[str, PlaceState]) -> None:
        """Start, adapt and stop queries as the assignment and the registry say, and let go of streams that have stopped."""
        for key, hosted in list(self._hosted.items()):
            if mine.get(key) is not PlaceState.ASSIGNED:
                hosted.ask_to_stop()
            elif not self._view.is_unreadable(key):
                # Queries of a table whose document cannot be read continue as they are.
                hosted.supervisor.set_registered(self._view.registered(key))
                if key not in self._view.needed and hosted.supervisor.progress.state in _IDLE:
                    hosted.ask_to_stop()
                    hosted.join(_IDLE_THREAD_SECONDS)
            if hosted.has_ended:
                self._kept.keep(key, hosted.supervisor.progress)
                del self._hosted[key]
        free: list[str] = []
        for key, state in mine.items():
            if key in self._hosted:
                if self._hosted[key].is_given_up:
                    _LOG.error(
                        "query did not stop within %d s stream=%s", QUERY_STOP_SECONDS_MAX, key
                    )
                    free.append(key)
            elif state is PlaceState.REVOKING or self._is_unneeded(key):
                free.append(key)
            elif (registered := self._view.registered(key)) is not None:
                self._hosted[key] = self._host(registered)
                self._kept.drop(key)
        if free:
            self._placement.let_go(free)

    def _is_unneeded(self, key: str) -> bool:
        return (
            self._is_registry_read
            and key not in self._view.needed
            and not self._view.is_unreadable(key)
        )

    def _serve_letters(self) -> None:
        served = (self._view.version, self._placement.assignment, self._placement.alive)
        if served == self._served:
            return
        self._served = served
        mine, places = self._placement.mine, self._placement.assignment.streams
        self._letters.set_streams(
            {
                need.key: (stream.document, stream.entry)
                for need, stream in self._view.streams()
                if need.key in mine or (need.key not in places and self._placement.serves(need))
            }
        )

    def _warn_of_unreadable(self, unreadable: Mapping[str, Exception]) -> None:
        """Log why a table or stream is left alone: once, and again when the reason changes."""
        reasons = {identifier: str(error) for identifier, error in unreadable.items()}
        for identifier, error in reasons.items():
            if self._unreadable.get(identifier) != error:
                _LOG.warning(
                    "cannot apply the registered state name=%s error=%s", identifier, error
                )
        self._unreadable = reasons

    def _host(self, registered: RegisteredStream) -> HostedStream:
        table, stream = registered.document.identifier, registered.entry.spec.name
        supervisor = StreamSupervisor(
            table=table,
            stream=stream,
            starter=self._starter,
            contact=self._heartbeat,
            restarts=self._settings.restarts,
            measure_ms=self._settings.progress_ms,
            clock=self._clock,
            dead_letters=partial(self._reported_dead_letters, stream_key(table, stream)),
            older_holder=partial(self._older_holder, table, stream),
        )
        return HostedStream(supervisor, registered, poll_ms=self._settings.poll_ms)

    def _older_holder(self, table: str, stream: str) -> str | None:
        lease = self._leases.holder(table, stream)
        return None if lease is None else lease.owner

    def _hosted_tables(self) -> set[str]:
        """Return the tables of the streams that this runner works on now."""
        supervisors = [hosted.supervisor for hosted in self._hosted.values()]
        return {one.table for one in supervisors if one.progress.state not in _IDLE}

    def _take_over_reports(self) -> None:
        """Go on with the reports of the process that had the name before; warn if it is alive, and of an earlier version."""
        name, now_ms = self._settings.name, self._clock.now_ms()
        try:
            runners = self._progress.read_all().runners
        except (LakeError, OSError) as error:
            _LOG.warning("progress cannot be read error=%s", error)
            return
        for other in runners:
            if other.runner != name:
                continue
            self._kept = KeptReports(other.streams)
            silent_ms = now_ms - other.updated_ms
            if (
                other.owner is None
                and not other.has_ended
                and silent_ms < self._settings.lease_ttl_ms
            ):
                _LOG.warning(
                    "another runner of this name reported %d ms ago name=%s its_start=%s "
                    "our_start=%s: unless the other has just ended, give each runner a name of its own, "
                    "because runners of one name overwrite each other's reports",
                    silent_ms,
                    name,
                    _moment(other.started_ms),
                    _moment(self._started_ms),
                )

    def _reported_dead_letters(self, key: str) -> dict[str, int]:
        own = self._kept.reports.get(key)
        try:
            runners = self._progress.read_all().runners
        except (LakeError, OSError) as error:
            _LOG.warning(
                "dead letters by reason are counted from zero stream=%s error=%s", key, error
            )
            runners = ()
        # This process's may be newer than any that is written.
        kept = {} if own is None else {key: own}
        return reported_counts([*runners, self._report(kept)], key)

    def report(self, *, has_ended: bool = False) -> RunnerProgress:
        """Return the report of now, or the last one; for any thread."""
        hosted = list(self._hosted.items())  # the thread of `run` may add streams meanwhile
        streams = dict(self._kept.reports)
        streams.update(
            (key, one.supervisor.progress if has_ended else _with_runner(one.supervisor.progress))
            for key, one in hosted
        )
        return self._report(streams, has_ended=has_ended)

    def _report(
        self, streams: Mapping[str, StreamProgress], *, has_ended: bool = False
    ) -> RunnerProgress:
        return RunnerProgress(
            runner=self._settings.name,
            started_ms=self._started_ms,
            updated_ms=self._clock.now_ms(),
            has_ended=has_ended,
            streams=streams,
            tables={} if self._maintenance is None else self._maintenance.progress(),
            owner=self._owner,
            executors=self._executors(),
        )

    def _give_away(self) -> None:
        """Let other runners take the streams one by one, as long as the settings say; what is left is released at once."""
        end_s = time.monotonic() + self._settings.drain_seconds
        try:
            if self._placement.can_give(self._view.needed) and self._settings.drain_seconds > 0:
                self._placement.ask_to_leave()
            else:
                return
        except (LakeError, OSError, RegistryError) as error:
            self._placing.note_failure(error)
            return
        while time.monotonic() < end_s and self._placement.can_give(self._view.needed):
            self._step()
            time.sleep(self._settings.poll_ms / 1_000)

    def _stop_all(self) -> None:
        for hosted in self._hosted.values():
            hosted.ask_to_stop()

    def _close(self, *, drains: bool) -> None:
        self._metrics.not_ready = ENDING
        if drains:
            self._give_away()
        # All threads are asked to end before any is waited for: stopping a query takes seconds.
        self._stop_all()
        self._letters.ask_to_stop()
        if self._maintenance is not None:
            self._maintenance.ask_to_stop()
        for key, hosted in self._hosted.items():
            if not hosted.join(QUERY_STOP_SECONDS_MAX):
                _LOG.error("query did not stop within %d s stream=%s", QUERY_STOP_SECONDS_MAX, key)
        try:
            self._placement.leave()
        except (LakeError, OSError, RegistryError) as error:
            _LOG.warning(
                "streams not released: others find out that this runner has ended error=%s", error
            )
        if self._maintenance is not None:
            self._maintenance.close()
        self._letters.close()
        self._heartbeat.close()
        try:
            self._progress.write(self.report(has_ended=True))
        except (LakeError, OSError) as error:
            _LOG.warning("progress cannot be written error=%s", error)


def _with_runner(progress: StreamProgress) -> StreamProgress:
    """Return the report of a stream that this runner has not let go of yet: until then it is not stopped for anybody."""
    if progress.state not in (StreamState.STOPPED, StreamState.COMPLETED):
        return progress
    return progress.model_copy(update={"state": StreamState.PAUSED})


def _newer_streams(tables: RegisteredTables) -> dict[str, FeaturesMissing]:
    """Return, by stream key, why streams that need a newer version are not run."""
    found = {
        stream_key(document.identifier, name): missing_features(document, entry)
        for document in tables.documents
        for name, entry in document.streams.items()
    }
    return {key: features_missing(key, missing) for key, missing in found.items() if missing}


def _moment(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1_000, tz=UTC).isoformat(timespec="milliseconds")
