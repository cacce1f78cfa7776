"""Processes of a chaos run: a whole Braid on this machine, and what is done to its parts.

Every part is the real one. A part that ended on purpose is started again; one that ended by itself is an error.
"""

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from braid.demo.broker import KafkaBroker
from braid.demo.ports import free_port
from braid.demo.processes import ChildProcess, ProcessFailed, Supervisor
from braid.demo.s3_server import S3Server
from tests.support.chaos.plan import Target
from tests.support.chaos.streams import CLUSTER, IDENTIFIER
from tests.support.standalone_cluster import StandaloneCluster
from tests.support.waiting import wait_until

_TIMEOUT_S: Final = 600.0


class Processes:
    """Owns the processes of a run; leaving the context ends them all."""

    def __init__(
        self, work_dir: Path, *, runners: Sequence[str], cluster: StandaloneCluster | None = None
    ) -> None:
        """Prepare them.

        Args:
            work_dir: Empty folder for data and logs.
            runners: The names of the runners.
            cluster: A cluster that runs, whose executors do the runners' work, compactions too; None: each runner does
                its own, beside a compactor.
        """
        self.cluster = cluster
        self._dir = work_dir
        self._supervisor = Supervisor(work_dir / "logs")
        self.broker = KafkaBroker(work_dir / "kafka")
        self.store = S3Server(work_dir / "s3")
        self.warehouse = self.store.warehouse
        self.port = free_port()
        self._runners = tuple(runners)
        self._children: dict[str, ChildProcess] = {}
        self._killed: set[str] = set()

    def __enter__(self) -> Self:
        """Start broker and store."""
        self._supervisor.__enter__()
        try:
            self.store.start()
            self.broker.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        clusters = f'[clusters.{CLUSTER}]\nbootstrap_servers = "{self.broker.bootstrap_servers}"\n'
        self._clusters.write_text(clusters)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End every process."""
        self._supervisor.__exit__(kind, error, trace)
        self.broker.close()
        self.store.close()

    @property
    def _clusters(self) -> Path:
        return self._dir / "clusters.toml"

    def start_service(self) -> None:
        """Start the control plane; it answers later."""
        options = ("--port", str(self.port), "--clusters", self._clusters, "--no-access-control")
        self._start("service", "service", *options)

    def start_workers(self) -> None:
        """Start the runners and the compactor; they work later."""
        for name in self._runners:
            self._start_runner(name)
        if self.cluster is None:
            self._start("compactor", "maintain", IDENTIFIER, "--every", "1")

    def keep(self) -> None:
        """Start again what has ended on purpose.

        Raises:
            ProcessFailed: Something has ended by itself.
        """
        for name, child in list(self._children.items()):
            status = child.return_code
            if status is None:
                continue
            if name not in self._killed:
                raise ProcessFailed(child, what=f"ended with {status}")
            self._killed.remove(name)
            if name in self._runners:
                self._start_runner(name)
            elif name == "service":
                self.start_service()
            else:
                self._start("compactor", "maintain", IDENTIFIER, "--every", "1")

    def kill(self, target: Target, drawn: int) -> str:
        """End a part by SIGKILL, and start it again; return what was ended.

        Args:
            target: The part.
            drawn: Which of several.
        """
        if target is Target.BROKER:
            self.broker.restart()
            return "broker"
        if self.cluster is not None and target in (Target.EXECUTOR, Target.WORKER):
            return self._kill_of_cluster(self.cluster, target, drawn)
        if self.cluster is not None and target is Target.DRIVER:
            self._wait_for(lambda: self._of(target, drawn), f"no {target} comes")
        found = self._of(target, drawn)
        if not found:
            return f"no {target} is there"
        if target in (Target.RUNNER, Target.SERVICE, Target.COMPACTOR):
            name = self._name(target, drawn)
            self._killed.add(name)
            # Not its children: they have to find out by themselves.
            self._signal(found[:1], signal.SIGKILL)
            self._children[name].wait(timeout_s=_TIMEOUT_S)
        elif target is Target.DRIVER:
            name = self._name(target, drawn)
            self._killed.add(name)
            self._signal(found[:1], signal.SIGKILL)
            child = self._children[name]
            if child.wait(timeout_s=_TIMEOUT_S) == 0:
                raise ProcessFailed(child, what="ended with 0 when its Spark was killed")
        else:
            # Now one worker, now all of them with the process that forks them.
            doomed = found if drawn % 2 else [found[drawn % len(found)]]
            self._signal(doomed, signal.SIGKILL)
            return f"{target} {doomed} of {found}"
        self.keep()
        return f"{target} {found}"

    def _kill_of_cluster(self, cluster: StandaloneCluster, target: Target, drawn: int) -> str:
        number = drawn % 2
        # The loss of a machine without an executor would show nothing.
        self._wait_for(lambda: cluster.executors(number), f"no executor comes to worker {number}")
        found = cluster.executors(number)
        if target is Target.EXECUTOR:
            cluster.kill_executor(number)
        else:
            cluster.kill_worker(number)
            cluster.start_worker(number)
        return f"{target} {number} with executors {found}"

    def _wait_for(self, is_there: Callable[[], object], message: str) -> None:
        def is_so() -> object:
            self.keep()
            return is_there()

        wait_until(is_so, every_s=0.1, what=lambda: f"{message}\n{self.log_tails()}")

    def pause(self, target: Target, drawn: int, *, milliseconds: int) -> str:
        """Stop a part by SIGSTOP for a while; return what was stopped."""
        found = self._of(target, drawn)
        stopped = [found[drawn % len(found)]] if target is Target.EXECUTOR and found else found
        self._signal(stopped, signal.SIGSTOP)
        try:
            time.sleep(milliseconds / 1_000)
        finally:
            self._signal(stopped, signal.SIGCONT)
        return f"{target} {stopped}" if stopped else f"no {target} is there"

    def end_workers(self) -> Mapping[str, int]:
        """End runners and compactor by SIGTERM, and return the exit status of each."""
        names = [name for name in (*self._runners, "compactor") if name in self._children]
        for name in names:
            self._children[name].process.send_signal(signal.SIGTERM)
        return {name: self._children.pop(name).wait(timeout_s=_TIMEOUT_S) for name in names}

    def run(self, name: str, *arguments: str) -> int:
        """Run `braid …` to its end and return its exit status."""
        return self._start(name, *arguments).wait(timeout_s=_TIMEOUT_S)

    def log_tails(self) -> str:
        """The last lines of all logs."""
        return "\n".join(
            f"--- {name}\n{child.read_log_tail(15)}" for name, child in self._children.items()
        )

    def _start_runner(self, name: str) -> None:
        more = ("--max-share=1", "--compactors=2", *self._on_cluster()) if self.cluster else ()
        self._start(
            name, "runner", "--name", name, "--clusters", self._clusters, "--memory=512m", *more
        )

    def _on_cluster(self) -> tuple[str, ...]:
        return () if self.cluster is None else self.cluster.options

    def _start(self, name: str, *arguments: str | Path) -> ChildProcess:
        child = self._supervisor.start_module(
            name,
            "braid",
            *map(str, arguments),
            "--warehouse",
            self.warehouse,
            environment=self.store.environment,
        )
        self._children[name] = child
        return child

    def _name(self, target: Target, drawn: int) -> str:
        if target in (Target.SERVICE, Target.COMPACTOR):
            return target.value
        return self._runners[drawn % len(self._runners)]

    def _of(self, target: Target, drawn: int) -> list[int]:
        """Return the ids of the processes of a part; of executors, those of all runners."""
        if target is Target.BROKER:
            return [one for one in [self.broker.process_id] if one is not None]
        if target is Target.STORE:
            return [one for one in [self.store.process_id] if one is not None]
        if target is Target.EXECUTOR:
            return [
                worker
                for name in self._runners
                for driver in self._drivers(name)
                for worker in _descendants(driver)
            ]
        name = self._name(target, drawn)
        if target is Target.DRIVER:
            return self._drivers(name)
        child = self._children.get(name)
        return [child.process_id] if child is not None and child.is_running else []

    def _drivers(self, runner: str) -> list[int]:
        child = self._children.get(runner)
        if child is None or not child.is_running:
            return []
        return [one for one in _children(child.process_id) if _program(one) == "java"]

    def _signal(self, process_ids: Sequence[int], number: signal.Signals) -> None:
        for one in process_ids:
            with suppress(ProcessLookupError):
                os.kill(one, number)


def _children(process_id: int) -> list[int]:
    files = Path(f"/proc/{process_id}/task").glob("*/children")
    found: list[int] = []
    for file in files:
        with suppress(OSError):
            found += map(int, file.read_text().split())
    return sorted(found)


def _descendants(process_id: int) -> list[int]:
    found = _children(process_id)
    return found + [below for one in found for below in _descendants(one)]


def _program(process_id: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{process_id}/comm").read_text().strip()
    return ""
