"""A cluster that takes no connections is known at once, with the error of each address."""

import socket

import pytest

from braid.lake import StorageUnavailable
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.kafka.reachability import check_reachable
from braid.pipelines.settings import LEASE_TTL_MS


def test_a_cluster_is_reached_when_one_of_its_addresses_takes_connections() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.socket() as taken:  # bound and not listening: no other process gets the port
            taken.bind(("127.0.0.1", 0))
            closed = taken.getsockname()[1]

            check_reachable(KafkaCluster(bootstrap_servers=f"127.0.0.1:{closed},127.0.0.1:{port}"))
            with pytest.raises(
                StorageUnavailable,
                match=rf"does not answer: 127\.0\.0\.1:{closed}: Connection refused$",
            ):
                check_reachable(KafkaCluster(bootstrap_servers=f"127.0.0.1:{closed}"))


@pytest.mark.parametrize("brokers", [1, 2, 4, 30])
def test_addresses_that_are_silent_leave_a_runner_the_time_to_renew_its_lease(
    brokers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 0.0
    waited: set[str] = set()

    def resolve(host: str, port: int, *_: object, **__: object) -> list[tuple[object, ...]]:
        inet = (socket.AF_INET, socket.SOCK_STREAM, 0, "")
        return [(*inet, (f"{host}-{number}", port)) for number in range(2)]

    def connect(connection: socket.socket, address: tuple[str, int]) -> None:
        nonlocal now_s
        now_s += connection.gettimeout() or 0
        waited.add(address[0])
        message = "timed out"
        raise TimeoutError(message)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(socket.socket, "connect", connect)
    servers = ",".join(f"b{number}:1" for number in range(brokers))

    with pytest.raises(StorageUnavailable, match=r"b0:1: timed out"):
        check_reachable(KafkaCluster(bootstrap_servers=servers), now_s=lambda: now_s)

    assert len(waited) == 2 * brokers
    assert now_s <= LEASE_TTL_MS / 3_000 + 1e-6
