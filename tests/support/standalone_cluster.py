"""Spark's own cluster manager on this machine: a master and workers as processes, each with a folder of its own.

Workers do not have the checkout in their import path: what tasks need comes from their Python's packages and from
what the driver ships. A worker and its executors are a process group, so that killing a worker is the loss of a machine.
"""

import os
import signal
import sys
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pyspark

from braid.demo.ports import free_port
from braid.demo.processes import ChildProcess, Supervisor
from braid.pipelines.spark.class_archive import archive_options
from braid.pipelines.spark.environment_archive import make_environment_archive
from braid.pipelines.spark.jars import resolve
from tests.support.waiting import PATIENCE_S, wait_until

_HOME: Final = Path(pyspark.__file__).parent
_JVM: Final = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData"
_DAEMONS: Final = "-Dspark.deploy.maxExecutorRetries=-1 -Dspark.worker.ui.retainedExecutors=100"
_EXECUTOR: Final = b"CoarseGrainedExecutorBackend"


class StandaloneCluster:
    """A master and workers of one core each; leaving the context ends them and their executors."""

    def __init__(
        self,
        folder: Path,
        *,
        workers: int = 2,
        worker_memory: str = "1g",
        environment: Mapping[str, str] | None = None,
        conf: Mapping[str, str] | None = None,
        keeps_state: bool = False,
    ) -> None:
        """Prepare the cluster.

        Args:
            folder: Empty folder for logs and for the workers' folders.
            workers: Their number.
            worker_memory: What a worker gives to executors, as Spark writes it.
            environment: Variables of the workers, which their executors inherit.
            conf: Further settings of the sessions that use it.
            keeps_state: Whether a master that is started again knows the applications of the one before.
        """
        self._folder = folder
        self._supervisor = Supervisor(folder / "logs")
        self._port = free_port()
        self._page = free_port()
        self._memory = worker_memory
        self._environment = dict(environment or {})
        self._conf = dict(conf or {})
        self._master: ChildProcess | None = None
        self._workers: list[ChildProcess | None] = [None] * workers
        # With the jars of a driver first, the classes of a driver's archive are found in the class path.
        jars = resolve(["spark"])["spark"]
        self._class_path = os.pathsep.join(map(str, jars))
        self._jvm = " ".join([_JVM, *archive_options(jars)])
        recovery = f"-Dspark.deploy.recoveryMode=FILESYSTEM -Dspark.deploy.recoveryDirectory={folder / 'master'}"
        self._daemons = f"{_DAEMONS} {recovery}" if keeps_state else _DAEMONS

    @property
    def options(self) -> tuple[str, ...]:
        """The options by which a command uses the cluster, and ships its code to it."""
        settings = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
            "spark.executor.memory": "512m",
            "spark.executor.extraClassPath": self._class_path,
            "spark.executor.extraJavaOptions": self._jvm,
            **self._conf,
        }
        conf = [f"--conf={key}={value}" for key, value in settings.items()]
        return (
            f"--master={self.master}",
            f"--archive={self.archive()}",
            f"--python={sys.executable}",
            *conf,
        )

    @property
    def master(self) -> str:
        """What `--master` takes."""
        return f"spark://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        self._supervisor.__enter__()
        try:
            self.start_master()
            for number in range(len(self._workers)):
                self.start_worker(number)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # At once: there is nothing that workers could leave behind in order.
        for child in [*self._workers, self._master]:
            if child is not None:
                child.kill()
        self._supervisor.__exit__(kind, error, trace)

    def archive(self) -> Path:
        """Return the archive of our code, made anew if it has changed."""
        path = self._folder / "code.tar.gz"
        return make_environment_archive(path, is_code_only=True).path

    def start_master(self) -> None:
        """Start the master, and wait until it answers."""
        ports = ("--port", str(self._port), "--webui-port", str(self._page))
        self._master = self._start(
            "master", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", *ports
        )
        self._master.wait_ready(lambda: bool(self._read_page()), timeout_s=PATIENCE_S)

    def kill_master(self) -> None:
        """Kill the master; workers and executors go on."""
        assert self._master is not None, "it was started"
        self._master.kill()

    def start_worker(self, number: int) -> None:
        """Start a worker, which registers with the master later."""
        folder = self._folder / f"worker-{number}"
        folder.mkdir(parents=True, exist_ok=True)
        name = f"worker-{number}"
        self._workers[number] = self._start(
            name, "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--webui-port", "0",
            "--cores", "1", "--memory", self._memory, "--work-dir", str(folder / "work"), self.master,
            folder=folder,
        )  # fmt: skip

    def kill_worker(self, number: int) -> None:
        """Kill a worker and its executors, as a machine that is lost."""
        worker = self._workers[number]
        assert worker is not None, "it was started"
        worker.kill()

    def executors(self, number: int) -> list[int]:
        """Return the process ids of a worker's executors."""
        worker = self._workers[number]
        if worker is None or not worker.is_running:
            return []
        return [process for process in _children(worker.process_id) if _is_executor(process)]

    def kill_executor(self, number: int) -> bool:
        """Kill a worker's executor; return whether it had one."""
        found = self.executors(number)
        for process in found:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return bool(found)

    def wait_for_executors(self, count: int) -> None:
        """Wait until there are some executors."""
        numbers = range(len(self._workers))
        wait_until(
            lambda: sum(len(self.executors(number)) for number in numbers) >= count,
            what=lambda: f"fewer than {count} executors\n{self.log_tails()}",
        )

    def executor_logs(self) -> str:
        """Return what all executors have written, for messages."""
        paths = sorted(self._folder.glob("worker-*/work/*/*/std*"))
        return "\n".join(f"{path}:\n{path.read_text(errors='replace')[-4_000:]}" for path in paths)

    def log_tails(self) -> str:
        """Return the last lines of master and workers, for messages."""
        children = [self._master, *self._workers]
        return "\n".join(child.read_log_tail() for child in children if child is not None)

    def _start(
        self, name: str, main_class: str, *arguments: str, folder: Path | None = None
    ) -> ChildProcess:
        environment = {
            "SPARK_HOME": str(_HOME),
            "SPARK_DAEMON_MEMORY": "192m",
            "SPARK_DAEMON_CLASSPATH": self._class_path,
            "SPARK_DAEMON_JAVA_OPTS": f"{self._jvm} {self._daemons}",
            "SPARK_LOCAL_IP": "127.0.0.1",
            # Not the checkout, and not the driver's program for workers.
            "PYTHONPATH": "",
            "PYSPARK_PYTHON": "",
        }
        command = [str(_HOME / "bin/spark-class"), main_class, *arguments]
        return self._supervisor.start(
            name,
            command,
            environment={**environment, **self._environment},
            work_dir=folder or self._folder,
        )

    def _read_page(self) -> bytes:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._page}/json/", timeout=5) as answer:
            return bytes(answer.read())


def _children(process_id: int) -> list[int]:
    with suppress(OSError):
        paths = list(Path(f"/proc/{process_id}/task").glob("*/children"))
        return [int(word) for path in paths for word in path.read_text().split()]
    return []


def _is_executor(process_id: int) -> bool:
    with suppress(OSError):
        return _EXECUTOR in Path(f"/proc/{process_id}/cmdline").read_bytes()
    return False
