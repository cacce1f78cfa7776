"""Test bed of the ingest benchmark: the processes of broker, service and runner, and the topics and tables.

Leaving the context ends every process. `fill` starts another process, which fills the topics, and waits
for it.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import httpx

from benchmarks.ingest.processes import ProcessWatch
from benchmarks.ingest.shape import CLUSTER, KEY, PARTITIONS, STREAMS, stream_request, table_request
from benchmarks.ingest.sizes import Sizes
from braid.demo.broker import KafkaBroker
from braid.demo.ports import free_port
from braid.demo.processes import ChildProcess, ProcessFailed, Supervisor
from braid.lake import Catalog, Table, positions_of

DATABASE: Final = "bench"
TIMEOUT_S: Final = 1_800.0
_POLL_S: Final = 0.2
_STOP_S: Final = 60.0
_STATUS_POLLS: Final = 25  # polls of the table between two of the streams' states
_JSON: Final = {"content-type": "application/json"}  # the service requires it also without a body


class IngestBed:
    """Owns the processes of one run."""

    def __init__(self, work_dir: Path) -> None:
        """Prepare a run.

        Args:
            work_dir: Empty folder for warehouse, broker data, scratch files and logs.
        """
        self.work_dir = work_dir
        self.warehouse = work_dir / "warehouse"
        self.scratch = work_dir / "scratch"
        for folder in (self.warehouse, self.scratch):
            folder.mkdir(parents=True)
        self.broker = KafkaBroker(work_dir / "kafka")
        self.watch = ProcessWatch()
        self.supervisor = Supervisor(work_dir / "logs")
        self._clusters = work_dir / "clusters.toml"
        self._http = httpx.Client(base_url=f"http://127.0.0.1:{free_port()}", timeout=120.0)
        self._watched: list[ChildProcess] = []
        self._filled: dict[str, int] = {}

    def __enter__(self) -> Self:
        self.supervisor.__enter__()
        self.watch.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.close()
        self.watch.__exit__(kind, error, trace)
        self.supervisor.__exit__(kind, error, trace)
        self.broker.close()

    def start_broker(self) -> None:
        """Start Kafka, and write the file that names the cluster."""
        self.broker.start()
        assert self.broker.process_id is not None, "it has just been started"
        self.watch.watch("broker", self.broker.process_id)
        servers = self.broker.bootstrap_servers
        self._clusters.write_text(f'[clusters.{CLUSTER}]\nbootstrap_servers = "{servers}"\n')

    def create_topics(self, name: str, *, first: int = 0) -> dict[str, str]:
        """Create the three topics of a table, and return them by stream.

        Args:
            name: Of the table.
            first: Number of the first message.
        """
        topics = {stream: f"{name}-{stream}" for stream in STREAMS}
        self.broker.create_topics(dict.fromkeys(topics.values(), PARTITIONS))
        self._filled |= dict.fromkeys(topics.values(), first)
        return topics

    def fill(self, topics: Mapping[str, str], *, keys: int, count: int) -> None:
        """Write the next messages of each topic.

        Args:
            topics: Topic by stream.
            keys: Number of keys; a key comes again after as many messages.
            count: Messages of each topic.
        """
        (before,) = {self._filled[topic] for topic in topics.values()}
        pairs = [f"{stream}={topic}" for stream, topic in topics.items()]
        child = self.supervisor.start_module(
            f"filling-{time.monotonic_ns()}", "benchmarks.ingest.filling",
            self.broker.bootstrap_servers, str(keys), str(before), str(count), *pairs,
        )  # fmt: skip
        if child.wait(timeout_s=TIMEOUT_S):
            raise ProcessFailed(child, what=f"ended with {child.return_code}")
        self._filled |= dict.fromkeys(topics.values(), before + count)

    def start_service(self) -> None:
        """Start the control plane and return when it is ready."""
        service = self.supervisor.start_module(
            "service", "braid", "service", "--warehouse", str(self.warehouse),
            "--port", str(self._http.base_url.port), "--clusters", str(self._clusters), "--no-access-control",
        )  # fmt: skip
        self.watch.watch("service", service.process_id)
        service.wait_ready(self._is_service_ready, timeout_s=TIMEOUT_S)
        self._watched.append(service)

    def register(
        self, name: str, topics: Mapping[str, str], *, trigger_ms: int, max_records_per_batch: int
    ) -> Table:
        """Create a table with its streams, which run as soon as there is a runner, and return it."""
        self.send("PUT", _path(name), table_request())
        for stream, topic in topics.items():
            request = stream_request(
                stream,
                topic=topic,
                trigger_ms=trigger_ms,
                max_records_per_batch=max_records_per_batch,
            )
            self.send("PUT", f"{_path(name)}/streams/{stream}", request)
        return Catalog(str(self.warehouse)).table(f"{DATABASE}.{name}")

    def start_runner(self, *options: str, name: str = "runner") -> ChildProcess:
        """Start a runner, with a Spark driver of its own, and return it at once.

        Args:
            options: More options of `braid runner`.
            name: Of the runner.
        """
        runner = self.supervisor.start(
            name,
            [
                sys.executable, "-u", "-m", "braid", "runner", "--warehouse", str(self.warehouse),
                "--clusters", str(self._clusters), "--name", name, *options,
            ],
            environment={"TMPDIR": str(self.scratch)},
        )  # fmt: skip
        self.watch.watch("driver", runner.process_id)
        self._watched.append(runner)
        return runner

    def kill(self, runner: ChildProcess) -> None:
        """End a runner and all its processes at once."""
        self._watched.remove(runner)
        runner.kill()

    def stop(self) -> None:
        """Stop service and runner; the broker and what is in the warehouse stay."""
        for child in self._watched:
            child.stop(grace_s=_STOP_S)
        self._watched.clear()

    def command(self, name: str, verb: str, *, state: str) -> None:
        """Send a command to the streams of a table, and wait for the state that it leads to."""
        for stream in STREAMS:
            self.send("POST", f"{_path(name)}/streams/{stream}/{verb}")
        self.wait_until(lambda: set(self.states(name).values()) == {state})

    def pause(self, stream: str) -> None:
        """Pause one stream of the table `wide`, and wait for it."""
        self._command_one(stream, "pause", state="PAUSED")

    def resume(self, stream: str) -> None:
        """Resume one stream of the table `wide`, and wait for it."""
        self._command_one(stream, "resume", state="RUNNING")

    def _command_one(self, stream: str, verb: str, *, state: str) -> None:
        self.send("POST", f"{_path('wide')}/streams/{stream}/{verb}")
        self.wait_until(lambda: self.states("wide")[stream] == state)

    def states(self, name: str) -> dict[str, str]:
        """Return the state of each stream of a table, as the service reports it."""
        path = f"{_path(name)}/streams"
        return {stream: self.send("GET", f"{path}/{stream}/status")["state"] for stream in STREAMS}

    def wait_records(self, table: Table, records: int) -> None:
        """Wait until each stream of a table has committed a number of records.

        Raises:
            ProcessFailed: A process ended that should run.
            RuntimeError: A stream failed.
            TimeoutError: The time is over.
        """
        polls = 0

        def is_reached() -> bool:
            nonlocal polls
            polls += 1
            if polls % _STATUS_POLLS == 0:
                self._check_streams(table.identifier.split(".")[1])
            snapshot = table.latest_snapshot()
            positions = positions_of(snapshot) if snapshot else {}
            return all(
                stream in positions and positions[stream].account.records >= records
                for stream in STREAMS
            )

        self.wait_until(is_reached)

    def wait_until(self, is_reached: Callable[[], bool]) -> None:
        """Poll until a condition holds.

        Raises:
            ProcessFailed: A process ended that should run.
            TimeoutError: The time is over.
        """
        deadline = time.monotonic() + TIMEOUT_S
        while not is_reached():
            for child in self._watched:
                if not child.is_running:
                    raise ProcessFailed(child, what=f"ended with {child.return_code}")
            if time.monotonic() > deadline:
                message = f"not reached in {TIMEOUT_S:g} s"
                raise TimeoutError(message)
            time.sleep(_POLL_S)

    def _check_streams(self, name: str) -> None:
        for stream in STREAMS:
            status = self.send("GET", f"{_path(name)}/streams/{stream}/status")
            if status["state"] == "FAILED":
                message = f"stream {stream} failed: {status['trace']}"
                raise RuntimeError(message)

    def _is_service_ready(self) -> bool:
        try:
            return self._http.get("/ready").status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def row_address(self, name: str, key: int) -> str:
        """Return the address of a row of a table."""
        return f"{self._http.base_url}{_path(name)}/rows?{KEY}={key}"

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request to the service, and return the JSON object of its answer.

        Raises:
            RuntimeError: The service refuses the request.
        """
        response = self._http.request(method, path, json=body, headers=_JSON)
        if response.is_error:
            message = f"{method} {path}: {response.text}"
            raise RuntimeError(message)
        answer: dict[str, Any] = response.json()
        return answer


@contextmanager
def filled_bed(sizes: Sizes, *, count: int) -> Iterator[tuple[IngestBed, Mapping[str, str], Table]]:
    """Enter a bed of one table, whose topics are filled and whose streams wait for a runner.

    Args:
        sizes: `keys`, `batch_records` and `trigger_ms` are used.
        count: Messages of each topic.

    Yields:
        The bed, the topics by stream, and the table.
    """
    with (
        tempfile.TemporaryDirectory(prefix="braid-bench-") as folder,
        IngestBed(Path(folder)) as bed,
    ):
        bed.start_broker()
        topics = bed.create_topics("wide")
        bed.fill(topics, keys=sizes.keys, count=count)
        bed.start_service()
        table = bed.register(
            "wide",
            topics,
            trigger_ms=sizes.trigger_ms,
            max_records_per_batch=sizes.batch_records,
        )
        yield bed, topics, table


def _path(name: str) -> str:
    return f"/v1/tables/{DATABASE}/{name}"
