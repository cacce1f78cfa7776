"""Child processes that do not outlive this process.

There are three mechanisms, each for cases that the one before does not cover:

1. `Supervisor` is a context manager: leaving the context, also by an error or Ctrl-C, ends every child,
   first with SIGTERM, then with SIGKILL. A SIGTERM to this process leaves the context too, if the context
   was entered in the main thread and the process had no handler for the signal.
2. `atexit` ends the children if the context was never left.
3. On Linux the kernel kills a child when the thread that started it ends (PR_SET_PDEATHSIG), so children
   do not survive a SIGKILL of this process, as they do on other systems. Children of a child are not
   killed by this. One thread, which lives as long as the supervisor, starts all children, so the end of a
   caller's short-lived thread kills no child.

Each child leads a process group. So 1 and 2 also end the children of a child (a driver's JVM), and Ctrl-C
at the terminal reaches only this process, which then ends the others.
"""

import atexit
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from types import FrameType, TracebackType
from typing import Self

GRACE_S = 10.0
_TAIL_BYTES = 16_384
_POLL_S = 0.05

# Runs in the child before the program: has the kernel send SIGKILL at the parent's end, and checks that the
# parent has not ended already. (preexec_fn would do it too, but is unsafe with threads.)
_LAUNCHER = """\
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]): sys.exit(1)
os.execvp(sys.argv[2], sys.argv[2:])
"""


