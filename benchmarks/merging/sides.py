"""Both sides of the merge benchmark: programs that read a table on request; they take turns on the same cores."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

from benchmarks.merging import worker
from tests.interop import java_reader

JAVA_HEAP = "4g"


class SideFailed(Exception):
    """A program ended instead of answering, or answered with an error."""


class Side:
    """A running program.

    Args:
        process: The program, with pipes for requests and answers.
        errors: The file of its standard error.
    """

    def __init__(self, process: subprocess.Popen[str], errors: IO[bytes]) -> None:
        self._process = process
        self._errors = errors

    def ask(self, request: str) -> dict[str, Any]:
        """Return the answer to one request.

        Raises:
            SideFailed: With the last error of the program.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(f"{request}\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise SideFailed(self._last_words())
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _last_words(self) -> str:
        self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        errors = [line for line in lines if line and not line.startswith(("\t", " "))]
        return (errors or [f"exit {self._process.returncode}"])[-1]


def ours(table: Path | str, *, cores: int) -> AbstractContextManager[Side]:
    """Run our program, with a process for each core, until the block ends."""
    command = [sys.executable, "-m", worker.__name__, str(table), str(cores)]
    return running(command, cores=cores)


def java(table: Path | str, *, cores: int) -> AbstractContextManager[Side]:
    """Run the reference's program, with a thread for each core, until the block ends."""
    command = java_reader.command("Scanning", str(table), str(cores), heap=JAVA_HEAP)
    return running(command, cores=cores)


def cold_s(start: Any, table: Path | str, *, cores: int) -> float:
    """Return the seconds of starting a program, one reading, and its end.

    Raises:
        SideFailed: It did not read.
    """
    before = time.perf_counter()
    with start(table, cores=cores) as side:
        side.ask("read")
    return time.perf_counter() - before


@contextmanager
def running(
    command: Sequence[str], *, cores: int, environment: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Side]:
    """Run a program on some cores until the block ends.

    Args:
        command: What starts it.
        cores: That it may use.
        environment: What it finds there besides.
    """
    # A file for errors, not a pipe: a pipe that is not read would fill and block the program.
    with tempfile.TemporaryFile() as errors:
        with _pinned(cores):
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**java_reader.environment(), **environment},
                text=True,
            )
        # Leaving this block closes its input, which ends the program.
        with process:
            yield Side(process, errors)


@contextmanager
def _pinned(cores: int) -> Iterator[None]:
    """Restrict programs that are started in the block to some cores."""
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(sorted(every)[:cores]))
    try:
        yield
    finally:
        os.sched_setaffinity(0, every)
