"""The process that keeps running queries equal to the registry.

One Spark driver, one thread per stream. A runner hosts the streams it may host and gets the lease
of; any number of runners work on one table, because nothing but the table connects their queries.

    registry ──► Runner.run ──► StreamSupervisor ──► Ingest ──► table
                     │├──────────── progress document ◄──┘        ▲
                     └└─────────► HostedTables: compaction ───────┘
"""

import logging
import shutil
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import FrameType
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from lake import (
    Catalog,
    Clock,
    FileIO,
    LakeError,
    ScratchDirectory,
    SystemClock,
    file_io_for,
    path_for,
)
from pipelines.hosted_tables import HostedTables
from pipelines.settings import RunnerSettings
from pipelines.spark.session import QUERY_LOGGERS, build_session
from pipelines.stream.dead_letter_counts import reported_counts
from pipelines.stream.failure_log import FailureLog
from pipelines.stream.ingest import SESSION_CONF, IngestContext
from pipelines.stream.ingest_starter import IngestStarter
from pipelines.stream.stream_supervisor import QueryStarter, RegisteredStream, StreamSupervisor
from registry.errors import FeaturesMissing
from registry.store.documents import RegisteredTables, RegistryStore
from registry.store.leases import LeaseStore
from registry.store.progress import ProgressStore, stream_key
from registry.store.stored_documents import features_missing, missing_features
from schemas import RunnerProgress, StreamState

_LOG = logging.getLogger(__name__)
_LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"
_STOP_SECONDS_MAX = 60
EXIT_TRY_AGAIN = 75  # EX_TEMPFAIL


