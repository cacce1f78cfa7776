"""Checks of this machine: Python and packages, Java and the jars of a runner, free space for lookup copies and the warehouse."""

import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from braid.cli.doctor.findings import Finding, Level
from braid.pipelines.spark.jars import jars_folder, read_lock
from braid.pipelines.spark.java import JarError, java_executable

_PYTHON_MIN: Final = (3, 11)
_CONNECTOR: Final = "spark"
"""The part of the jars that every runner needs."""
_FREE_BYTES_MIN: Final = 1 << 30
_FREE_SHARE_MIN: Final = 0.05


def check_versions() -> Iterator[Finding]:
    """Yield the versions of Python and of the main packages, and a problem for an old Python."""
    found = platform.python_version()
    is_new = sys.version_info >= _PYTHON_MIN
    yield Finding(
        check="python",
        level=Level.OK if is_new else Level.PROBLEM,
        found=f"Python {found}, braid {version('braid-lake')}, pyarrow {version('pyarrow')}",
        advice=None if is_new else "install Python 3.11 or newer",
    )


def check_runner_programs() -> Iterator[Finding]:
    """Yield whether this machine has what a runner needs: PySpark, Java and the connector's jars."""
    if find_spec("pyspark") is None:
        yield Finding(
            check="java",
            level=Level.INFO,
            found="PySpark is not installed, so this machine can run no streams",
            advice="on a machine for runners: pip install 'braid-lake[spark]'",
        )
        return
    try:
        java = java_executable()
        yield Finding(check="java", level=Level.OK, found=str(java))
    except JarError as error:
        yield Finding(
            check="java",
            level=Level.WARNING,
            found=f"{error.what}: found {error.found}, expected {error.expected}",
            advice=f"for runners: {error.hint}",
        )
    yield _jars()


def check_disk(lookup_directory: str | None) -> Iterator[Finding]:
    """Yield how much space is left where the service keeps copies of data files.

    Args:
        lookup_directory: The folder of the copies; None: the system's folder for temporary files.
    """
    yield _disk(
        "disk",
        _existing(Path(lookup_directory or tempfile.gettempdir())),
        what="copies of data files",
        advice="free some space, or name another folder: braid service --lookup-directory PATH",
    )


def check_warehouse_disk(warehouse: str) -> Iterator[Finding]:
    """Yield how much space is left for a warehouse on a disk; nothing for one in an object store.

    Args:
        warehouse: Absolute path or address.
    """
    if "://" not in warehouse:
        yield _disk(
            "warehouse disk",
            Path(warehouse),
            what="the warehouse",
            advice="free some space or enlarge the disk before it is full: then nothing is committed",
        )


def _disk(check: str, folder: Path, *, what: str, advice: str) -> Finding:
    usage = shutil.disk_usage(folder)
    is_full = usage.free < max(_FREE_BYTES_MIN, _FREE_SHARE_MIN * usage.total)
    return Finding(
        check=check,
        level=Level.WARNING if is_full else Level.OK,
        found=f"{_gib(usage.free)} of {_gib(usage.total)} are free at {folder}, for {what}",
        advice=advice if is_full else None,
    )


def _jars() -> Finding:
    folder = jars_folder()
    jars = [
        folder / conf / jar.coordinate.file_name
        for conf, locked in read_lock().items()
        if conf == _CONNECTOR
        for jar in locked
    ]
    missing = [path for path in jars if not path.is_file()]
    if missing:
        return Finding(
            check="jars",
            level=Level.WARNING,
            found=f"{len(missing)} of {len(jars)} jars of Spark's Kafka connector are missing in {folder}",
            advice="braid prepare",
        )
    found = f"{len(jars)} jars of Spark's Kafka connector in {folder}"
    return Finding(check="jars", level=Level.OK, found=found)


def _existing(path: Path) -> Path:
    """Return a folder, or the nearest one above it that exists."""
    return next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / (1 << 30):.1f} GiB"
