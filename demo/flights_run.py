"""Run of the flights demo: starts the broker, the service, the runners and the producers on this machine.

Each of them is a real process. The warehouse is a local folder, or on an S3 server that the caller has started. The
demo, integration tests and a benchmark use this module.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import pyarrow as pa

from braid.demo.broker import KafkaBroker
from braid.demo.flights_data import DATA_SET_SCHEMA, STREAMS, FlightStream
from braid.demo.flights_definition import CLUSTER, DATABASE, TABLE, stream_request, table_request
from braid.demo.ports import free_port
from braid.demo.processes import ChildProcess, ProcessFailed, Supervisor
from braid.demo.s3_server import S3Server
from braid.lake import Catalog, Table, file_io_for

PARTITIONS = 2
READY_TIMEOUT_S = 600.0
REQUEST_TIMEOUT_S = 120.0
POLL_S = 0.5
JSON = {"content-type": "application/json"}  # the service requires it also without a body

Statuses = dict[str, Mapping[str, Any]]


class StreamFailed(RuntimeError):
    """A stream's state is FAILED; the message has its trace."""


class FlightsRun:
    """Owns the processes of one run; leaving the context ends them all."""

    def __init__(
        self,
        work_dir: Path,
        *,
        scale: float,
        trigger_ms: int = 2_000,
        max_records_per_batch: int = 200_000,
        object_store: S3Server | None = None,
        runner_options: Sequence[str] = (),
    ) -> None:
        """Prepare a run.

        Args:
            work_dir: Empty folder for warehouse, broker data and logs.
            scale: Share of the data set that the producers send.
            trigger_ms: Time between the starts of two micro-batches of a stream.
            max_records_per_batch: The bound of one micro-batch.
            object_store: A running server that holds the warehouse; None: `work_dir` holds it.
            runner_options: Further options of `braid runner`, such as those of a Spark cluster.
        """
        self.work_dir = work_dir
        if object_store is None:
            (work_dir / "warehouse").mkdir(parents=True, exist_ok=True)
            self.warehouse, self.environment = str(work_dir / "warehouse"), {}
        else:
            self.warehouse = object_store.warehouse
            self.environment = dict(object_store.environment)
        self.runner_options = tuple(runner_options)
        self.scale = scale
        self.trigger_ms = trigger_ms
        self.max_records_per_batch = max_records_per_batch
        self.supervisor = Supervisor(work_dir / "logs")
        self.broker = KafkaBroker(work_dir / "kafka")
        self.clusters = work_dir / "clusters.toml"
        self.api = f"http://127.0.0.1:{free_port()}"
        self.http = httpx.Client(base_url=self.api, timeout=REQUEST_TIMEOUT_S)
        self._service: ChildProcess | None = None
        self._watched: list[ChildProcess] = []
        self._producers: list[ChildProcess] = []

    def __enter__(self) -> Self:
        """Become the owner of the children that will be started."""
        self.supervisor.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End every process."""
        self.http.close()
        self.supervisor.__exit__(kind, error, trace)
        self.broker.close()

    def start_broker(self) -> None:
        """Start Kafka, create the three topics, and write the file that names the cluster."""
        self.broker.start()
        self.broker.create_topics({stream.topic: PARTITIONS for stream in STREAMS})
        self.clusters.write_text(
            f'[clusters.{CLUSTER}]\nbootstrap_servers = "{self.broker.bootstrap_servers}"\n'
        )

    def start_service(self) -> None:
        """Start the control plane and return when it is ready."""
        service = self.supervisor.start_module(
            "service", "braid", "service",
            "--warehouse", self.warehouse, "--port", self.api.rpartition(":")[2],
            "--clusters", str(self.clusters), "--no-access-control",
            environment=self.environment,
        )  # fmt: skip
        service.wait_ready(self._is_service_ready, timeout_s=READY_TIMEOUT_S)
        self._service = service
        self._watched.append(service)

    def register(self) -> None:
        """Create the table, register the three streams, and ask for all of them to run."""
        path = f"/v1/tables/{DATABASE}/{TABLE}"
        self._send("PUT", path, table_request())
        for stream in STREAMS:
            request = stream_request(
                stream,
                trigger_ms=self.trigger_ms,
                max_records_per_batch=self.max_records_per_batch,
            )
            self._send("PUT", f"{path}/streams/{stream.name}", request)
            self._send("POST", f"{path}/streams/{stream.name}/start")

    def start_runner(self, name: str, *, streams: tuple[FlightStream, ...] = ()) -> ChildProcess:
        """Start a runner, with a Spark driver of its own.

        Args:
            name: Of the runner, in the registry and in its log's name.
            streams: The streams that it may host; empty: any.
        """
        only = [f"--stream={DATABASE}.{TABLE}/{stream.name}" for stream in streams]
        runner = self.supervisor.start_module(
            name, "braid", "runner", "--warehouse", self.warehouse,
            "--clusters", str(self.clusters), "--name", name, *only, *self.runner_options,
            environment=self.environment,
        )  # fmt: skip
        self._watched.append(runner)
        return runner

    def crash(self, child: ChildProcess) -> None:
        """Kill a child on purpose; `check_children` does not expect it any more."""
        self._watched.remove(child)
        child.kill()

    def check_children(self) -> None:
        """Raise if a child ended that should still run, or failed.

        Raises:
            ProcessFailed: Which, and the end of its log.
        """
        for child in self._watched:
            if child.return_code is not None:
                raise ProcessFailed(child, what=f"ended with exit status {child.return_code}")
        for producer in self._producers:
            if producer.return_code not in {None, 0}:
                raise ProcessFailed(producer, what=f"ended with exit status {producer.return_code}")

    def start_producers(self) -> None:
        """Start the three producers, each a process of its own."""
        for stream in STREAMS:
            producer = self.supervisor.start_module(
                f"producer-{stream.name}", "braid.demo.flights_producer",
                "--stream", stream.name, "--bootstrap-servers", self.broker.bootstrap_servers,
                "--scale", str(self.scale), "--partitions", str(PARTITIONS),
            )  # fmt: skip
            self._producers.append(producer)

    def stream_statuses(self) -> Statuses:
        """Return the status of each stream, as the service reports it."""
        path = f"/v1/tables/{DATABASE}/{TABLE}/streams"
        return {
            stream.name: self._send("GET", f"{path}/{stream.name}/status") for stream in STREAMS
        }

    def wait_until_ingested(
        self,
        expected: Mapping[str, int],
        *,
        timeout_s: float,
        on_progress: Callable[[Statuses], None] = lambda _statuses: None,
    ) -> Statuses:
        """Wait until every stream's account holds all its messages; return the last statuses.

        Args:
            expected: Messages by stream name.
            timeout_s: For the whole wait.
            on_progress: Called with the statuses about twice a second.

        Raises:
            ProcessFailed: A child ended that should run, or failed.
            StreamFailed: A stream reports FAILED.
            TimeoutError: The time is over; the message has the streams' accounts.
        """
        statuses: Statuses = {}

        def is_ingested() -> bool:
            nonlocal statuses
            statuses = self.stream_statuses()
            on_progress(statuses)
            self._check_streams(statuses)
            return all(
                statuses[name]["account"]["records"] >= count for name, count in expected.items()
            )

        self.wait_until(is_ingested, timeout_s=timeout_s)
        return statuses

    def wait_until(self, is_reached: Callable[[], bool], *, timeout_s: float) -> None:
        """Poll about twice a second until a condition holds.

        Raises:
            ProcessFailed: A child ended that should run, or failed.
            TimeoutError: The time is over; the message has the streams' accounts.
        """
        deadline = time.monotonic() + timeout_s
        while not is_reached():
            self.check_children()
            if time.monotonic() > deadline:
                accounts = {
                    name: (status["state"], status["account"])
                    for name, status in self.stream_statuses().items()
                }
                message = f"the demo has waited for {timeout_s:g} s in vain; state and account of each stream: {accounts}"
                raise TimeoutError(message)
            time.sleep(POLL_S)

    def table(self) -> Table:
        """Open the table from its files, as any reader does."""
        file_io = file_io_for(self.warehouse, environment=self.environment)
        return Catalog(self.warehouse, file_io=file_io).table(f"{DATABASE}.{TABLE}")

    def read_flights(self) -> pa.Table:
        """Return the table's rows in the columns of the data set."""
        return self.table().scan(columns=DATA_SET_SCHEMA.names).to_arrow()

    def get_row(self, key: Mapping[str, object], *, status: bool = False) -> dict[str, Any]:
        """Return one wide row, or its status per stream, over HTTP."""
        suffix = "/status" if status else ""
        response = self.http.get(
            f"/v1/tables/{DATABASE}/{TABLE}/rows{suffix}",
            params={name: str(value) for name, value in key.items()},
        )
        return self._body(response)

    def _is_service_ready(self) -> bool:
        try:
            return self.http.get("/ready").status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        return self._body(self.http.request(method, path, json=body, headers=JSON))

    def _body(self, response: httpx.Response) -> dict[str, Any]:
        if response.is_error:
            message = f"{response.request.method} {response.request.url}: {response.text}"
            if response.is_server_error and self._service is not None:
                # The answer has no cause, which may name files; the log has.
                raise ProcessFailed(self._service, what=f"failed at {message}")
            raise RuntimeError(message)
        body: dict[str, Any] = response.json()
        return body

    def _check_streams(self, statuses: Statuses) -> None:
        for name, status in statuses.items():
            if status["state"] == "FAILED":
                message = f"stream {name} failed: {status['trace']}"
                raise StreamFailed(message)