class Runner:
    """Hosts streams until it is told to stop."""

    def __init__(
        self,
        settings: RunnerSettings,
        *,
        starter: QueryStarter,
        file_io: FileIO,
        clock: Clock,
    ) -> None:
        """Make a runner that hosts nothing yet.

        Args:
            settings: Which streams, and how often things are looked at.
            starter: Starts the queries.
            file_io: The warehouse's storage.
            clock: For leases and progress.
        """
        self._settings = settings
        self._starter = starter
        self._clock = clock
        warehouse = settings.warehouse
        self._registry = RegistryStore(file_io, warehouse, clock)
        self._leases = LeaseStore(file_io, warehouse, clock)
        self._progress = ProgressStore(file_io, warehouse)
        self._owner = f"{settings.name}-{uuid4().hex[:12]}"
        self._started_ms = clock.now_ms()
        self._reading = FailureLog(_LOG, "registry cannot be read")
        self._writing = FailureLog(_LOG, "progress cannot be written")
        self._hosted: dict[str, _HostedStream] = {}
        self._unreadable: dict[str, str] = {}
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

    def run(self, stop: threading.Event) -> None:
        """Follow the registry until `stop` is set, then stop every query and return."""
        written_ms = 0
        self._warn_of_namesake()
        try:
            if self._maintenance is not None:
                self._maintenance.start(interval_ms=self._settings.maintenance_ms)
            while not stop.is_set():
                self._follow_registry()
                if self._maintenance is not None:
                    self._maintenance.want(self._hosted_tables())
                if self._clock.now_ms() - written_ms >= self._settings.progress_ms:
                    written_ms = self._clock.now_ms()
                    self._write_progress()
                stop.wait(self._settings.poll_ms / 1_000)
        finally:
            self._close()

    def _follow_registry(self) -> None:
        try:
            tables = self._registry.tables()
        except (LakeError, OSError) as error:
            # What is running keeps running: the registry says nothing new for now.
            self._reading.failed(error)
            return
        self._warn_of_unreadable({**tables.unreadable, **tables.newer, **_newer_streams(tables)})
        self._reading.over()
        wanted = {
            stream_key(document.identifier, name): RegisteredStream(document=document, entry=entry)
            for document in tables.documents
            for name, entry in document.streams.items()
            if self._settings.hosts(document.identifier, name)
            and not missing_features(document, entry)
        }
        for key in wanted.keys() - self._hosted.keys():
            self._hosted[key] = self._host(wanted[key])
        for key, hosted in self._hosted.items():
            # What runs of a table whose document cannot be read keeps running.
            if hosted.supervisor.table not in tables.unreadable:
                hosted.want(wanted.get(key))

    def _warn_of_unreadable(self, unreadable: Mapping[str, Exception]) -> None:
        """Say once of each table and stream that is left alone why, and again when that changes."""
        told = {identifier: str(error) for identifier, error in unreadable.items()}
        for identifier, error in told.items():
            if self._unreadable.get(identifier) != error:
                _LOG.warning("cannot act on what is registered name=%s error=%s", identifier, error)
        self._unreadable = told

    def _host(self, wanted: RegisteredStream) -> "_HostedStream":
        key = stream_key(wanted.document.identifier, wanted.entry.spec.name)
        supervisor = StreamSupervisor(
            table=wanted.document.identifier,
            stream=wanted.entry.spec.name,
            owner=self._owner,
            starter=self._starter,
            leases=self._leases,
            lease_ttl_ms=self._settings.lease_ttl_ms,
            restarts=self._settings.restarts,
            measure_ms=self._settings.progress_ms,
            clock=self._clock,
            dead_letters=partial(self._reported_dead_letters, key),
        )
        return _HostedStream(supervisor, poll_ms=self._settings.poll_ms)

    def _hosted_tables(self) -> set[str]:
        """Return the tables of the streams that are this runner's now, by its leases."""
        others = (StreamState.UNASSIGNED, StreamState.STOPPED)
        supervisors = [hosted.supervisor for hosted in self._hosted.values()]
        return {one.table for one in supervisors if one.progress.state not in others}

    def _warn_of_namesake(self) -> None:
        """Say so when a living runner may have our name: the two would overwrite their reports."""
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
                    "our_start=%s: unless it has just ended, give each runner a name of its own, "
                    "or each hides what the other reports",
                    silent_ms,
                    name,
                    _moment(other.started_ms),
                    _moment(self._started_ms),
                )

    def _reported_dead_letters(self, key: str) -> dict[str, int]:
        try:
            return reported_counts(self._progress.read_all().runners, key)
        except (LakeError, OSError) as error:
            _LOG.warning("dead letters by reason start anew stream=%s error=%s", key, error)
            return {}

    def _write_progress(self) -> None:
        progress = RunnerProgress(
            runner=self._settings.name,
            started_ms=self._started_ms,
            updated_ms=self._clock.now_ms(),
            streams={key: hosted.supervisor.progress for key, hosted in self._hosted.items()},
            tables={} if self._maintenance is None else self._maintenance.progress(),
        )
        try:
            self._progress.write(progress)
        except (LakeError, OSError) as error:
            self._writing.failed(error)
        else:
            self._writing.over()

    def _close(self) -> None:
        for hosted in self._hosted.values():
            hosted.ask_to_stop()
        if self._maintenance is not None:
            self._maintenance.ask_to_stop()
        for key, hosted in self._hosted.items():
            if not hosted.join(_STOP_SECONDS_MAX):
                _LOG.error("query does not stop stream=%s", key)
        if self._maintenance is not None:
            self._maintenance.close()
        self._write_progress()


def _newer_streams(tables: RegisteredTables) -> dict[str, FeaturesMissing]:
    """Return why streams are not run that only a newer version can run, by their keys."""
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
        # A daemon, so that a query that does not stop cannot keep the process.
        self._thread = threading.Thread(
            target=self._run, name=f"{supervisor.table}/{supervisor.stream}", daemon=True
        )
        self._started = False

    def want(self, wanted: RegisteredStream | None) -> None:
        """Pass on what the registry says; the first word starts the thread."""
        self.supervisor.want(wanted)
        if not self._started:
            self._started = True
            self._thread.start()

    def ask_to_stop(self) -> None:
        """Tell the thread to end."""
        self._stop.set()

    def join(self, seconds: float) -> bool:
        """Wait for the thread and return whether it has ended."""
        if self._started:
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        trouble = FailureLog(_LOG, f"step failed stream={self._thread.name}")
        while not self._stop.is_set():
            try:
                self.supervisor.step()
            except Exception as error:  # noqa: BLE001 - one stream's trouble stays its own
                trouble.failed(error)
            else:
                trouble.over()
            self._stop.wait(self._poll_ms / 1_000)
        try:
            self.supervisor.close()
        except Exception as error:  # noqa: BLE001 - Spark may be gone already: so is the query
            _LOG.warning("query not stopped stream=%s error=%s", self._thread.name, error)


