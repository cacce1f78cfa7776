"""Session of a command that uses a cluster: started, checked, and ended with everything that it has started.

Work ends with an error, instead of waiting without end, when the cluster does not give executors any more.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from typing import Final

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from braid.lake import ScratchDirectory, SystemClock, file_io_for
from braid.pipelines.spark.executor_check import check_executors
from braid.pipelines.spark.executor_storage import check_storage
from braid.pipelines.spark.executor_watch import STARVED_S, ExecutorWatch
from braid.pipelines.spark.session import QUERY_LOGGERS, build_session
from braid.pipelines.spark.target import SparkTarget, check_warehouse, is_remote

_LOG = logging.getLogger(__name__)
_JVM_EXIT_SECONDS_MAX: Final = 60
_EXECUTORS_SECONDS_MAX: Final = 300


@contextmanager
def cluster_session(
    target: SparkTarget,
    *,
    app_name: str,
    warehouse: str,
    cores: int,
    memory: str = "512m",
    starved_s: float = STARVED_S,
) -> Iterator[SparkSession]:
    """Yield a checked session on a target, and end it.

    Args:
        target: The target.
        app_name: Shown in the cluster manager's page.
        warehouse: Absolute path or address of the warehouse.
        cores: Tasks that run at once.
        memory: Heap of the driver's JVM, as Spark writes it.
        starved_s: Seconds that jobs wait without an executor, after which Spark is stopped: then they fail.

    Raises:
        JarError: Java 17 is missing, or a jar cannot be downloaded.
        InvalidRequest, StorageUnavailable: What `check_cluster` raises.
    """
    scratch = ScratchDirectory(name="braid-spark")
    ended = threading.Event()
    try:
        session = build_session(
            app_name=app_name,
            work_dir=Path(scratch.path),
            cores=cores,
            memory=memory,
            silent=QUERY_LOGGERS,
            target=target,
        )
        try:
            check_cluster(session, target, warehouse=warehouse, stop=ended)
            if is_remote(session.sparkContext.master):
                _stop_when_starved(session, ended=ended, starved_s=starved_s)
            yield session
        finally:
            ended.set()
            end_session(session)
    finally:
        scratch.close()


def check_cluster(
    session: SparkSession, target: SparkTarget, *, warehouse: str, stop: threading.Event
) -> None:
    """Check what only Spark knows: which master it has, and what executors can run and reach. Nothing for local tasks.

    Raises:
        InvalidRequest: The warehouse is a folder of this machine, or executors cannot run the driver's code.
        StorageUnavailable: The cluster gives no executor, or an executor cannot use the warehouse.
    """
    if is_remote(session.sparkContext.master):
        check_warehouse(warehouse, is_shared=target.is_warehouse_shared)
        executors = check_executors(session, wait_s=_EXECUTORS_SECONDS_MAX, stop=stop)
        if executors:
            storage = file_io_for(warehouse)
            check_storage(session, storage, warehouse=warehouse, executors=executors)


def end_session(session: SparkSession, *, seconds_max: float = _JVM_EXIT_SECONDS_MAX) -> None:
    """Stop Spark and wait for the JVM that this process has started, so that nothing outlives the process.

    Args:
        session: The session.
        seconds_max: Time after which the JVM is killed. It may wait for a cluster that is gone.
    """
    gateway = session.sparkContext._gateway
    # `spark-submit` has started its JVM itself, and ends it.
    process = None if gateway is None else gateway.proc
    watch = threading.Timer(seconds_max, _kill, [process])
    watch.daemon = True
    if process is not None:
        watch.start()
    try:
        session.stop()
        if gateway is not None:
            gateway.shutdown()
    except (Py4JError, OSError) as error:
        _LOG.info("spark is gone already error=%s", error)
    if process is not None:
        if process.stdin is not None:
            process.stdin.close()
        process.wait()
        watch.cancel()


def _stop_when_starved(session: SparkSession, *, ended: threading.Event, starved_s: float) -> None:
    context = session.sparkContext._jsc
    assert context is not None, "a session that was not stopped has one"
    ExecutorWatch(
        session, clock=SystemClock(), stop=ended, on_starved=context.stop, starved_s=starved_s
    ).start()


def _kill(process: Popen[bytes]) -> None:
    _LOG.warning("spark's jvm does not end, and is killed")
    process.kill()
