"""Keeps classes as a JVM has them in memory: loading them is half of the work of a start.

There is an archive of Spark's classes, and one of the format's Java library (`java_reader`).
`python -m tests.support.class_archive` makes those that are not there, in some twenty seconds: each by
a program that uses what tests use. An archive is named after the Java and the jars, so that others get
one of their own. A JVM that does not find the very jars in its class path says nothing and loads the
classes itself.
"""

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyspark

from braid.pipelines.spark.jars import JarError, java_executable, resolve
from tests.interop import java_reader

_CACHE = Path(__file__).parents[2] / ".cache"
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
from braid.pipelines.spark.session import build_session

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


# What is written, merged and read in each file format by the engines.
_CASES = [
    {
        "id": f"{file_format}-{number}",
        "schema": {
            "columns": [
                {"name": "k", "type": "INT NOT NULL"},
                {"name": "a", "type": "STRING"},
                {"name": "n", "type": "BIGINT"},
            ],
            "primary_key": ["k"],
        },
        "options": {"bucket": "1", "file.format": file_format} | options,
        "steps": [
            {"write": [["+I", 1, "a", 1], ["+I", 2, "b", None]]},
            {"write": [["+I", 1, None, 2]]},
            {"compact": "full"},
        ],
    }
    for file_format in ("parquet", "orc", "avro")
    for number, options in enumerate(
        [
            {"merge-engine": "partial-update", "changelog-producer": "lookup"},
            {"deletion-vectors.enabled": "true"},
            {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum"},
        ]
    )
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassArchive:
    """An archive of the classes that programs of one kind load.

    Attributes:
        folder: Holds it.
        find_path: Returns where the archive of this Java and these jars is, or would be; raises
            `JarError` without Java or a jar.
        training: From a folder to work in and the options of the JVM to a command that uses what is
            to be kept, and its environment.
    """

    folder: Path
    find_path: Callable[[], Path]
    training: Callable[[Path, str], tuple[Sequence[str], Mapping[str, str]]]

    def options(self) -> str:
        """Return what a JVM is started with in tests: with the archive if it is there."""
        # Where there is none the jars may be absent, too, and tests without Java do not fetch them.
        if any(self.folder.glob("*.jsa")):
            with contextlib.suppress(JarError):
                if (path := self.find_path()).exists():
                    return f"{JVM_OPTIONS} {_SILENT} -XX:SharedArchiveFile={path}"
        return JVM_OPTIONS

    def make(self) -> None:
        """Make it if it is not there; where that fails there is none, and tests take longer."""
        path = self.find_path()
        if path.exists():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=self.folder) as folder:
            new = Path(folder, path.name)
            options = f"{JVM_OPTIONS} {_SILENT} -XX:ArchiveClassesAtExit={new}"
            command, environment = self.training(Path(folder), options)
            try:
                subprocess.run(
                    command,
                    env=environment,
                    capture_output=True,
                    text=True,
                    timeout=300,
                    check=True,
                )
                new.stat()
            except (subprocess.SubprocessError, OSError) as error:
                told = getattr(error, "stderr", None) or ""
                sys.stderr.write(f"no archive of classes, tests take longer: {error}\n{told}")
                return
            for old in self.folder.glob("*.jsa"):
                old.unlink(missing_ok=True)
            new.replace(path)


def _spark_archive() -> Path:
    java = java_executable().resolve()
    release = java.parents[1] / "release"
    parts = [str(java), release.read_text(encoding="utf-8") if release.exists() else ""]
    jars = [*resolve(["spark"])["spark"], *sorted(Path(pyspark.__path__[0], "jars").glob("*.jar"))]
    for jar in jars:
        found = jar.stat()
        parts.append(f"{jar} {found.st_size} {found.st_mtime_ns}")
    name = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return SPARK.folder / f"{name[:16]}.jsa"


def _spark_training(folder: Path, options: str) -> tuple[Sequence[str], Mapping[str, str]]:
    command = [sys.executable, "-c", _PROGRAM, str(folder / "work")]
    return command, os.environ | {"SPARK_SUBMIT_OPTS": options}


def _reader_training(folder: Path, options: str) -> tuple[Sequence[str], Mapping[str, str]]:
    cases = folder / "cases.jsonl"
    cases.write_text("".join(f"{json.dumps(case)}\n" for case in _CASES), encoding="utf-8")
    command = java_reader.command("Oracle", "run", str(cases), str(folder / "out"), jvm=options)
    return command, java_reader.environment()


SPARK = ClassArchive(
    folder=_CACHE / "spark-classes", find_path=_spark_archive, training=_spark_training
)
READER = ClassArchive(
    folder=java_reader.CACHE,
    find_path=lambda: java_reader.jar_path().with_suffix(".jsa"),
    training=_reader_training,
)


def main() -> None:
    """Make what is not there."""
    for archive in (SPARK, READER):
        archive.make()


if __name__ == "__main__":
    main()