class ProcessFailed(RuntimeError):
    """A child ended, or was not ready in time.

    Attributes:
        name: The child's name.
        return_code: None if it still runs; minus the signal's number if a signal ended it.
        log_path: The file with all its output.
    """

    def __init__(self, child: "ChildProcess", *, what: str) -> None:
        super().__init__(
            f"{child.name} {what}; last lines of {child.log_path}:\n{child.read_log_tail()}"
        )
        self.name = child.name
        self.return_code = child.return_code
        self.log_path = child.log_path


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildProcess:
    """A program that a `Supervisor` started."""

    name: str
    log_path: Path
    process: subprocess.Popen[bytes]

    @property
    def process_id(self) -> int:
        """The id of the child, and of its process group."""
        return self.process.pid

    @property
    def return_code(self) -> int | None:
        """None while it runs."""
        return self.process.poll()

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self.return_code is None

    def read_log_tail(self, line_count: int = 20) -> str:
        """Return the last lines of its output."""
        with self.log_path.open("rb") as file:
            file.seek(max(0, self.log_path.stat().st_size - _TAIL_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
        return "\n".join(lines[-line_count:])

    def wait_ready(self, is_ready: Callable[[], bool], *, timeout_s: float) -> None:
        """Return when a predicate holds.

        Args:
            is_ready: Called about twenty times a second; an OSError from it means not yet.
            timeout_s: For the whole wait.

        Raises:
            ProcessFailed: The child ended or the time is over; the message shows its last lines.
        """
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if not self.is_running:
                raise ProcessFailed(
                    self, what=f"ended with exit status {self.return_code} before it was ready"
                )
            with suppress(OSError):
                if is_ready():
                    return
            time.sleep(_POLL_S)
        raise ProcessFailed(self, what=f"was not ready after {timeout_s:g} s")

    def wait(self, *, timeout_s: float | None = None) -> int:
        """Wait for its end and return its return code.

        Raises:
            ProcessFailed: It still runs after the time.
        """
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise ProcessFailed(self, what=f"still runs after {timeout_s:g} s") from None

    def stop(self, *, grace_s: float = GRACE_S) -> int:
        """End it and its children: SIGTERM, and after the grace SIGKILL. Return its return code."""
        self.send(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(grace_s)
        return self.kill()

    def kill(self) -> int:
        """End it and its children at once (SIGKILL): a crash. Return its return code."""
        self.send(signal.SIGKILL)
        return self.process.wait()

    def send(self, signal_number: signal.Signals) -> None:
        """Send a signal to it and its children, if any are left."""
        # macOS raises EPERM for a group of which only zombies are left.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process_id, signal_number)


class Supervisor:
    """Starts child processes and ends all of them.

    Owns the children; the log folder stays.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder, Supervisor(Path(folder)) as supervisor:
        ...     child = supervisor.start("hello", ["echo", "hello"])
        ...     (child.wait(timeout_s=10), child.read_log_tail())
        (0, 'hello')
    """

    def __init__(self, log_dir: Path) -> None:
        """Prepare to start children.

        Args:
            log_dir: Created; each child appends its output to `<name>.log`.
        """
        log_dir.mkdir(parents=True, exist_ok=True)
        self._log_dir = log_dir
        self._children: list[ChildProcess] = []
        self._starter = _Starter()
        self._previous_handler: signal.Handlers | Callable[..., object] | int | None = None
        atexit.register(self.close)

    @property
    def children(self) -> list[ChildProcess]:
        """The children that run."""
        return [child for child in self._children if child.is_running]

    def start(
        self,
        name: str,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        work_dir: Path | None = None,
    ) -> ChildProcess:
        """Start a program; standard output and error go to its log, standard input is empty.

        Args:
            name: Names the log. A name may be used again once its child has ended.
            command: The program and its arguments.
            environment: Added to this process's own.
            work_dir: Default this process's own.

        Raises:
            OSError: The program cannot be started. (Where the launcher is used, the child ends
                with 1 instead, with the reason in its log.)
        """
        log_path = self._log_dir / f"{name}.log"
        with log_path.open("ab") as log:
            process = self._starter.run(
                lambda: subprocess.Popen(
                    _guarded(command),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, **(environment or {})},
                    cwd=work_dir,
                    start_new_session=True,
                )
            )
        child = ChildProcess(name=name, log_path=log_path, process=process)
        self._children.append(child)
        return child

    def start_module(
        self,
        name: str,
        module: str,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
    ) -> ChildProcess:
        """Start `python -m module arguments...` with this Python, unbuffered; see `start`."""
        command = [sys.executable, "-u", "-m", module, *arguments]
        return self.start(name, command, environment=environment)

    def stop_all(self, *, grace_s: float = GRACE_S) -> None:
        """Send SIGTERM to all children, wait for all of them together, then kill those left."""
        children = self._children[::-1]
        for child in children:
            if child.is_running:
                child.send(signal.SIGTERM)
        deadline = time.monotonic() + grace_s
        for child in children:
            with suppress(subprocess.TimeoutExpired):
                child.process.wait(max(0.0, deadline - time.monotonic()))
        for child in children:
            child.kill()  # also processes that a child which has ended left behind in its group
        self._children.clear()

    def close(self) -> None:
        """End all children and start no more. May be called again."""
        self.stop_all()
        self._starter.close()
        atexit.unregister(self.close)

    def __enter__(self) -> Self:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            self._previous_handler = signal.signal(signal.SIGTERM, _exit_on_signal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        if self._previous_handler is not None:
            signal.signal(signal.SIGTERM, self._previous_handler)
            self._previous_handler = None


_Start = Callable[[], subprocess.Popen[bytes]]


class _Starter:
    """Starts programs from one thread, which ends with this process and not before.

    A daemon thread and not one of an executor, which Python joins before it runs `atexit`: the kernel would
    then kill the children before they are sent SIGTERM.
    """

    def __init__(self) -> None:
        self._queue: SimpleQueue[tuple[_Start, Future[subprocess.Popen[bytes]]] | None]
        self._queue = SimpleQueue()
        threading.Thread(target=self._serve, name="braid-start", daemon=True).start()

    def run(self, start: _Start) -> subprocess.Popen[bytes]:
        """Call `start` in the thread, and return what it returns or raise what it raises."""
        started: Future[subprocess.Popen[bytes]] = Future()
        self._queue.put((start, started))
        return started.result()

    def close(self) -> None:
        """Let the thread end. Requires that all children have ended."""
        self._queue.put(None)

    def _serve(self) -> None:
        while item := self._queue.get():
            start, started = item
            try:
                started.set_result(start())
            except OSError as error:
                started.set_exception(error)


def _guarded(command: Sequence[str]) -> list[str]:
    if not sys.platform.startswith("linux"):
        return list(command)
    return [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(os.getpid()), *command]


def _exit_on_signal(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)
