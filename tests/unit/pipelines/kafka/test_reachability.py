"""A cluster that takes no connections is known at once, with the error of each address."""

import socket

import pytest

from braid.lake import StorageUnavailable
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.kafka.reachability import check_reachable


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
