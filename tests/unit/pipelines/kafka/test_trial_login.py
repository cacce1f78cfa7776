"""A trial login: what a broker that is none, or says nothing, is taken for; brokers are tried in `tests/integration`."""

import socket
import ssl
import threading
from collections.abc import Iterator

import pytest

from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.kafka.shared_time import SharedTime
from braid.pipelines.kafka.trial_login import try_login

OPTIONS = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": 'x.PlainLoginModule required username="me" password="s3cret";',
}


@pytest.fixture
def closing_port() -> Iterator[int]:
    """A port whose server reads a request and closes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4_096)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


def test_a_connection_that_is_closed_without_an_answer_is_no_refusal(closing_port: int) -> None:
    cluster = KafkaCluster(bootstrap_servers="a:1", options=OPTIONS)

    with pytest.raises(OSError, match="closed the connection"):
        try_login(cluster, host="127.0.0.1", port=closing_port, within=SharedTime(60))


def test_a_broker_that_says_nothing_is_waited_for_only_so_long() -> None:
    cluster = KafkaCluster(bootstrap_servers="a:1", options=OPTIONS)

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(TimeoutError):
            try_login(cluster, host="127.0.0.1", port=port, within=SharedTime(0.05))


def test_tls_has_the_time_that_connecting_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 0.0
    given: list[float | None] = []

    def connect(_: socket.socket, __: object) -> None:
        nonlocal now_s
        now_s += 3

    def shake_hands(_: ssl.SSLContext, connection: socket.socket, **__: object) -> None:
        given.append(connection.gettimeout())
        raise ssl.SSLError

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(ssl.SSLContext, "wrap_socket", shake_hands)
    cluster = KafkaCluster(bootstrap_servers="a:1", options={"security.protocol": "SSL"})

    with pytest.raises(ssl.SSLError):
        try_login(cluster, host="127.0.0.1", port=9, within=SharedTime(4, now_s=lambda: now_s))
    assert given == [1.0]
