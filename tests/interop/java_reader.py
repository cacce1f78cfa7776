"""Asks the format's own Java implementation what is in a table, or lets it write one.

`java/` holds a small program over Paimon's Java API; the jars come from the `paimon` conf of the
lock file, Hadoop from pyspark. The program is compiled once into `.cache/`. It takes a second to start
and more to be warm, so the tests have one Java run all of them (`programs_run_by`).
"""

import fcntl
import hashlib
import json
import os
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from braid.pipelines.spark.jars import java_executable, resolve

SOURCES = Path(__file__).with_name("java")
CACHE = Path(__file__).parents[2] / ".cache" / "java-reader"
_SPARK_JARS = ("hadoop-client-api", "hadoop-client-runtime", "slf4j-api", "jcl-over-slf4j")
# Not --release: that needs a file which a JRE does not have.
_JAVA_17 = ("-source", "17", "-target", "17")
BUFFERED_MANIFESTS = "-Dmanifests.buffered=true"
"""Option of Java by which `java/Storage.java` reads manifests in one piece; measurements leave it out."""
_JVM = (
    "-XX:+UseSerialGC",
    "-Dslf4j.internal.verbosity=ERROR",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
)


Run = Callable[[str, Sequence[str]], str]
"""Runs a program of `java/` with arguments, and returns what it prints."""

_hosts: list[Run] = []


@contextmanager
def programs_run_by(run: Run) -> Iterator[None]:
    """Let programs be run by a Java that is running already, not each by one of its own."""
    _hosts.append(run)
    try:
        yield
    finally:
        _hosts.remove(run)


