"""Server processes of the serving benchmark: bound to one core, and to an amount of memory if the system allows it."""

import http.client
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from braid.demo.ports import free_port

_GROUPS: Final = Path("/sys/fs/cgroup")
_START_S: Final = 180.0
_POLL_S: Final = 0.1
_SCRAPE_S: Final = 5.0
"""Between two requests for metrics; Prometheus's default is a minute, many use 15 s."""

_IDLE_S: Final = 1.0
_IDLE_SHARE: Final = 0.2
"""Part of a core; a server that follows a table looks for new snapshots all the time."""

_IDLE_MAX_S: Final = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A running server.

    Attributes:
        port: On this machine.
        pid: Its process.
        token: Access token that it asks for; None: none.
    """

    port: int
    pid: int
    token: str | None = None

    def peak_mb(self) -> float:
        """Return the most memory that it had at a time, pages of mapped files included, in MB."""
        return self._status_mb("VmHWM")

    def own_mb(self) -> float:
        """Return the memory that it has now without pages of files, in MB."""
        return self._status_mb("RssAnon")

    def processor_s(self) -> float:
        """Return the processor time that it has taken."""
        stat = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii")
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def wait_idle(self) -> None:
        """Return once the server does next to nothing: copies of files are made; or after a while."""
        deadline = time.monotonic() + _IDLE_MAX_S
        while time.monotonic() < deadline:
            before = self.processor_s()
            time.sleep(_IDLE_S)
            if self.processor_s() - before < _IDLE_SHARE * _IDLE_S:
                return

    def _status_mb(self, name: str) -> float:
        lines = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


@contextmanager
def braid_service(
    warehouse: str, *, core: int, memory_mb: int | None = None, options: Sequence[str] = ()
) -> Iterator[Server]:
    """Run the service of a warehouse; see `server`."""
    command = ["-m", "braid", "service", "--warehouse", warehouse, "--no-access-control", *options]
    with server(command, core=core, memory_mb=memory_mb) as running:
        yield running


@contextmanager
def braid_service_with_access(warehouse: str, *, core: int) -> Iterator[Server]:
    """Run the service of a warehouse with access control and a Prometheus that asks for its metrics; see `server`."""
    name = f"bench-{os.getpid()}"
    created = [sys.executable, "-m", "braid", "token", "create", name]
    created += ["--warehouse", warehouse, "--grant", "read:*"]
    token = subprocess.run(created, check=True, capture_output=True, text=True).stdout.split()[-1]
    command = ["-m", "braid", "service", "--warehouse", warehouse]
    with server(command, core=core) as running:
        is_over = threading.Event()
        scraper = threading.Thread(target=_scrape, args=(running.port, token, is_over))
        scraper.start()
        try:
            yield replace(running, token=token)
        finally:
            is_over.set()
            scraper.join()


def _scrape(port: int, token: str, is_over: threading.Event) -> None:
    while not is_over.wait(_SCRAPE_S):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_START_S)
        connection.request("GET", "/metrics", headers={"authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        answer.read()
        connection.close()
        if answer.status != HTTPStatus.OK:
            message = f"/metrics answered {answer.status}"
            raise RuntimeError(message)


@contextmanager
def server(command: Sequence[str], *, core: int, memory_mb: int | None = None) -> Iterator[Server]:
    """Run a Python program that serves HTTP at `--port`, and end it with the block.

    Args:
        command: Its arguments, without the port.
        core: The core it runs on.
        memory_mb: The most memory, page cache included; None: any.

    Raises:
        MemoryUnbounded: This system does not let this user bound memory.
        RuntimeError: It does not answer.
    """
    port = free_port()
    with _memory_group(memory_mb) as join:
        process = started(
            [*join, sys.executable, *command, "--port", str(port)],
            core=core,
            stderr=subprocess.DEVNULL,
        )
        try:
            deadline = time.monotonic() + _START_S
            while not _is_ready(port):
                if process.poll() is not None or time.monotonic() > deadline:
                    message = f"the server did not start: {' '.join(command)}"
                    raise RuntimeError(message)
                time.sleep(_POLL_S)
            yield Server(port=port, pid=process.pid)
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=30)
            process.kill()
            process.wait()


def started(command: Sequence[str], *, core: int, **options: Any) -> "subprocess.Popen[str]":
    """Start a program that runs on one core; `options` are those of `subprocess.Popen`."""
    process = subprocess.Popen(command, text=True, **options)
    os.sched_setaffinity(process.pid, {core})  # before it has threads of its own
    return process


class MemoryUnbounded(Exception):
    """This system does not let this user bound the memory of a process."""


@contextmanager
def _memory_group(memory_mb: int | None) -> Iterator[list[str]]:
    """Make a control group, and yield the command before a program that runs in it."""
    if memory_mb is None:
        yield []
        return
    is_v1 = (_GROUPS / "memory").is_dir()
    parent, limit = (
        (_GROUPS / "memory", "memory.limit_in_bytes") if is_v1 else (_GROUPS, "memory.max")
    )
    group = parent / f"braid-bench-{os.getpid()}"
    try:
        group.mkdir()
        (group / limit).write_text(str(memory_mb << 20), encoding="ascii")
    except OSError as error:
        with suppress(OSError):
            group.rmdir()
        message = f"memory cannot be bounded here ({error}); root can do it"
        raise MemoryUnbounded(message) from error
    try:
        # `exec` keeps the process, so that its group and its id are those of the server.
        yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh"]
    finally:
        time.sleep(_POLL_S)
        with suppress(OSError):
            group.rmdir()


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_START_S)
    try:
        connection.request("GET", "/ready")
        return connection.getresponse().status == HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()
