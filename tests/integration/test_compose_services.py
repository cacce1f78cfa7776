"""The programs of the compose file run with its commands, variables, secrets and health checks, as processes of this machine.

Addresses of other services, paths of containers and ports are replaced by those of the test's servers; all else is as in the file.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from braid.demo.broker import KafkaBroker
from braid.demo.ports import free_port
from braid.demo.processes import ChildProcess, Supervisor
from braid.demo.s3_server import S3Server
from braid.lake import SystemClock, path_for
from braid.registry.store.progress import ProgressStore
from tests.support.compose import OWN, compose_file
from tests.support.doc_examples import ROOT
from tests.support.s3_storage import s3_file_io
from tests.support.waiting import PATIENCE_S, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.spark]


class Deployment:
    """The programs of the compose file on this machine.

    Attributes:
        port: The port of the service.
        warehouse: The address of the warehouse.
        metrics_token: The token with which metrics are read.
    """

    metrics_token = f"braid_{'0' * 16}_{'ab' * 32}"

    def __init__(
        self, supervisor: Supervisor, folder: Path, *, store: S3Server, broker: KafkaBroker
    ) -> None:
        self._supervisor = supervisor
        self._services = compose_file()["services"]
        self.port = free_port()
        self.warehouse = f"s3://{store.bucket}/compose"
        secrets = folder / "secrets"
        secrets.mkdir()
        credentials = Path(store.environment["BRAID_STORE_CREDENTIALS"])
        (secrets / "store_credentials").write_bytes(credentials.read_bytes())
        (secrets / "metrics_token").write_text(self.metrics_token)
        clusters = (ROOT / "containers/clusters.toml").read_text(encoding="utf-8")
        (folder / "clusters.toml").write_text(
            clusters.replace("broker:19092", broker.bootstrap_servers)
        )
        self._replaced = {
            "http://storage:9000": store.environment["BRAID_STORE_ENDPOINT"],
            "s3://braid/warehouse": self.warehouse,
            "/run/secrets": str(secrets),
            "/etc/braid": str(folder),
            "/var/lib/braid": str(folder / "state"),
            "8080": str(self.port),
        }
        # On one machine no two programs listen at one port.
        self._metrics_ports = {name: free_port() for name in (*OWN, "tokens")}

    def start(self, name: str) -> ChildProcess:
        """Start a program; it does not wait until it is ready."""
        service: Mapping[str, Any] = self._services[name]
        variables = service["environment"].items()
        environment = {key: self._here(value, name) for key, value in variables}
        arguments = [self._here(one, name) for one in service["command"]]
        return self._supervisor.start_module(name, "braid", *arguments, environment=environment)

    def is_healthy(self, name: str) -> bool:
        """Run the health check of a program, as Docker does."""
        kind, *command = self._services[name]["healthcheck"]["test"]
        assert kind == "CMD"
        assert command[0] == "python"
        words = [sys.executable, *(self._here(word, name) for word in command[1:])]
        return subprocess.run(words, capture_output=True, check=False).returncode == 0

    def _here(self, text: str, name: str) -> str:
        for there, here in {**self._replaced, "9101": str(self._metrics_ports[name])}.items():
            text = text.replace(there, here)
        return text


@pytest.fixture
def deployment(kafka: KafkaBroker, s3_server: S3Server, tmp_path: Path) -> Iterator[Deployment]:
    with Supervisor(tmp_path / "logs") as supervisor:
        yield Deployment(supervisor, tmp_path, store=s3_server, broker=kafka)


@pytest.mark.timeout(600)
def test_the_programs_of_the_compose_file_become_healthy(
    deployment: Deployment, s3_server: S3Server
) -> None:
    deployment.start("service")
    wait_until(lambda: deployment.is_healthy("service"), every_s=0.5)

    deployment.start("runner")
    deployment.start("maintenance")

    wait_until(lambda: deployment.is_healthy("maintenance"), every_s=0.5)
    wait_until(lambda: deployment.is_healthy("runner"), every_s=0.5)
    reports = ProgressStore(s3_file_io(s3_server), path_for(deployment.warehouse), SystemClock())
    assert [one.runner for one in reports.read_all().runners] == ["runner-1"]
    assert deployment.start("tokens").wait(timeout_s=PATIENCE_S) == 0
    address = f"http://127.0.0.1:{deployment.port}/metrics"
    assert httpx.get(address, timeout=PATIENCE_S).status_code == 401
    headers = {"authorization": f"Bearer {deployment.metrics_token}"}
    assert "braid_build_info" in httpx.get(address, timeout=PATIENCE_S, headers=headers).text
