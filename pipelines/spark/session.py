"""Spark session of a runner: on its target, quiet, and gone when its Python process is gone.

Lifetime of a session that this process starts: PySpark starts the JVM as a child of this Python process. The JVM's standard input is a pipe whose writing
end only this process has. However this process ends, even by SIGKILL, the JVM reads end-of-file and exits within a
second; its Python workers watch the JVM in the same way. The JVM may finish a write in that second. This harms no
other query, because each query has its own checkpoint. Tests find the JVM by `jvm_process_id`.
"""

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from braid.lake import InvalidRequest, Problem, StorageUnavailable
from braid.pipelines.spark.class_archive import archive_options
from braid.pipelines.spark.jars import java_executable, resolve
from braid.pipelines.spark.target import LOCAL, SparkTarget, plan_session

# Reading messages has costs for each batch and column, which 16,384 messages make small. For the bound in bytes Spark
# asks for the size of a batch after every row: see `kafka.source.record_columns`.
ARROW_BATCH_ROWS = 16_384
_ARROW_BATCH_BYTES = 32 << 20  # messages can be large, and a task holds a few batches of them

# The root level is also the level of the gateway: that removes its "Setting default log level"
# banner from the output of every job.
_LOG4J = """\
status=error
appender.console.type=Console
appender.console.name=console
appender.console.target=SYSTEM_ERR
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d{{HH:mm:ss.SSS}} %p %c{{1}}: %replace{{%m}}{{(?s)\\\\R.*}}{{}}%n%ex{{{trace_lines}}}
rootLogger.level={level}
rootLogger.appenderRef.console.ref=console
logger.gateway.name=org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level={level}
"""
# These loggers report a query that ends, and the task that ended it, several times and with all traces. The
# same error reaches the caller that runs the query.
QUERY_LOGGERS = (
    "org.apache.spark.sql.execution.streaming",
    "org.apache.spark.executor",
    "org.apache.spark.scheduler",
    "org.apache.spark.storage",
    "org.apache.spark.util.Utils",
    "org.apache.spark.sql.execution.datasources",
)
_TRACE_LINES_MAX = 20

# Spark puts pyspark.zip first on its workers' path. Modules in an archive have no cached byte
# code, so each worker compiles pyspark anew: 0.6 s of CPU, five workers a query. Without the
# variable they import the same release from the environment of the driver.
_WORKER = """\
#!/bin/sh
{path}
exec {python} "$@"
"""


def build_session(
    *,
    app_name: str,
    work_dir: Path,
    cores: int = 2,
    memory: str = "1g",
    log_level: str = "error",
    silent: Sequence[str] = (),
    conf: Mapping[str, str] = MappingProxyType({}),
    target: SparkTarget = LOCAL,
) -> SparkSession:
    """Return a session whose JVM is a child of this process, or that of the `spark-submit` that started the process.

    Sets `PYSPARK_PYTHON`, and for local tasks `SPARK_LOCAL_IP`, in the environment: Spark reads them nowhere else. One
    session per process: a second call returns the session of the first, as Spark does.

    Args:
        app_name: Shown in logs.
        work_dir: Folder for the log configuration and Spark's scratch files; created if missing.
        cores: Tasks that run at once, and partitions of a shuffle.
        memory: Heap of the JVM, as Spark writes it: `1g`, `768m`.
        log_level: Level of the JVM's log on standard error.
        silent: Loggers of the JVM that are switched off, those below them included.
        conf: More Spark settings. They take precedence over the settings made here, except for
            `spark.driver.extraClassPath` and `spark.driver.extraJavaOptions`, which are appended.
        target: Where tasks run.

    Raises:
        JarError: Java 17 is missing, or the connector cannot be downloaded.
        StorageUnavailable: The cluster does not answer.
    """
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.python.worker.reuse": "true",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(ARROW_BATCH_ROWS),
        "spark.sql.execution.arrow.maxBytesPerBatch": str(_ARROW_BATCH_BYTES),
        **conf,
    }
    if target.is_submitted:
        return _join_submitted(target, cores=cores, memory=memory, settings=settings)
    work_dir = work_dir.absolute()
    work_dir.mkdir(parents=True, exist_ok=True)
    java_executable()  # one clear error now, instead of Spark's trace later
    given = {**conf, **target.conf}
    jars = [*resolve(["spark"])["spark"], *_paths(conf.get("spark.driver.extraClassPath", ""))]
    plan = plan_session(
        target,
        cores=cores,
        memory=memory,
        jars=jars,
        settings={
            "spark.app.name": app_name,
            "spark.local.dir": str(work_dir / "scratch"),
            "spark.sql.warehouse.dir": str(work_dir / "warehouse"),
            **settings,
        },
        default_python=str(_write_worker(work_dir)) if target.is_local else sys.executable,
        archived_python=f"python{sys.version_info.major}.{sys.version_info.minor}",
    )
    if plan.python is not None:
        os.environ["PYSPARK_PYTHON"] = plan.python
    if target.is_local:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    class_path = [*jars, *_paths(target.conf.get("spark.driver.extraClassPath", ""))]
    options = [*_java_options(work_dir, log_level, silent), *archive_options(class_path)]
    options.append(given.get("spark.driver.extraJavaOptions", ""))
    started = SparkConf(loadDefaults=False).setAll(
        [
            *plan.conf.items(),
            ("spark.driver.extraClassPath", os.pathsep.join(map(str, class_path))),
            ("spark.driver.extraJavaOptions", " ".join(options).strip()),
        ]
    )
    # The JVM gets its settings on the command line, which every user of the machine can read.
    SparkContext._ensure_initialized(conf=started)
    builder = SparkSession.builder.config(map=dict(plan.secret_conf)).config(conf=started)
    try:
        return builder.getOrCreate()
    except Py4JJavaError as error:
        if target.is_local:
            raise
        message = (
            f"the cluster {target.master} gives no session: {_reason(error)}\n"
            "hint: is its master alive at this address, and may this machine connect to it?"
        )
        raise StorageUnavailable(message) from error


