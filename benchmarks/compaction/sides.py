"""The two programs that the benchmark compares, Braid and Paimon's Java library, and copies of a table for them.

Each program compacts a table on request.
"""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from benchmarks.compaction import worker
from benchmarks.merging.sides import JAVA_HEAP, Side, SideFailed, running
from tests.interop import java_reader


class Compactor(Protocol):
    """One of the two programs."""

    def compact(self, table: Path) -> dict[str, float]:
        """Compact a table fully; return wall_ms and cpu_ms."""
        ...


class OurSide:
    """Our program; it reads as well."""

    def __init__(self, side: Side) -> None:
        self._side = side

    def compact(self, table: Path) -> dict[str, float]:
        """Compact a table fully."""
        return self.ask(do="compact", table=str(table))

    def ask(self, **request: str) -> dict[str, float]:
        """Return the answer to any request."""
        answer: dict[str, float] = self._side.ask(json.dumps(request))
        return answer


class JavaSide:
    """The reference's program."""

    def __init__(self, side: Side, *, threads: int) -> None:
        self._side = side
        self._threads = threads

    def compact(self, table: Path) -> dict[str, float]:
        """Compact a table fully."""
        command = {"do": "compact", "table": str(table), "mode": "full", "threads": self._threads}
        answer: dict[str, Any] = self._side.ask(json.dumps(command))
        if "error" in answer:
            raise SideFailed(answer["error"]["message"])
        return {key: float(answer[key]) for key in ("wall_ms", "cpu_ms")}


@contextmanager
def ours(*, cores: int) -> Iterator[OurSide]:
    """Run our program on some cores, with a process for each."""
    command = [sys.executable, "-m", worker.__name__, str(cores)]
    with running(command, cores=cores) as side:
        yield OurSide(side)


@contextmanager
def java(*, cores: int) -> Iterator[JavaSide]:
    """Run the reference's program on some cores, with a thread and a writer for each."""
    with running(java_reader.command("Driver", heap=JAVA_HEAP), cores=cores) as side:
        yield JavaSide(side, threads=cores)


def copy_table(source: Path, target: Path) -> Path:
    """Return a copy of a table to be compacted; its data files are links, because they never change."""
    shutil.copytree(source, target, copy_function=_copy_file)
    return target


def _copy_file(source: str, target: str) -> str:
    if source.endswith(".parquet"):
        os.link(source, target)
        return target
    return str(shutil.copy2(source, target))
