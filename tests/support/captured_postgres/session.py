"""One connection to a PostgreSQL server, through `psql`."""

from pathlib import Path
from subprocess import PIPE, STDOUT, Popen
from types import TracebackType
from typing import Self

_END = "-- done"


class SqlError(RuntimeError):
    """The server refused a statement."""


class Session:
    """A connection, in which statements run one after the other."""

    def __init__(self, psql: Path, *, port: int, user: str) -> None:
        """Connect; an error shows with the first statement."""
        options = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=verbose"]
        address = ["-h", "127.0.0.1", "-p", str(port), "-U", user, "-d", "postgres"]
        self._process = Popen(
            [str(psql), *options, *address], stdin=PIPE, stdout=PIPE, stderr=STDOUT, text=True
        )

    def run(self, *statements: str) -> list[str]:
        """Run statements and return the lines of their results.

        Raises:
            SqlError: One of them failed; the connection is closed.
        """
        assert self._process.stdin is not None, "a pipe was asked for"
        assert self._process.stdout is not None, "a pipe was asked for"
        try:
            for statement in statements:
                self._process.stdin.write(f"{statement};\n")
            self._process.stdin.write(f"\\echo '{_END}'\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # what it has printed says why
        lines: list[str] = []
        for line in self._process.stdout:
            if line.rstrip("\n") == _END:
                return lines
            lines.append(line.rstrip("\n"))
        raise SqlError(f"{statements[:3]}: {lines}")

    def close(self) -> None:
        """End the connection; whatever is open is rolled back."""
        self._process.terminate()
        self._process.communicate()

    def __enter__(self) -> Self:
        """Return the connection."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()