class JavaReaderFailed(AssertionError):
    """The Java program refused: in a test that is a verdict on the table it was shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaTable:
    """What Java reads in a table directory.

    Attributes:
        columns: `{id, name, type}` of each, types as SQL text.
        rows: Values in column order, sorted by primary key; None where rows were not asked for.
        row_count: Rows of the snapshot that was read.
        snapshots: `{id, kind, schema_id, total_record_count, delta_record_count, user}`.
        changelog: `[snapshot id, [[kind, value, ...], ...]]`, None unless asked for.
        report: All that the program said, for what is rarely needed.
    """

    columns: list[dict[str, Any]]
    rows: list[list[Any]] | None
    row_count: int
    snapshots: list[dict[str, Any]]
    changelog: list[Any] | None
    report: dict[str, Any]


def run_cases(cases: Path, out: Path, *, keep: Path | None = None) -> list[dict[str, Any]]:
    """Execute merge cases and return each with what happened under `expect`.

    Args:
        cases: One case a line, in the form of the conformance cases.
        out: Where the answers are written, a line each.
        keep: Folder in which the tables stay, under `t.db/<case id>`; default none stays.
    """
    keeping = ("--keep", str(keep)) if keep else ()
    _run("run", str(cases), str(out), *keeping)
    answers = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    failed = [answer for answer in answers if "oracle_failure" in answer]
    if failed:
        raise JavaReaderFailed(f"case {failed[0]['id']}: {failed[0]['oracle_failure']}")
    return answers


def read_rows(
    table_dir: Path,
    *,
    snapshot: int | None = None,
    tag: str | None = None,
    branch: str | None = None,
    with_changelog: bool = False,
    options: Mapping[str, str] | None = None,
) -> JavaTable:
    """Return the rows of a table directory, written by anyone.

    Args:
        table_dir: Holds `schema/` and `snapshot/`.
        snapshot: Default the latest.
        tag: Instead of a snapshot.
        branch: Default main.
        with_changelog: Also read the changelog of all snapshots.
        options: Table options for this read.
    """
    choices = {"--snapshot": snapshot, "--tag": tag, "--branch": branch}
    arguments = [
        text for key, value in choices.items() if value is not None for text in (key, str(value))
    ]
    arguments += ["--changelog"] * with_changelog
    return _table(_run("read", str(table_dir), *arguments, *_option_arguments(options)))


def read_tables(table_dirs: Sequence[Path], work: Path) -> list[dict[int, list[list[Any]] | str]]:
    """Return the rows of every snapshot of many tables, or what reading it raised, in one JVM.

    Args:
        table_dirs: Each holds `schema/` and `snapshot/`.
        work: A folder to write in.
    """
    listed = work / "tables.txt"
    listed.write_text("".join(f"{path}\n" for path in table_dirs), encoding="utf-8")
    output = _run(str(listed), program="ReadTables")
    tables = [json.loads(line) for line in output.splitlines()]
    return [{int(snapshot): rows for snapshot, rows in table.items()} for table in tables]


def count_rows(table_dir: Path, *, repeat: int = 1) -> tuple[int, list[int]]:
    """Return the row count of the latest snapshot and the milliseconds of each reading of it."""
    report = _json(_run("read", str(table_dir), "--count", "--repeat", str(repeat)))
    return report["row_count"], report["read_ms"]


def read_to_parquet(table_dir: Path, out_dir: Path, *, snapshot: int | None = None) -> list[Path]:
    """Let Java read the rows and write them as plain Parquet; return the files."""
    chosen = ("--snapshot", str(snapshot)) if snapshot is not None else ()
    _run("read", str(table_dir), "--to-parquet", str(out_dir), *chosen)
    return sorted(out_dir.glob("bucket-*/*.parquet"))


def write_bulk(
    table_dir: Path,
    *,
    rows: int,
    keys: int,
    commits: int = 1,
    buckets: int = 1,
    seed: int = 1,
    deletes_permille: int = 0,
    engine: str = "partial-update",
    options: Mapping[str, str] | None = None,
    is_compacted: bool = False,
) -> int:
    """Let Java write a table whose rows are a function of the row number (see `Bulk.java`).

    Returns:
        How long the writing and committing took, in milliseconds, without Java's own start.
    """
    numbers = {
        "--rows": rows,
        "--keys": keys,
        "--commits": commits,
        "--buckets": buckets,
        "--seed": seed,
        "--deletes-permille": deletes_permille,
        "--engine": engine,
    }
    arguments = [text for key, value in numbers.items() for text in (key, str(value))]
    arguments += ["--compact"] * is_compacted
    output = _run("write-bulk", str(table_dir), *arguments, *_option_arguments(options))
    return int(json.loads(output.splitlines()[0])["write_ms"])


def append(table_dir: Path, steps: Path) -> list[list[list[Any]]]:
    """Let Java write to and compact a table that somebody else made.

    Args:
        table_dir: Holds `schema/` and `snapshot/`.
        steps: A JSON object whose `steps` are write and compact steps of a conformance case.

    Returns:
        After each step all rows, sorted by primary key.
    """
    output = _run(str(table_dir), str(steps), program="Append")
    return [json.loads(line) for line in output.splitlines()]


def run_source(source: Path, *arguments: str) -> str:
    """Compile one file beside the library and run its class; return what it printed.

    Args:
        source: `<class>.java`; class files go to its folder.
        arguments: Of its `main`.
    """
    classes = source.parent / "classes"
    _compile([source], classes)
    class_path = os.pathsep.join([str(classes), *_class_path()])
    started = [str(java_executable()), *_JVM, "-cp", class_path, source.stem, *arguments]
    ran = subprocess.run(
        started, env=environment(), capture_output=True, encoding="utf-8", check=False
    )
    if ran.returncode:
        raise JavaReaderFailed(f"{source.name}: exit {ran.returncode}\n{ran.stderr[-4000:]}")
    return ran.stdout


def _option_arguments(options: Mapping[str, str] | None) -> list[str]:
    return [
        text for key, value in (options or {}).items() for text in ("--option", f"{key}={value}")
    ]


def _table(output: str) -> JavaTable:
    report = _json(output)
    return JavaTable(
        columns=report["columns"],
        rows=report.get("rows"),
        row_count=report["row_count"],
        snapshots=report["snapshots"],
        changelog=report.get("changelog"),
        report=report,
    )


def _json(output: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(output)
    return report


def _run(*arguments: str, program: str = "Oracle") -> str:
    """Run a program of `java/` and return its standard output."""
    if _hosts:
        return _hosts[-1](program, arguments)
    ran = subprocess.run(
        command(program, *arguments),
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if ran.returncode:
        shown = " ".join(arguments)
        raise JavaReaderFailed(f"{shown}: exit {ran.returncode}\n{ran.stderr[-4000:]}")
    return ran.stdout


def command(
    program: str, *arguments: str, heap: str | None = None, jvm: str | None = None
) -> list[str]:
    """Return what starts a program of `java/`, compiled if it was not.

    Args:
        program: Name of its class.
        arguments: Its own.
        heap: Java's bound of its memory, as `-Xmx` takes it; default `ORACLE_HEAP`, else `2g`.
        jvm: More options of Java; default `ORACLE_JVM`, which measurements leave unset.
    """
    class_path = os.pathsep.join([str(compiled()), *_class_path()])
    bound = f"-Xmx{heap or os.environ.get('ORACLE_HEAP', '2g')}"
    more = os.environ.get("ORACLE_JVM", "") if jvm is None else jvm
    options = [bound, *_JVM, *more.split()]
    return [str(java_executable()), *options, "-cp", class_path, program, *arguments]


def environment() -> dict[str, str]:
    """Return the environment to start it in: Java takes the encoding of its output from there."""
    return {**os.environ, "LC_ALL": "C.UTF-8"}


@cache
def _class_path() -> tuple[str, ...]:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    spark = Path(spec.origin).parent / "jars"
    jars = [jar for jar in resolve(["paimon"])["paimon"] if not jar.name.startswith("ecj-")]
    jars += [jar for name in _SPARK_JARS for jar in spark.glob(f"{name}-*.jar")]
    return tuple(map(str, jars))


@cache
def compiled() -> Path:
    """Return the jar of these programs, which is made if it is not there."""
    jar = jar_path()
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / ".lock").open("w") as lock, tempfile.TemporaryDirectory(dir=CACHE) as folder:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not jar.exists():
            classes, new = Path(folder, "classes"), Path(folder, jar.name)
            _compile(sorted(SOURCES.glob("*.java")), classes)
            with zipfile.ZipFile(new, "w") as file:
                for path in sorted(classes.rglob("*.class")):
                    file.write(path, path.relative_to(classes))
            new.rename(jar)
    return jar


def jar_path() -> Path:
    """Return where the jar is or would be: it is named after its sources, its class path and Java."""
    java = java_executable().resolve()
    release = java.parents[1] / "release"
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(SOURCES.glob("*.java"))))
    digest.update(os.pathsep.join([str(java), *_class_path()]).encode())
    digest.update(release.read_bytes() if release.exists() else b"")
    return CACHE / f"{digest.hexdigest()[:16]}.jar"


def _compile(sources: Sequence[Path], classes: Path) -> None:
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        built = Path(folder) / "classes"
        options = ["-proc:none", "-nowarn", "-encoding", "UTF-8", "-d", str(built)]
        class_path = ["-cp", os.pathsep.join(_class_path())]
        command = [*_compiler(), *options, *class_path, *map(str, sources)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise JavaReaderFailed(f"{command[0]}: exit {ran.returncode}\n{ran.stderr[-4000:]}")
        built.rename(classes)


def _compiler() -> list[str]:
    """Return javac of the Java in use, else Eclipse's compiler: a JRE is enough."""
    java = java_executable()
    javac = java.resolve().with_name("javac")
    if javac.exists():
        return [str(javac), *_JAVA_17]
    ecj = next(jar for jar in resolve(["paimon"])["paimon"] if jar.name.startswith("ecj-"))
    return [str(java), "-jar", str(ecj), *_JAVA_17]
