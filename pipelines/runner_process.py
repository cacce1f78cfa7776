"""Process of a runner: its Spark session, its signals, its work directory, and its exit status."""

import logging
import os
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType

from pyspark.sql import SparkSession

from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.lake import (
    BucketPool,
    Clock,
    InvalidRequest,
    Problem,
    ScratchDirectory,
    SystemClock,
    file_io_for,
    path_for,
)
from braid.pipelines.maintenance_requests import MaintenanceRequests
from braid.pipelines.metrics import RunnerMetrics
from braid.pipelines.runner import Runner
from braid.pipelines.settings import RunnerSettings
from braid.pipelines.spark.bucket_pool import SparkPool
from braid.pipelines.spark.cluster_session import check_cluster, end_session
from braid.pipelines.spark.executor_watch import ExecutorWatch
from braid.pipelines.spark.session import QUERY_LOGGERS, build_session, check_connector
from braid.pipelines.spark.target import check_target, is_remote
from braid.pipelines.stream.ingest import SESSION_CONF, IngestContext
from braid.pipelines.stream.ingest_starter import IngestStarter
from braid.pipelines.stream.memory_failure import HEAP_HINT
from braid.registry.store.progress import ProgressStore
from braid.schemas import Actor, ExecutorsProgress
from braid.telemetry.disk_metrics import DiskMetrics
from braid.telemetry.logs import LogFormat, change_levels_on_signals, set_up_logs
from braid.telemetry.probe_server import ProbeServer
from braid.telemetry.report_metrics import ReportMetrics
from braid.telemetry.tracing import start_tracing

_LOG = logging.getLogger(__name__)
# Kafka's clients log every reconnect; errors that end a query reach its stream's trace. An error of a query's Python code is
# logged by its stream, once.
_LOG_LEVELS = {"": logging.INFO, "kafka": logging.CRITICAL, "py4j": logging.CRITICAL}
_PARENT_POLL_SECONDS = 1.0
EXIT_TRY_AGAIN = 75  # EX_TEMPFAIL
_STATUS_OF_FULL_HEAP = 52  # Spark's own, after an OutOfMemoryError in a task


def main(settings: RunnerSettings, *, log_format: LogFormat = LogFormat.TEXT) -> int:
    """Run until SIGTERM or SIGINT and return the exit status: 75 when Spark ended by itself.

    Logs to standard error. Leaves no process behind, and no scratch file outside of a work directory that was given.

    Args:
        settings: The settings.
        log_format: Form of the lines of the log.

    Raises:
        InvalidRequest: The warehouse is neither an absolute path nor the address of a store, or its store is
            misconfigured. Or an archive of a cluster's `jars` cannot be read, or the port for metrics is in use.
    """
    set_up_logs(log_format, _LOG_LEVELS)
    change_levels_on_signals(_LOG_LEVELS)
    settings = replace(settings, warehouse=path_for(settings.warehouse))
    check_target(settings.target, warehouse=settings.warehouse)
    jars = _readable_jars(settings.clusters)
    stop = threading.Event()
    _stop_on_signals(stop)
    metrics = RunnerMetrics()
    end_tracing = start_tracing("braid-runner", os.environ)
    with _probes(settings, metrics), _work_dir(settings.work_dir) as work_dir:
        session = build_session(
            app_name=f"braid-{settings.name}",
            work_dir=work_dir,
            # Tasks that wait, for storage or a schema registry, use no core: others need slots beside theirs.
            cores=settings.task_slots,
            memory=settings.memory,
            silent=QUERY_LOGGERS,
            conf={**SESSION_CONF, "spark.driver.extraClassPath": os.pathsep.join(jars)},
            target=settings.target,
        )
        # Spark has installed its own handler for SIGINT.
        _stop_on_signals(stop)
        lost = _stop_without_spark(session, stop)
        try:
            if settings.target.is_submitted:
                check_connector(session)
            check_cluster(session, settings.target, warehouse=settings.warehouse, stop=stop)
            clock = SystemClock()
            file_io = file_io_for(settings.warehouse)
            requests = MaintenanceRequests()
            context = IngestContext(
                session=session,
                cores=settings.cores,
                task_memory_mb=settings.task_memory_mb,
                work_dir=work_dir,
                clock=clock,
                budget=settings.budget,
                requests=requests,
                metrics=metrics,
            )
            starter = IngestStarter(
                context,
                warehouse=settings.warehouse,
                file_io=file_io,
                progress=ProgressStore(file_io, settings.warehouse, clock),
                clusters=settings.clusters,
                actor=Actor(name=f"runner {settings.name}", address=socket.gethostname()),
            )
            _LOG.info("runner ready name=%s warehouse=%s", settings.name, settings.warehouse)
            runner = Runner(
                settings,
                starter=starter,
                file_io=file_io,
                clock=clock,
                requests=requests,
                metrics=metrics,
                new_pool=_bucket_pool(session, settings),
                executors=_executors(session, clock, stop=stop, lost=lost),
            )
            metrics.registry.register(
                DiskMetrics({"warehouse": settings.warehouse, "temporary": str(work_dir)})
            )
            metrics.registry.register(
                ReportMetrics(
                    lambda: [runner.report()], clock=clock, runner_timeout_ms=settings.lease_ttl_ms
                )
            )
            if not stop.is_set():
                runner.run(stop, lost=lost)
        finally:
            stop.set()  # from now on Spark ends because this process does
            end_session(session)
            end_tracing()
    _LOG.info("runner ended name=%s", settings.name)
    return EXIT_TRY_AGAIN if lost.is_set() else 0


