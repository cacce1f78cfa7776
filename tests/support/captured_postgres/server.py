"""A PostgreSQL server in a temporary folder, with a log that connectors can read.

`python -m tests.support.captured_postgres.server` says where its programs are, or how to get them.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path
from subprocess import PIPE, STDOUT, run
from types import TracebackType
from typing import Final, Self

from braid.demo.ports import free_port
from braid.demo.processes import ChildProcess, Supervisor
from tests.support.captured_postgres.session import Session, SqlError

USER: Final = "postgres"
_START_TIMEOUT_S = 120.0
_HINT: Final = "apt-get install postgresql, brew install postgresql, or set PATH"
_SETTINGS: Final = {
    "listen_addresses": "127.0.0.1",
    "wal_level": "logical",
    "max_wal_senders": "8",
    "max_replication_slots": "8",
    # Nothing of this server outlives the test.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
}


class PostgresMissing(RuntimeError):
    """The programs of a PostgreSQL server are not installed."""


class PostgresServer:
    """One server on 127.0.0.1, without passwords."""

    def __init__(self) -> None:
        """Make the server's folder; `start` starts it.

        Raises:
            PostgresMissing: There is no such program.
        """
        self._programs = find_programs()
        self._folder = Path(tempfile.mkdtemp(prefix="braid-postgres-"))
        # Another user than root runs the server, because it refuses root.
        self._folder.chmod(0o755)
        self._data = self._folder / "data"
        self._as_user: list[str] = []
        self._data.mkdir()
        if os.getuid() == 0:
            self._as_user = ["runuser", "-u", USER, "--"]
            shutil.chown(self._data, USER)
        self.port = free_port()
        self._supervisor = Supervisor(self._folder)
        self._child: ChildProcess | None = None

    def start(self) -> Self:
        """Start the server and return when it answers.

        Raises:
            RuntimeError: The folder cannot be prepared.
        """
        command = [
            *self._as_user,
            str(self._programs / "initdb"),
            *("-D", str(self._data), "-U", USER, "--auth=trust", "--no-sync", "-E", "UTF8"),
        ]
        prepared = run(command, stdout=PIPE, stderr=STDOUT, text=True, check=False)
        if prepared.returncode:
            raise RuntimeError(f"initdb failed:\n{prepared.stdout}")
        settings = {**_SETTINGS, "port": str(self.port), "unix_socket_directories": ""}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        program = [*self._as_user, str(self._programs / "postgres"), "-D", str(self._data)]
        self._child = self._supervisor.start("postgres", [*program, *options])
        self._child.wait_ready(self._answers, timeout_s=_START_TIMEOUT_S)
        return self

    def session(self) -> Session:
        """Return a new connection, to be closed."""
        return Session(self._programs / "psql", port=self.port, user=USER)

    def __enter__(self) -> Self:
        """Start it."""
        self._supervisor.__enter__()
        try:
            return self.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it and remove its folder."""
        self._supervisor.__exit__(kind, error, trace)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _answers(self) -> bool:
        with self.session() as session:
            try:
                return session.run("SELECT 1") == ["1"]
            except SqlError:
                return False


def find_programs() -> Path:
    """Return the folder of `initdb`, `postgres` and `psql`.

    Raises:
        PostgresMissing: There is none.
    """
    on_path = shutil.which("initdb")
    # Debian keeps the programs of a server apart from PATH, by version.
    debian = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name)
    )
    for folder in ([Path(on_path).resolve().parent] if on_path else []) + debian[::-1]:
        if all((folder / name).is_file() for name in ("initdb", "postgres", "psql")):
            return folder
    what = "PostgreSQL: found no initdb on PATH or in /usr/lib/postgresql, expected a server"
    raise PostgresMissing(f"{what}\nhint: {_HINT}")


if __name__ == "__main__":
    try:
        sys.stdout.write(f"PostgreSQL: {find_programs()}\n")
    except PostgresMissing as error:
        sys.exit(str(error))
