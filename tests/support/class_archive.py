"""Class archive of the format's Java library (`java_reader`): loading classes is half of the work of a JVM's start.

`python -m tests.support.class_archive` makes the archive if it does not exist, in some ten seconds, by a program that
uses what tests use. The archive is named after the Java and the jars, so that others get one of their own. A JVM that
does not find the very jars in its class path says nothing and loads the classes itself. The archive of Spark's classes
is the product's (`braid.pipelines.spark.class_archive`).
"""

import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from braid.pipelines.spark.jars import JarError
from tests.interop import java_reader

_CACHE = Path(__file__).parents[2] / ".cache"
JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Of every JVM of the tests. A Java of a test lives for seconds; the optimising compiler takes a third
of that, of every core, and is of use only to one that lives for minutes."""

# Which classes cannot be archived, or that an archive does not fit, is of no interest.
_SILENT = "-Xlog:disable"
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


def _reader_training(folder: Path, options: str) -> tuple[Sequence[str], Mapping[str, str]]:
    cases = folder / "cases.jsonl"
    cases.write_text("".join(f"{json.dumps(case)}\n" for case in _CASES), encoding="utf-8")
    command = java_reader.command("Oracle", "run", str(cases), str(folder / "out"), jvm=options)
    return command, java_reader.environment()


READER = ClassArchive(
    folder=java_reader.CACHE,
    find_path=lambda: java_reader.jar_path().with_suffix(".jsa"),
    training=_reader_training,
)


def main() -> None:
    """Make what is not there."""
    READER.make()


if __name__ == "__main__":
    main()
