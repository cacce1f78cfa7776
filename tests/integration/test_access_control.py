"""Access control as operators use it: tokens made beside a running service, revoked under it, and TLS with workers."""

import os
import shlex
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from braid.client import BraidError, Client, ClientSettings, ScopeMissing, Unauthenticated
from braid.demo.ports import free_port
from braid.demo.processes import ChildProcess, Supervisor
from tests.support.doc_examples import ROOT, doc_examples
from tests.support.waiting import PATIENCE_S
from tests.support.worker_pids import worker_pids
from tests.unit.client.conftest import PARCELS

pytestmark = pytest.mark.integration

GUIDE = ROOT / "docs" / "guides" / "access-control.md"
TLS = ROOT / "tests" / "support" / "tls"


@dataclass(frozen=True, kw_only=True)
class SecureService:
    """A service of two workers, over TLS."""

    address: str
    warehouse: Path
    process: ChildProcess

    def token(self, *arguments: str) -> str:
        """Run `braid token`, and return what it prints."""
        command = [sys.executable, "-m", "braid", "token", *arguments]
        done = subprocess.run(
            [*command, "--warehouse", str(self.warehouse)],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
        )
        return done.stdout.strip()

    def client(self, token: str | None) -> Client:
        trust = ssl.create_default_context(cafile=str(TLS / "certificate.pem"))
        settings = ClientSettings(token=token)
        return Client(self.address, settings=settings, transport=httpx.HTTPTransport(verify=trust))


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureService]:
    folder, port = tmp_path_factory.mktemp("secure"), free_port()
    warehouse = folder / "warehouse"
    with Supervisor(folder / "logs") as supervisor:
        process = supervisor.start_module(
            "service", "braid", "service", "--warehouse", str(warehouse), "--port", str(port),
            "--workers", "2", "--tls-certificate", str(TLS / "certificate.pem"),
            "--tls-key", str(TLS / "key.pem"),
        )  # fmt: skip
        found = SecureService(
            address=f"https://127.0.0.1:{port}", warehouse=warehouse, process=process
        )

        def is_ready() -> bool:
            with suppress(BraidError), found.client(None) as client:
                is_up = client.ready().status == "ready"
                return is_up and len(worker_pids(process.process_id)) == 2
            return False

        process.wait_ready(is_ready, timeout_s=PATIENCE_S)
        yield found


def test_tokens_are_made_and_revoked_beside_a_running_service(service: SecureService) -> None:
    admin = service.token("create", "ops", "--grant", "admin:*")
    reader = service.token("create", "dashboard", "--grant", "read:shop.*")
    with service.client(admin) as ops, service.client(reader) as dashboard:
        assert ops.table("shop.parcels").put(PARCELS)
        assert dashboard.table("shop.parcels").get()
        with pytest.raises(ScopeMissing):
            dashboard.table("shop.parcels").put(PARCELS)

        service.token("revoke", "dashboard")

        # Each worker has its own view of the tokens.
        in_a_row = 0
        while in_a_row < 20:
            with service.client(reader) as other:  # a connection of its own, to either worker
                try:
                    other.table("shop.parcels").get()
                except Unauthenticated:
                    in_a_row += 1
                else:
                    in_a_row = 0
        assert ops.table("shop.parcels").get()


def test_without_tls_the_port_answers_nothing(service: SecureService) -> None:
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{service.address.replace('https', 'http')}/health")


def test_without_a_token_only_probes_are_answered(service: SecureService) -> None:
    with service.client(None) as client, pytest.raises(Unauthenticated):
        client.table("shop.parcels").get()
    with service.client("braid_0123456789abcdef_" + "A" * 43) as client:
        assert client.health().version
        with pytest.raises(Unauthenticated):
            client.table("shop.parcels").get()
    assert "braid_" not in service.process.read_log_tail()


def test_the_guide_leads_from_a_service_to_tokens_and_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    monkeypatch.setenv("WAREHOUSE", str(tmp_path / "warehouse"))
    monkeypatch.setenv("API", f"http://127.0.0.1:{port}")
    (command,) = doc_examples(GUIDE, "service")
    text = os.path.expandvars(command.text.replace("8080", str(port)))
    script = "\n".join(example.text for example in doc_examples(GUIDE, "access"))
    after = 'curl -sS "$T" -H "authorization: Bearer $DASHBOARD" -o /dev/null -w "%{http_code}"'
    script += f"\nuntil {after} | grep -q 401; do :; done\n"

    with Supervisor(tmp_path / "logs") as supervisor:
        process = supervisor.start_module("service", "braid", *shlex.split(text)[1:])

        def is_ready() -> bool:
            with suppress(httpx.TransportError):
                return httpx.get(f"http://127.0.0.1:{port}/ready").is_success
            return False

        process.wait_ready(is_ready, timeout_s=PATIENCE_S)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
        )

    assert done.returncode == 0, done.stderr
    assert '"tables":[]' in done.stdout
    assert "dashboard\t" in done.stdout
    assert "operate:shop.* read:*" in done.stdout
    assert '"schema_id":0' in done.stdout
    assert '"code": "scope_missing"' in done.stdout
