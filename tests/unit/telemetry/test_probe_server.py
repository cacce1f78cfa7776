"""A process without a service of its own answers `/metrics`, `/health` and `/ready`."""

import socket
from collections.abc import Iterator

import httpx
import pytest
from prometheus_client import CollectorRegistry, Counter

from braid.lake import InvalidRequest
from braid.telemetry.probe_server import ProbeServer


class Process:
    """A process that is not ready for a reason, or ready."""

    reason: str | None = "spark is starting"


@pytest.fixture
def process() -> Process:
    return Process()


@pytest.fixture
def server(process: Process) -> Iterator[ProbeServer]:
    registry = CollectorRegistry()
    Counter("done", "What was done.", registry=registry).inc(3)
    server = ProbeServer(registry, host="127.0.0.1", port=0, not_ready=lambda: process.reason)
    server.start()
    yield server
    server.close()


def test_metrics_health_and_readiness_are_answered(server: ProbeServer, process: Process) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}") as client:
        assert "done_total 3.0" in client.get("/metrics").text
        assert client.get("/health").json() == {"status": "alive"}
        starting = client.get("/ready")
        process.reason = None
        ready = client.get("/ready?x")
        other = client.get("/rows")

    assert (starting.status_code, starting.json()["detail"]) == (503, "spark is starting")
    assert (ready.status_code, ready.json()) == (200, {"status": "ready"})
    assert other.status_code == 404


def test_connections_that_send_nothing_do_not_keep_others_waiting(server: ProbeServer) -> None:
    address = ("127.0.0.1", server.port)
    silent = [socket.create_connection(address) for _ in range(3)]

    assert httpx.get(f"http://127.0.0.1:{server.port}/health").is_success

    for one in silent:
        one.close()


def test_a_port_in_use_is_named_with_the_option(server: ProbeServer) -> None:
    with pytest.raises(InvalidRequest, match=r"for metrics: .*\n.*--metrics-port"):
        ProbeServer(CollectorRegistry(), host="127.0.0.1", port=server.port, not_ready=lambda: None)
