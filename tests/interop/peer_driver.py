"""pypaimon and paimon-rust, running in an environment of their own, so that all can take turns.

`peer_program.py` names the commands. Starting takes two seconds of processor time.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

import pyarrow as pa

from tests.interop.pypaimon_reader import PYTHON, PypaimonFailed

PYPAIMON: Final = "pypaimon"
NATIVE: Final = "pypaimon with rust"
RUST: Final = "rust"
PEERS: Final = (PYPAIMON, NATIVE, RUST)

_PROGRAM: Final = Path(__file__).with_name("peer_program.py")


class PeerRefused(Exception):
    """A peer could not do what it was told."""


class PeerDriver:
    """The running program; a context manager.

    Args:
        warehouse: The folder that holds the databases.
    """

    def __init__(self, warehouse: Path) -> None:
        self._warehouse = warehouse
        self._process: subprocess.Popen[str] | None = None
        self._errors: IO[bytes] | None = None

    def __enter__(self) -> Self:
        if not PYTHON.exists():
            raise PypaimonFailed(f"{PYTHON}: found nothing, expected pypaimon\nhint: make peer")
        # A variable that leads Python to this project's packages would lead it to the wrong pyarrow.
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        # A file for errors, not a pipe: nobody reads it while the program runs.
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [PYTHON, _PROGRAM, self._warehouse],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
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

    def do(self, what: str, **arguments: Any) -> Any:
        """Let them do one thing.

        Raises:
            PeerRefused: It failed; the program goes on.
            PypaimonFailed: The program ended.
        """
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": what, **arguments}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise PypaimonFailed(self._last_words())
        answer = json.loads(line)
        if "error" in answer:
            raise PeerRefused(f"{what} {arguments}: {answer['error']}")
        return answer["ok"]

    def create(self, table: str, schema: pa.Schema, *, keys: Sequence[str], **more: Any) -> None:
        """Let pypaimon create a table."""
        with _arrow_file(schema.empty_table()) as path:
            self.do("create", table=table, path=path, keys=list(keys), **more)

    def write(self, engine: str, table: str, rows: pa.Table) -> None:
        """Let one of `PEERS` commit rows; the columns have the names of the table's."""
        with _arrow_file(rows) as path:
            self.do("write", engine=engine, table=table, path=path)

    def read(self, engine: str, table: str) -> pa.Table | None:
        """Return what one of `PEERS` reads; None when it has no rows and says no types."""
        with tempfile.NamedTemporaryFile(suffix=".arrow") as file:
            if not self.do("read", engine=engine, table=table, path=file.name):
                return None
            with pa.OSFile(file.name) as source:
                return pa.ipc.open_file(source).read_all()

    def _last_words(self) -> str:
        assert self._process is not None
        assert self._errors is not None
        self._process.wait()
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")[-4_000:]


@contextmanager
def _arrow_file(rows: pa.Table) -> Iterator[str]:
    with tempfile.NamedTemporaryFile(suffix=".arrow") as file:
        with pa.ipc.new_file(file.name, rows.schema) as out:
            out.write_table(rows)
        yield file.name
