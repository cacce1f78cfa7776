"""Check that a Kafka cluster takes connections at all: milliseconds, and one line of text on failure."""

import socket

from lake import StorageUnavailable
from pipelines.kafka.cluster import KafkaCluster


def check_reachable(cluster: KafkaCluster, *, seconds: float = 4.0) -> None:
    """Check that one of a cluster's addresses takes connections.

    Asked before a client of kafka-python is made: where none does, the client tries for as long as it
    may, several times a second, and leaves a socket open each time.

    Args:
        cluster: Of its options nothing is used.
        seconds: For each address. All in all less than a runner's lease.

    Raises:
        StorageUnavailable: None does; the message has what each one said.
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
