"""A running Java process that executes commands on tables, so that both engines can take turns.

`java/Driver.java` names the commands. Starting takes two seconds, a command a tenth.
"""

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from tests.interop import java_reader


class JavaRefused(Exception):
    """Java could not do what it was told; `error_class` is its exception's."""

    def __init__(self, command: Mapping[str, Any], error: Mapping[str, Any]) -> None:
        self.error_class = str(error["class"])
        super().__init__(
            f"{command['do']} {command['table']}: {error['class']}: {error['message']}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """An answer and what it took inside of Java, milliseconds."""

    ok: Any
    wall_ms: float
    cpu_ms: float


class JavaDriver:
    """The running program; a context manager.

    Args:
        heap: Java's bound of its memory, as `-Xmx` takes it.
    """

    def __init__(self, *, heap: str | None = None) -> None:
        self._command = java_reader.command("Driver", heap=heap)
        self._process: subprocess.Popen[str] | None = None
        self._errors: IO[bytes] | None = None

    def __enter__(self) -> Self:
        # A file for errors, not a pipe: nobody reads it while the program runs.
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=java_reader.environment(),
            encoding="utf-8",
        )
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        assert self._process is not None
        assert self._errors is not None
        with self._process:  # closing its input ends the program
            pass
        self._errors.close()

    def timed(self, what: str, table: Path | str, **arguments: Any) -> Timed:
        """Let Java do one thing.

        Args:
            what: The command.
            table: The table's directory.
            **arguments: Of the command; those that are None are left out.

        Raises:
            JavaRefused: It failed; the program goes on.
            JavaReaderFailed: The program ended.
        """
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        given = {name: value for name, value in arguments.items() if value is not None}
        command = {"do": what, "table": str(table), **given}
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise java_reader.JavaReaderFailed(self._last_words())
        answer = json.loads(line)
        if "error" in answer:
            raise JavaRefused(command, answer["error"])
        return Timed(**answer)

    def do(self, what: str, table: Path | str, **arguments: Any) -> Any:
        """Return the answer of `timed` alone."""
        return self.timed(what, table, **arguments).ok

    def write(self, table: Path | str, rows: Sequence[Sequence[Any]], **arguments: Any) -> int:
        """Let Java write rows `[kind, value…]` and return the newest snapshot's id."""
        return int(self.do("write", table, rows=rows, **arguments))

    def rows(self, table: Path | str, **arguments: Any) -> list[list[Any]]:
        """Return what Java reads, sorted by primary key."""
        rows: list[list[Any]] = self.do("read", table, **arguments)
        return rows

    def run_program(self, program: str, arguments: Sequence[str]) -> str:
        """Return what a program of `java/` prints.

        Raises:
            JavaReaderFailed: It failed.
        """
        done = self.do("program", "", program=program, arguments=list(arguments))
        if "failed" in done:
            raise java_reader.JavaReaderFailed(f"{' '.join(arguments)}\n{done['failed'][-4000:]}")
        return str(done["output"])

    def _last_words(self) -> str:
        assert self._process is not None
        assert self._errors is not None
        self._process.wait()
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")[-4_000:]