def check_connector(session: SparkSession) -> None:
    """Check that Spark has its Kafka connector, which `spark-submit` may not have been given.

    Raises:
        InvalidRequest: It has none; the hint has the jars.
        JarError: It has none, and the jars for the hint cannot be downloaded.
    """
    source = session.readStream.format("kafka").option("subscribe", "any")
    try:
        source.option("kafka.bootstrap.servers", "127.0.0.1:1").load()
    except AnalysisException as error:
        jars = ",".join(map(str, resolve(["spark"])["spark"]))
        problem = Problem(
            field="--jars",
            value=session.conf.get("spark.jars", None),
            message="Spark has no source `kafka`",
            hint=f"spark-submit --jars {jars}",
        )
        message = "the application has no Kafka connector"
        raise InvalidRequest(message, problems=[problem]) from error


def jvm_process_id(session: SparkSession) -> int:
    """Return the id of the session's JVM, by which tests find it."""
    jvm = session.sparkContext._jvm
    assert jvm is not None, "a built session has a JVM"
    return int(jvm.java.lang.ProcessHandle.current().pid())


def _reason(error: Py4JJavaError) -> str:
    """Return the first line of the cause of an error of the JVM."""
    cause = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    message = str(cause.getMessage() or cause.getClass().getName()).strip()
    # Spark stops the context when its masters do not answer, and the JVM then fails at the next use of the context.
    if "stopped SparkContext" in message:
        return "no master answered within a minute"
    return message.splitlines()[0]


def _join_submitted(
    target: SparkTarget, *, cores: int, memory: str, settings: Mapping[str, str]
) -> SparkSession:
    """Return the session of the application that `spark-submit` has started; its own settings take precedence."""
    plan = plan_session(
        target,
        cores=cores,
        memory=memory,
        jars=(),
        settings=settings,
        default_python=sys.executable,
        archived_python=sys.executable,
    )
    SparkContext._ensure_initialized()
    given = SparkConf()
    left = SparkConf(loadDefaults=False)
    left.setAll([(key, value) for key, value in plan.conf.items() if not given.contains(key)])
    return SparkSession.builder.config(conf=left).getOrCreate()


def _paths(class_path: str) -> list[Path]:
    return [Path(jar) for jar in class_path.split(os.pathsep) if jar]


def _java_options(work_dir: Path, log_level: str, silent: Sequence[str]) -> list[str]:
    """Return the options of the driver's JVM."""
    scratch = work_dir / "jvm"
    scratch.mkdir(exist_ok=True)
    return [
        f"-Dlog4j2.configurationFile={_write_log4j(work_dir, log_level, silent)}",
        # Libraries unpack native code into it, which a killed JVM leaves behind.
        f"-Djava.io.tmpdir={scratch}",
        "-XX:-UsePerfData",
        # When a query is stopped, Spark searches the trace of its micro-batch with a pattern that takes some 700 bytes
        # of the stack for each character: the usual megabyte is too little for a trace of 2,000 characters. Memory that
        # is never used is not taken.
        "-Xss32m",
        "-XX:+UseSerialGC",
    ]


def _write_log4j(work_dir: Path, level: str, silent: Sequence[str]) -> Path:
    path = work_dir / "log4j2.properties"
    text = _LOG4J.format(level=level, trace_lines=_TRACE_LINES_MAX)
    for number, name in enumerate(silent):
        text += f"logger.silent{number}.name={name}\nlogger.silent{number}.level=off\n"
    path.write_text(text, encoding="utf-8")
    return path


def _write_worker(work_dir: Path) -> Path:
    """Write the program that Spark starts as Python: the driver's interpreter, with the driver's import path."""
    given = os.environ.get("PYTHONPATH")
    path = f"export PYTHONPATH={shlex.quote(given)}" if given else "unset PYTHONPATH"
    program = work_dir / "python-worker"
    text = _WORKER.format(path=path, python=shlex.quote(sys.executable))
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    return program
