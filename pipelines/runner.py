"""Runner: keeps the running queries of one process equal to the registry.

One Spark driver, one thread per stream. A runner runs the queries of those streams that its settings admit and whose
lease it gets. Any number of runners can work on one table, because nothing but the table connects their queries. For
the same streams, and for admitted ones that are stopped or completed, it lists and replays dead letters (`LetterDesk`).
It maintains the tables of the streams whose leases it holds, unless its settings say otherwise.

    registry ──► Runner.run ──► StreamSupervisor ──► Ingest ──► table
                     │├──────────── progress document ◄──┘        ▲
                     └└─────────► HostedTables: compaction ───────┘
"""

import logging
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from uuid import uuid4

from braid.lake import Catalog, Clock, FileIO, LakeError
from braid.pipelines.hosted_tables import HostedTables
from braid.pipelines.maintenance_requests import MaintenanceRequests
from braid.pipelines.metrics import ENDING, UNREAD, RunnerMetrics
from braid.pipelines.replay.letter_desk import LetterDesk
from braid.pipelines.settings import RunnerSettings
from braid.pipelines.stream.dead_letter_counts import reported_counts
from braid.pipelines.stream.failure_log import FailureLog
from braid.pipelines.stream.stream_query import QueryStarter, RegisteredStream
from braid.pipelines.stream.stream_supervisor import StreamSupervisor
from braid.registry.errors import FeaturesMissing
from braid.registry.store.documents import RegisteredTables, RegistryStore
from braid.registry.store.leases import LeaseStore
from braid.registry.store.progress import ProgressStore, stream_key
from braid.registry.store.registry_view import RegistryView
from braid.registry.store.stored_documents import features_missing, missing_features
from braid.schemas import RunnerProgress, StreamState