def _bucket_pool(
    session: SparkSession, settings: RunnerSettings
) -> Callable[[], BucketPool] | None:
    """Return what makes the pool that compacts: the cluster's executors; None: processes beside this one."""
    if not is_remote(session.sparkContext.master):
        return None
    return lambda: SparkPool(session.sparkContext, parallel=settings.maintenance_workers)


def _executors(
    session: SparkSession, clock: Clock, *, stop: threading.Event, lost: threading.Event
) -> Callable[[], ExecutorsProgress | None]:
    """Return what reports the executors of a cluster, which are watched from now on.

    Where none comes although jobs wait, both events are set, as where Spark's JVM ends: another session may get some.
    """
    if not is_remote(session.sparkContext.master):
        return lambda: None

    def end() -> None:
        _LOG.error("without executors the runner ends: start it again")
        lost.set()
        stop.set()

    watch = ExecutorWatch(session, clock=clock, stop=stop, on_starved=end)
    watch.start()
    return lambda: watch.progress


@contextmanager
def _probes(settings: RunnerSettings, metrics: RunnerMetrics) -> Iterator[None]:
    """Serve metrics and probes meanwhile, if the settings have a port for them."""
    if settings.metrics_port is None:
        yield
        return
    server = ProbeServer(
        metrics.registry,
        host=settings.metrics_host,
        port=settings.metrics_port,
        not_ready=lambda: metrics.not_ready,
    )
    server.start()
    try:
        yield
    finally:
        server.close()


def _readable_jars(clusters: KafkaClusters) -> tuple[str, ...]:
    missing = [jar for jar in clusters.jars if not os.access(jar, os.R_OK)]
    if missing:
        problems = [
            Problem(
                field="jars",
                value=jar,
                message="the file cannot be read",
                hint="put the archive there, or correct `jars` in the file of `--clusters`",
            )
            for jar in missing
        ]
        message = "a Java archive of a Kafka cluster is missing"
        raise InvalidRequest(message, problems=problems)
    return clusters.jars


def _stop_without_spark(session: SparkSession, stop: threading.Event) -> threading.Event:
    """Set `stop` when Spark's JVM ends by itself, because no stream of this process can run without it.

    Returns:
        An event that is set when the JVM has ended by itself.
    """
    lost = threading.Event()
    gateway = session.sparkContext._gateway

    def watch() -> None:
        assert gateway is not None, "only a JVM that was started is watched"
        status = _status_of_parent() if gateway.proc is None else gateway.proc.wait()
        if not stop.is_set():
            _LOG.error("spark has ended status=%s: the runner ends too, start it again", status)
            if status == _STATUS_OF_FULL_HEAP:
                _LOG.error("the heap of Spark's JVM was full; hint: %s", HEAP_HINT)
            lost.set()
            stop.set()

    if gateway is not None:
        threading.Thread(target=watch, name="spark-watch", daemon=True).start()
    return lost


def _status_of_parent() -> str:
    """Return when the JVM of `spark-submit`, which has started this process, has ended."""
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(_PARENT_POLL_SECONDS)
    return "unknown"


def _stop_on_signals(stop: threading.Event) -> None:
    def handle(number: int, _frame: FrameType | None) -> None:
        _LOG.info("signal %s: stopping", signal.Signals(number).name)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)


@contextmanager
def _work_dir(given: Path | None) -> Iterator[Path]:
    """Yield an empty work directory: the given one, or a temporary one that is removed at the end."""
    if given is None:
        # Also removes the directories of runners that were killed.
        scratch = ScratchDirectory(name="braid-runner")
        try:
            yield Path(scratch.path)
        finally:
            scratch.close()
        return
    # Checkpoints of a killed process are useless: the table is the checkpoint.
    for name in ("checkpoints", "scratch", "jvm"):
        shutil.rmtree(given / name, ignore_errors=True)
    yield given
