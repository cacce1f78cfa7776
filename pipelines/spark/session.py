"""Spark session of a runner: local, quiet, and gone when its Python process is gone.

Lifetime: PySpark starts the JVM as a child of this Python process. The JVM's standard input is a pipe whose writing
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

from pyspark.sql import SparkSession

from braid.pipelines.spark.class_archive import archive_options
from braid.pipelines.spark.jars import java_executable, resolve

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
) -> SparkSession:
    """Return a session whose JVM is a child of this process.

    Sets `PYSPARK_PYTHON` and `SPARK_LOCAL_IP` in the environment: Spark reads them nowhere else. One session
    per process: a second call returns the session of the first, as Spark does.

    Args:
        app_name: Shown in logs.
        work_dir: Folder for the log configuration and Spark's scratch files; created if missing.
        cores: Tasks that run at once, and partitions of a shuffle.
        memory: Heap of the JVM, as Spark writes it: `1g`, `768m`.
        log_level: Level of the JVM's log on standard error.
        silent: Loggers of the JVM that are switched off, those below them included.
        conf: More Spark settings. They take precedence over the settings made here, except for
            `spark.driver.extraClassPath` and `spark.driver.extraJavaOptions`, which are appended.

    Raises:
        JarError: Java 17 is missing, or the connector cannot be downloaded.
    """
    work_dir = work_dir.absolute()
    work_dir.mkdir(parents=True, exist_ok=True)
    java_executable()  # one clear error now, instead of Spark's trace later
    os.environ["PYSPARK_PYTHON"] = str(_write_worker(work_dir))
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings: dict[str, bool | float | int | str | None] = {
        "spark.driver.memory": memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(work_dir / "scratch"),
        "spark.sql.warehouse.dir": str(work_dir / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        # 200, the default, costs seconds a batch on a few cores.
        "spark.sql.shuffle.partitions": str(cores),
        "spark.python.worker.reuse": "true",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(ARROW_BATCH_ROWS),
        "spark.sql.execution.arrow.maxBytesPerBatch": str(_ARROW_BATCH_BYTES),
        **conf,
    }
    scratch = work_dir / "jvm"
    scratch.mkdir(exist_ok=True)
    class_path = list(resolve(["spark"])["spark"])
    extra = conf.get("spark.driver.extraClassPath", "")
    class_path += [Path(jar) for jar in extra.split(os.pathsep) if jar]
    java_options = [f"-Dlog4j2.configurationFile={_write_log4j(work_dir, log_level, silent)}"]
    # Libraries unpack native code into it, which a killed JVM leaves behind.
    java_options += [f"-Djava.io.tmpdir={scratch}", "-XX:-UsePerfData"]
    # When a query is stopped, Spark searches the trace of its micro-batch with a pattern that takes some 700 bytes of
    # the stack for each character: the usual megabyte is too little for a trace of 2,000 characters. Memory that is
    # never used is not taken.
    java_options += ["-Xss32m", "-XX:+UseSerialGC", conf.get("spark.driver.extraJavaOptions", "")]
    java_options += archive_options(class_path)
    settings["spark.driver.extraClassPath"] = os.pathsep.join(map(str, class_path))
    settings["spark.driver.extraJavaOptions"] = " ".join(java_options).strip()
    builder = SparkSession.builder.master(f"local[{cores}]").appName(app_name)
    return builder.config(map=settings).getOrCreate()


def jvm_process_id(session: SparkSession) -> int:
    """Return the id of the session's JVM, by which tests find it."""
    jvm = session.sparkContext._jvm
    assert jvm is not None, "a built session has a JVM"
    return int(jvm.java.lang.ProcessHandle.current().pid())


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
