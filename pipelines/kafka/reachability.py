"""Reachability of a Kafka cluster: whether it takes connections, found out within milliseconds."""

import socket

from braid.lake import StorageUnavailable
from braid.pipelines.kafka.cluster import KafkaCluster


def check_reachable(cluster: KafkaCluster, *, seconds: float = 4.0) -> None:
    """Check that one of a cluster's addresses takes connections.

    To be called before a client of kafka-python is made: without a reachable address the client retries
    until its timeout, several times a second, and leaves a socket open each time.

    Args:
        cluster: Only its addresses are used.
        seconds: For each address; for all of them less than a runner's lease.

    Raises:
        StorageUnavailable: None does; the message has the error of each.
    """
    refusals = []
    for server in cluster.bootstrap_servers.split(","):
        host, _, port = server.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=seconds).close()
        except OSError as error:
            refusals.append(f"{server}: {error.strerror or error}")
        else:
            return
    message = f"kafka does not answer: {', '.join(refusals)}"
    raise StorageUnavailable(message)
