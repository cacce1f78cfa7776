"""Keeps the classes of Spark as a JVM has them in memory: loading them is half of the work of a start.

`python -m tests.support.class_archive` makes the archive, which takes a Spark session and some ten
seconds, unless it is there. It is named after the Java and the jars, so that others get one of their
own. A JVM that does not find the very jars in its class path says nothing and loads the classes itself.
"""

import contextlib
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pyspark

from pipelines.jars import JarError, java_executable, resolve

FOLDER = Path(__file__).parents[2] / ".cache" / "spark-classes"
JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Of every JVM of the tests. A Java of a test lives for seconds; the optimising compiler takes a third
of that, of every core, and is of use only to one that lives for minutes."""

# Which classes cannot be archived, or that an archive does not fit, is of no interest.
_SILENT = "-Xlog:disable"
# Loads what a runner's queries need: a stream, JSON, Kafka's classes, and Python between.
_PROGRAM = """
import sys
from pathlib import Path
from pyspark import SparkContext
from pyspark.sql import functions as fn
from pipelines.session import build_session

work_dir = Path(sys.argv[1])
session = build_session(app_name="classes", work_dir=work_dir)
servers = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "topic"}
assert session.readStream.format("kafka").options(**servers).load().isStreaming

def look(batch, number):
    parsed = fn.from_json(fn.concat(fn.lit('{"a": '), "value", fn.lit("}")), "a long, b string")
    told = batch.select(parsed.alias("parsed"), "timestamp").select("parsed.*", "timestamp")
    told.repartition(2).mapInArrow(lambda batches: batches, told.schema).groupBy("a").count().collect()

rates = session.readStream.format("rate").option("rowsPerSecond", 20).load()
query = rates.writeStream.foreachBatch(look).option("checkpointLocation", str(work_dir / "checkpoint"))
query = query.start()
while not any(progress["numInputRows"] for progress in query.recentProgress):
    query.awaitTermination(1)
query.stop()
session.stop()
gateway = SparkContext._gateway
gateway.shutdown()
gateway.proc.stdin.close()
sys.exit(gateway.proc.wait())
"""


def spark_options() -> str:
    """Return what a JVM of Spark is started with in tests: with the archive if it is there."""
    # Where there is none the jars may be absent, too, and tests without Spark do not fetch them.
    if any(FOLDER.glob("*.jsa")):
        with contextlib.suppress(JarError):
            if (path := archive_path()).exists():
                return f"{JVM_OPTIONS} {_SILENT} -XX:SharedArchiveFile={path}"
    return JVM_OPTIONS


def archive_path() -> Path:
    """Return where the archive of this Java and these jars is, or would be.

    Raises:
        JarError: There is no Java, or a jar cannot be had.
    """
    java = java_executable().resolve()
    release = java.parents[1] / "release"
    parts = [str(java), release.read_text(encoding="utf-8") if release.exists() else ""]
    jars = [*resolve(["spark"])["spark"], *sorted(Path(pyspark.__path__[0], "jars").glob("*.jar"))]
    for jar in jars:
        found = jar.stat()
        parts.append(f"{jar} {found.st_size} {found.st_mtime_ns}")
    name = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return FOLDER / f"{name[:16]}.jsa"


def make() -> None:
    """Make the archive if it is not there; where that fails there is none, and tests take longer."""
    path = archive_path()
    if path.exists():
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=FOLDER) as folder:
        new = Path(folder, path.name)
        options = f"{JVM_OPTIONS} {_SILENT} -XX:ArchiveClassesAtExit={new}"
        environment = os.environ | {"SPARK_SUBMIT_OPTS": options}
        command = [sys.executable, "-c", _PROGRAM, f"{folder}/work"]
        try:
            subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=300, check=True
            )
            new.stat()
        except (subprocess.SubprocessError, OSError) as error:
            told = getattr(error, "stderr", None) or ""
            sys.stderr.write(f"no archive of Spark's classes, tests take longer: {error}\n{told}")
            return
        for old in FOLDER.glob("*.jsa"):
            old.unlink(missing_ok=True)
        new.replace(path)


if __name__ == "__main__":
    make()