def main(settings: RunnerSettings) -> int:
    """Run until SIGTERM or SIGINT and return the exit status: 75 when Spark ended by itself.

    Logs to standard error. Leaves no process and no scratch file behind.

    Raises:
        InvalidRequest: The warehouse is no absolute path and no address of a store, or its store is
            set wrongly.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format=_LOG_FORMAT)
    # Clients of Kafka log every reconnect; what matters reaches a stream's trace.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    # What a query's Python raises is logged by its stream, once.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    settings = replace(settings, warehouse=path_for(settings.warehouse))
    stop = threading.Event()
    _stop_on_signals(stop)
    with _work_dir(settings.work_dir) as work_dir:
        session = build_session(
            app_name=f"braid-{settings.name}",
            work_dir=work_dir,
            cores=settings.cores,
            memory=settings.memory,
            silent=QUERY_LOGGERS,
            conf=SESSION_CONF,
        )
        # Spark has put its own handler for SIGINT in place.
        _stop_on_signals(stop)
        try:
            clock = SystemClock()
            file_io = file_io_for(settings.warehouse)
            context = IngestContext(
                session=session,
                cores=settings.cores,
                work_dir=work_dir,
                clock=clock,
                budget=settings.budget,
            )
            starter = IngestStarter(
                context,
                warehouse=settings.warehouse,
                file_io=file_io,
                progress=ProgressStore(file_io, settings.warehouse),
                clusters=settings.clusters,
            )
            _LOG.info("runner ready name=%s warehouse=%s", settings.name, settings.warehouse)
            runner = Runner(settings, starter=starter, file_io=file_io, clock=clock)
            lost = _stop_without_spark(session, stop)
            if not stop.is_set():
                runner.run(stop)
        finally:
            _end_spark(session)
    _LOG.info("runner ended name=%s", settings.name)
    return EXIT_TRY_AGAIN if lost.is_set() else 0


def _stop_without_spark(session: SparkSession, stop: threading.Event) -> threading.Event:
    """Set `stop` when Spark's JVM ends by itself: without it no stream of this process ever runs.

    Returns:
        Set when that has happened.
    """
    lost = threading.Event()
    gateway = session.sparkContext._gateway

    def watch() -> None:
        assert gateway is not None
        status = gateway.proc.wait()
        if not stop.is_set():
            _LOG.error("spark has ended status=%s: the runner ends too, start it again", status)
            lost.set()
            stop.set()

    if gateway is not None:
        threading.Thread(target=watch, name="spark-watch", daemon=True).start()
    return lost


def _stop_on_signals(stop: threading.Event) -> None:
    def handle(number: int, _frame: FrameType | None) -> None:
        _LOG.info("signal %s: stopping", signal.Signals(number).name)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)


@contextmanager
def _work_dir(given: Path | None) -> Iterator[Path]:
    if given is None:
        # Also removes what runners have left that were killed.
        scratch = ScratchDirectory(name="braid-runner")
        try:
            yield Path(scratch.path)
        finally:
            scratch.close()
        return
    # Checkpoints of a process that was killed mean nothing: the table is the checkpoint.
    for name in ("checkpoints", "scratch", "jvm"):
        shutil.rmtree(given / name, ignore_errors=True)
    yield given


def _end_spark(session: SparkSession) -> None:
    """Stop Spark and wait for its JVM, so that nothing outlives the runner."""
    gateway = session.sparkContext._gateway
    try:
        session.stop()
        if gateway is not None:
            gateway.shutdown()
    except (Py4JError, OSError) as error:
        _LOG.info("spark is gone already error=%s", error)
    if gateway is None:
        return
    process = gateway.proc
    if process.stdin is not None:
        process.stdin.close()
    process.wait(_STOP_SECONDS_MAX)
