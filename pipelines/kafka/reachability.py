"""Reachability of a Kafka cluster: whether it accepts connections, determined within milliseconds."""

import socket

from braid.lake import StorageUnavailable
from braid.pipelines.kafka.cluster import KafkaCluster


def check_reachable(cluster: KafkaCluster, *, seconds: float = 4.0) -> None:
    """Check that one of a cluster's addresses accepts connections.

    To be called before a client of kafka-python is made: without a reachable address the client retries
    until its timeout, several times a second, and leaves a socket open each time.

    Args:
        cluster: The cluster, of which only the addresses are used.
        seconds: Timeout for each address; the sum of the timeouts has to be less than a runner's lease.

    Raises:
        StorageUnavailable: No address accepts connections; the message has the error of each.
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
