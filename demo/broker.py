"""Apache Kafka broker as a child process: one real node, without Docker or ZooKeeper.

`kill` is a crash. After `kill` and `start` the broker has the same port and data, so clients reconnect
and find what they wrote. `python -m braid.demo.broker TOPIC…` runs one for experiments.
"""

import argparse
import base64
import os
import shutil
import signal
import socket
import sys
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from braid.demo.ports import free_port
from braid.demo.processes import ChildProcess, ProcessFailed, Supervisor
from braid.pipelines.spark.jars import java_executable, resolve

# A start that fails ends the process. One that succeeds takes minutes on a very busy machine.
_START_TIMEOUT_S = 600.0
_START_ATTEMPTS = 3
_CONTROLLER = "CONTROLLER"
_NO_TEXT: Mapping[str, str] = MappingProxyType({})

# A small heap, because the machine is shared with Spark.
_JVM = (
    "-Xms64m",
    "-Xmx384m",
    "-Xss512k",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:MaxDirectMemorySize=128m",
    "-Djava.awt.headless=true",
)

SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "auto.create.topics.enable": "false",
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "share.coordinator.state.topic.num.partitions": "1",
        "group.initial.rebalance.delay.ms": "0",
        # A broker killed and started again must wait until its old registration has expired:
        # 11.6 s with the default of 9 s. One that is not heard of for longer is fenced: with 2 s, this
        # happened on a machine with forty busy processes.
        "broker.session.timeout.ms": "6000",
        "broker.heartbeat.interval.ms": "500",
        "num.network.threads": "1",
        "num.io.threads": "2",
        "background.threads": "2",
        # The default is 128 MB of the heap.
        "log.cleaner.dedupe.buffer.size": "4194304",
        "log.cleaner.io.buffer.size": "65536",
    }
)
"""The settings of every broker, besides its addresses and its folder."""

_LOG4J = """\
status=error
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d{HH:mm:ss.SSS} %p %c{1} - %m%n
rootLogger.level=warn
rootLogger.appenderRef.console.ref=console
"""