_LOG = logging.getLogger(__name__)
_QUERY_STOP_SECONDS_MAX = 60


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
    ) -> None:
        """Make a runner that hosts nothing yet.

        Args:
            settings: The streams that the runner may host, and the intervals of its polls.
            starter: Starts the queries.
            file_io: The warehouse's storage.
            clock: The clock for leases and progress.
            requests: Of the started queries for maintenance; None: they make none.
            metrics: Of the process; None: metrics that nobody sees.
        """
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
        self._writing = FailureLog(_LOG, "progress cannot be written")
        self._hosted: dict[str, _HostedStream] = {}
        self._unreadable: dict[str, str] = {}
        self._is_registry_read = False
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
            )
            if requests is not None:
                requests.answer_with(self._maintenance.poll_soon)

    def run(self, stop: threading.Event) -> None:
        """Follow the registry until `stop` is set, then stop every query and return."""
        written_ms = 0
        self._warn_of_namesake()
        try:
            self._letters.start(interval_ms=self._settings.poll_ms)
            if self._maintenance is not None:
                self._maintenance.start(interval_ms=self._settings.maintenance_ms)
            while not stop.is_set():
                self._follow_registry()
                self._metrics.not_ready = None if self._is_registry_read else UNREAD
                if self._maintenance is not None:
                    self._maintenance.set_tables(self._hosted_tables())
                # A negative difference: the clock was set back.
                if not 0 <= self._clock.now_ms() - written_ms < self._settings.progress_ms:
                    written_ms = self._clock.now_ms()
                    self._write_progress()
                stop.wait(self._settings.poll_ms / 1_000)
        finally:
            self._close()

    def _follow_registry(self) -> None:
        try:
            tables = self._registry.tables()  # one request to storage while nothing changes
        except (LakeError, OSError) as error:
            # Running queries continue: nothing is known to have changed.
            self._reading.note_failure(error)
            return
        self._warn_of_unreadable({**tables.unreadable, **tables.newer, **_newer_streams(tables)})
        self._reading.note_success()
        self._is_registry_read = True
        registered = {
            stream_key(document.identifier, name): RegisteredStream(document=document, entry=entry)
            for document in tables.documents
            for name, entry in document.streams.items()
            if self._settings.hosts(document.identifier, name)
            and not missing_features(document, entry)
        }
        for key in registered.keys() - self._hosted.keys():
            self._hosted[key] = self._host(registered[key])
        for key, hosted in self._hosted.items():
            # Queries of a table whose document cannot be read continue as they are.
            if hosted.supervisor.table not in tables.unreadable:
                hosted.set_registered(registered.get(key))
        self._letters.set_streams(
            {
                key: (stream.document, stream.entry)
                for key, stream in registered.items()
                # A stream of another runner is served by that one.
                if self._hosted[key].supervisor.progress.state is not StreamState.UNASSIGNED
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

    def _host(self, registered: RegisteredStream) -> "_HostedStream":
        key = stream_key(registered.document.identifier, registered.entry.spec.name)
        supervisor = StreamSupervisor(
            table=registered.document.identifier,
            stream=registered.entry.spec.name,
            owner=self._owner,
            starter=self._starter,
            leases=self._leases,
            lease_ttl_ms=self._settings.lease_ttl_ms,
            restarts=self._settings.restarts,
            measure_ms=self._settings.progress_ms,
            clock=self._clock,
            dead_letters=partial(self._reported_dead_letters, key),
            on_lost_lease=self._metrics.lost_leases.inc,
        )
        return _HostedStream(supervisor, poll_ms=self._settings.poll_ms)

    def _hosted_tables(self) -> set[str]:
        """Return the tables of the streams whose leases this runner holds now."""
        others = (StreamState.UNASSIGNED, StreamState.STOPPED, StreamState.COMPLETED)
        supervisors = [hosted.supervisor for hosted in self._hosted.values()]
        return {one.table for one in supervisors if one.progress.state not in others}

    def _warn_of_namesake(self) -> None:
        """Warn when a living runner may have the same name: the two would overwrite each other's reports."""
        try:
            runners = self._progress.read_all().runners
        except (LakeError, OSError) as error:
            _LOG.warning("progress cannot be read error=%s", error)
            return
        name, now_ms = self._settings.name, self._clock.now_ms()
        for other in runners:
            silent_ms = now_ms - other.updated_ms
            if other.runner == name and silent_ms < self._settings.lease_ttl_ms:
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
        try:
            return reported_counts(self._progress.read_all().runners, key)
        except (LakeError, OSError) as error:
            _LOG.warning(
                "dead letters by reason are counted from zero stream=%s error=%s", key, error
            )
            return {}

    def report(self) -> RunnerProgress:
        """Return the report of now; for any thread."""
        hosted = list(self._hosted.items())  # the thread of `run` may add streams meanwhile
        return RunnerProgress(
            runner=self._settings.name,
            started_ms=self._started_ms,
            updated_ms=self._clock.now_ms(),
            streams={key: one.supervisor.progress for key, one in hosted},
            tables={} if self._maintenance is None else self._maintenance.progress(),
        )

    def _write_progress(self) -> None:
        try:
            self._progress.write(self.report())
        except (LakeError, OSError) as error:
            self._writing.note_failure(error)
        else:
            self._writing.note_success()

    def _close(self) -> None:
        self._metrics.not_ready = ENDING
        # All threads are asked to end before any is waited for: stopping a query takes seconds.
        for hosted in self._hosted.values():
            hosted.ask_to_stop()
        self._letters.ask_to_stop()
        if self._maintenance is not None:
            self._maintenance.ask_to_stop()
        for key, hosted in self._hosted.items():
            if not hosted.join(_QUERY_STOP_SECONDS_MAX):
                _LOG.error(
                    "query did not stop within %d seconds stream=%s", _QUERY_STOP_SECONDS_MAX, key
                )
        if self._maintenance is not None:
            self._maintenance.close()
        self._letters.close()
        self._write_progress()


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


class _HostedStream:
    """A supervisor and its thread."""

    def __init__(self, supervisor: StreamSupervisor, *, poll_ms: int) -> None:
        self.supervisor = supervisor
        self._poll_ms = poll_ms
        self._stop = threading.Event()
        # A daemon, so that a query that does not stop cannot keep the process alive.
        self._thread = threading.Thread(
            target=self._run, name=f"{supervisor.table}/{supervisor.stream}", daemon=True
        )
        self._started = False

    def set_registered(self, registered: RegisteredStream | None) -> None:
        """Pass on the stream's registration; the first one starts the thread."""
        self.supervisor.set_registered(registered)
        if not self._started:
            self._started = True
            self._thread.start()

    def ask_to_stop(self) -> None:
        """Ask the thread to end."""
        self._stop.set()

    def join(self, seconds: float) -> bool:
        """Wait for the thread and return whether it has ended."""
        if self._started:
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        failures = FailureLog(_LOG, f"step failed stream={self._thread.name}")
        while not self._stop.is_set():
            try:
                self.supervisor.step()
            except Exception as error:  # noqa: BLE001 - one stream's failure stays its own
                failures.note_failure(error)
            else:
                failures.note_success()
            self._stop.wait(self._poll_ms / 1_000)
        try:
            self.supervisor.close()
        except Exception as error:  # noqa: BLE001 - Spark may be gone already: so is the query
            _LOG.warning("query could not be stopped stream=%s error=%s", self._thread.name, error)
