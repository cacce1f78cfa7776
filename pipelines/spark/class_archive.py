"""Archive of the classes of Spark's JVM, from which a runner's JVM maps its classes into memory.

    python -m braid.pipelines.spark.class_archive [--quiet]

Without an archive a JVM reads thousands of classes from jars and verifies them, which is 40 % of the processor time of
a runner's start. The archive is what Java calls a dynamic archive of class data sharing: a training run (`class_training`)
writes into it the classes that it has loaded.

An archive fits one Java and one class path, whose jars have not changed since. Its name is a hash of these, so another
Java or another release of Spark gets an archive of its own, and never one that does not fit. `build_session` uses the
archive if it is there; nothing else depends on it.
"""

import argparse
import hashlib
import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from braid.pipelines.spark.jars import JarError, exclusive, jars_folder, java_executable, resolve

_ARCHIVES_MAX: Final = 3
"""Archives of one folder of jars, the newest: each takes some 150 MB, and several environments may share the folder."""
_TRAINING_SECONDS_MAX: Final = 300
# Spark's launcher splits the options at blanks, and a path may have some.
_QUOTED: Final = '"-XX:{option}={path}"'
# Which classes cannot be archived is of no interest to a user.
_SILENT: Final = "-Xlog:cds*=off"


class TrainingFailed(RuntimeError):
    """The training run has made no archive; the message has its last lines."""


def archive_options(class_path: Sequence[Path]) -> list[str]:
    """Return the options by which a JVM uses the archive; none if there is no archive.

    Args:
        class_path: The jars before Spark's own in the class path of the JVM, in their order.
    """
    path = archive_path(class_path)
    return [_SILENT, _QUOTED.format(option="SharedArchiveFile", path=path)] if path.exists() else []


def training_options(archive: Path) -> str:
    """Return the options by which a JVM writes an archive of its classes when it ends."""
    return f"{_SILENT} {_QUOTED.format(option='ArchiveClassesAtExit', path=archive)}"


def archive_path(class_path: Sequence[Path]) -> Path:
    """Return the path of the archive for this Java and these jars, whether it exists or not.

    Args:
        class_path: See `archive_options`.

    Raises:
        JarError: Java is missing or too old.
        OSError: A jar is missing.
    """
    java = java_executable().resolve()
    release = java.parents[1] / "release"
    parts = [str(java), release.read_text(encoding="utf-8") if release.exists() else ""]
    for jar in [*class_path, *sorted((_spark_home() / "jars").glob("*.jar"))]:
        # The JVM compares the same: it ignores an archive if a jar has another size or time.
        found = jar.stat()
        parts.append(f"{jar} {found.st_size} {found.st_mtime_ns}")
    name = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return jars_folder() / "spark-classes" / f"{name}.jsa"


def make_archive(extra_jars: Sequence[Path] = ()) -> Path:
    """Make the archive if it does not exist, by a training run of some 20 seconds, and return its path.

    Safe to call from several processes at once: one makes the archive, and the others wait. Deletes all but the newest
    archives of the folder.

    Args:
        extra_jars: Jars of Kafka clusters, as a runner gets them by `spark.driver.extraClassPath`.

    Raises:
        JarError: Java is missing, or a jar cannot be downloaded.
        TrainingFailed: The training run has failed.
        OSError: The folder of the jars cannot be written.
    """
    path = archive_path([*resolve(["spark"])["spark"], *extra_jars])
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(path.parent / ".lock"):
        if not path.exists():  # else another process has just made it
            sys.stderr.write("archiving the classes of Spark's JVM (half a minute, once)\n")
            _make(path, extra_jars)
    return path


def _make(path: Path, extra_jars: Sequence[Path]) -> None:
    with tempfile.TemporaryDirectory(prefix=".new-", dir=path.parent) as folder:
        new = Path(folder, path.name)
        module = "braid.pipelines.spark.class_training"
        command = [sys.executable, "-m", module, folder, str(new), *map(str, extra_jars)]
        try:
            subprocess.run(
                command, capture_output=True, text=True, timeout=_TRAINING_SECONDS_MAX, check=True
            )
            new.stat()
        except (subprocess.SubprocessError, OSError) as error:
            told = _text(getattr(error, "stderr", None)).strip().splitlines()[-5:]
            raise TrainingFailed("\n".join([str(error), *told])) from error
        new.replace(path)
    archives = sorted(path.parent.glob("*.jsa"), key=lambda old: old.stat().st_mtime_ns)
    for old in archives[:-_ARCHIVES_MAX]:
        old.unlink(missing_ok=True)


def _text(output: str | bytes | None) -> str:
    """Return what a program has told: bytes if it was ended because it took too long.

    >>> _text(b"a"), _text("a"), _text(None)
    ('a', 'a', '')
    """
    return output.decode(errors="replace") if isinstance(output, bytes) else output or ""


def _spark_home() -> Path:
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None, "the class path of Spark is asked for where Spark is installed"
    assert spec.submodule_search_locations, "pyspark is a package"
    return Path(spec.submodule_search_locations[0])


def main() -> None:
    """Make the archive if it does not exist; where that fails, say so and end with status 0, because runners need no archive."""
    parser = argparse.ArgumentParser(prog="python -m braid.pipelines.spark.class_archive")
    parser.add_argument("--quiet", action="store_true", help="do not print the path")
    arguments = parser.parse_args()
    try:
        path = make_archive()
    except (JarError, TrainingFailed, OSError) as error:
        sys.stderr.write(
            f"Spark starts without an archive of its classes, which takes longer: {error}\n"
        )
        return
    if not arguments.quiet:
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