class KafkaBroker:
    """One broker on 127.0.0.1, with its data in one folder.

    Example:
        with KafkaBroker() as broker:
            broker.create_topics({"orders": 2})
            ... broker.bootstrap_servers ...
    """

    def __init__(
        self,
        base_dir: Path | None = None,
        *,
        settings: Mapping[str, str] = _NO_TEXT,
        secured: Sequence[str] = (),
        java_options: Sequence[str] = (),
    ) -> None:
        """Prepare a broker; `start` starts it.

        Args:
            base_dir: Holds settings, data and `kafka.log`; data of an earlier broker is kept.
                Default a temporary folder, removed by `close`.
            settings: Added to the broker's `server.properties`; they take precedence.
            secured: Kafka's security protocols that the broker speaks besides PLAINTEXT, each on a port of
                its own; what they need is in the settings.
            java_options: Added to the options of the broker's JVM.

        Raises:
            JarError: Java 17 is missing, or the broker's jars cannot be downloaded.
        """
        self._java = java_executable()
        self._class_path = os.pathsep.join(map(str, resolve(["kafka"])["kafka"]))
        self._is_temporary = base_dir is None
        self._dir = (base_dir or Path(tempfile.mkdtemp(prefix="braid-kafka-"))).absolute()
        self._settings = dict(settings)
        self._secured = tuple(secured)
        self._java_options = tuple(java_options)
        self._supervisor = Supervisor(self._dir)
        self._child: ChildProcess | None = None
        self._ports: dict[str, int] = {}

    @property
    def bootstrap_servers(self) -> str:
        """Host and port for clients; the same over restarts. Requires a first `start`."""
        return self.address("PLAINTEXT")

    def address(self, protocol: str) -> str:
        """Host and port of a security protocol; the same over restarts. Requires a first `start`."""
        assert self._ports, "start() chooses the ports"
        return f"127.0.0.1:{self._ports[protocol]}"

    @property
    def process_id(self) -> int | None:
        """The broker's process id; None while it does not run."""
        return self._child.process_id if self._child and self._child.is_running else None

    @property
    def log_path(self) -> Path:
        """Everything the broker wrote, over all its starts."""
        return self._dir / "kafka.log"

    def start(self) -> Self:
        """Start the broker and return when it answers; no effect if it runs.

        Raises:
            ProcessFailed: It did not come up; the message shows the end of its log.
        """
        is_first = not self._ports
        for attempt in range(_START_ATTEMPTS):
            if self.process_id is not None:
                break
            try:
                self._start_once()
            except ProcessFailed as error:
                self.kill()
                # Between the choice of a free port and the broker's bind another process may take it.
                is_port_taken = "Address already in use" in str(error)
                if not (is_first and is_port_taken) or attempt == _START_ATTEMPTS - 1:
                    raise
                self._ports = {}
        return self

    def stop(self) -> None:
        """Shut the broker down cleanly; its data stays."""
        if self._child is not None:
            self._child.stop()

    def kill(self) -> None:
        """Crash the broker (SIGKILL); its data stays."""
        if self._child is not None:
            self._child.kill()

    def restart(self) -> None:
        """Crash the broker and start it again, on the same port with the same data."""
        self.kill()
        self.start()

    def close(self) -> None:
        """Stop the broker; remove its data if the folder is a temporary one."""
        self._supervisor.close()
        if self._is_temporary:
            shutil.rmtree(self._dir, ignore_errors=True)

    def admin(self) -> KafkaAdminClient:
        """Return an admin client; the caller closes it."""
        return KafkaAdminClient(bootstrap_servers=self.bootstrap_servers)

    def create_topics(
        self, topics: Mapping[str, int], *, configs: Mapping[str, str] = _NO_TEXT
    ) -> None:
        """Create topics and return when the broker has their metadata.

        Args:
            topics: Partition count by name.
            configs: Topic settings, the same for all: `{"retention.ms": "-1"}`.

        Raises:
            KafkaError: The broker refuses, for example because a topic exists.
        """
        wanted = {
            name: {"num_partitions": count, "replication_factor": 1, "configs": dict(configs)}
            for name, count in topics.items()
        }
        admin = self.admin()
        try:
            admin.create_topics(wanted, wait_for_metadata=True)
        finally:
            admin.close()

    def __enter__(self) -> Self:
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
        self._supervisor.__exit__(kind, error, trace)
        self.close()

    def _start_once(self) -> None:
        properties = self._write_settings()
        if not (self._dir / "data" / "meta.properties").exists():
            self._format(properties)
        command = self._command("kafka.Kafka", str(properties))
        self._child = self._supervisor.start("kafka", command)
        self._child.wait_ready(self._answers, timeout_s=_START_TIMEOUT_S)

    def _write_settings(self) -> Path:
        protocols = ("PLAINTEXT", *self._secured)
        if not self._ports:
            self._ports = {name: free_port() for name in (*protocols, _CONTROLLER)}
        listeners = {name: f"{name}://127.0.0.1:{port}" for name, port in self._ports.items()}
        settings = {
            **SETTINGS,
            "controller.quorum.voters": f"1@127.0.0.1:{self._ports[_CONTROLLER]}",
            "listeners": ",".join(listeners.values()),
            "advertised.listeners": ",".join(listeners[name] for name in protocols),
            "listener.security.protocol.map": ",".join(f"{name}:{name}" for name in protocols)
            + f",{_CONTROLLER}:PLAINTEXT",
            "log.dirs": str(self._dir / "data"),
            **self._settings,
        }
        path = self._dir / "server.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        (self._dir / "log4j2.properties").write_text(_LOG4J)
        return path

    def _format(self, properties: Path) -> None:
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        # With `=` in one word: one id in 64 starts with a dash and would be taken for an option.
        arguments = ("format", f"--cluster-id={cluster_id}", "-c", str(properties))
        child = self._supervisor.start(
            "kafka-format", self._command("kafka.tools.StorageTool", *arguments)
        )
        if child.wait(timeout_s=_START_TIMEOUT_S):
            raise ProcessFailed(child, what=f"ended with exit status {child.return_code}")

    def _command(self, main_class: str, *arguments: str) -> list[str]:
        log4j = f"-Dlog4j2.configurationFile={self._dir / 'log4j2.properties'}"
        options = [*_JVM, *self._java_options, log4j]
        return [str(self._java), *options, "-cp", self._class_path, main_class, *arguments]

    def _answers(self) -> bool:
        # A plain connection first: a Kafka client that is refused waits before it retries.
        socket.create_connection(("127.0.0.1", self._ports["PLAINTEXT"]), timeout=1).close()
        try:
            admin = self.admin()
        except KafkaError:
            return False
        try:
            return bool(admin.describe_cluster()["brokers"])
        except KafkaError:
            return False
        finally:
            admin.close()


def main(arguments: Sequence[str]) -> None:
    """Run a broker with topics of one partition until Ctrl-C or SIGTERM, and print its address."""
    parser = argparse.ArgumentParser(
        prog="python -m braid.demo.broker",
        description="Run a Kafka broker for experiments until Ctrl-C, and print its address. Its topics end with it.",
    )
    parser.add_argument(
        "topics", nargs="*", metavar="TOPIC", help="topic of one partition to create"
    )
    topics = parser.parse_args(arguments).topics
    with KafkaBroker() as broker:
        if topics:
            broker.create_topics(dict.fromkeys(topics, 1))
        print(f"export KAFKA={broker.bootstrap_servers}", flush=True)
        with suppress(KeyboardInterrupt):
            signal.pause()  # SIGTERM ends the broker as well, by its supervisor


if __name__ == "__main__":
    main(sys.argv[1:])
