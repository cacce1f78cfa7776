"""Reachability of a Kafka cluster: whether it accepts connections, determined within milliseconds."""

import socket
import ssl

from braid.formats.kafka_security.tls import build_tls_context
from braid.lake import StorageUnavailable
from braid.pipelines.kafka.cluster import KafkaCluster


def check_reachable(cluster: KafkaCluster, *, seconds: float = 4.0) -> None:
    """Check that one of a cluster's addresses accepts connections, and that there is a token where one is needed.

    To be called before a client of kafka-python is made: without a reachable address the client retries
    until its timeout, several times a second, and leaves a socket open each time. An error of TLS or of the
    token it hides behind that timeout.

    Args:
        cluster: The cluster; no login is sent.
        seconds: Timeout for each address; the sum of the timeouts has to be less than a runner's lease.

    Raises:
        InvalidRequest: The options of security cannot be applied.
        StorageUnavailable: No address accepts connections; the message has the error of each. Or there is no
            token.
    """
    tls = cluster.security.tls
    context = None if tls is None else build_tls_context(tls)
    refusals = []
    for server in cluster.bootstrap_servers.split(","):
        try:
            _connect(server, context, seconds)
        except ssl.SSLError as error:
            reason = getattr(error, "verify_message", "") or error.reason or error
            refusals.append(f"{server}: no TLS connection ({cluster.security.name}): {reason}")
        except OSError as error:
            refusals.append(f"{server}: {error.strerror or error}")
        else:
            break
    else:
        message = f"kafka does not answer: {', '.join(refusals)}"
        raise StorageUnavailable(message)
    source = cluster.token_source
    if source is not None:
        source.token()


def _connect(server: str, context: ssl.SSLContext | None, seconds: float) -> None:
    host, _, port = server.rpartition(":")
    host = host.strip("[]")
    with socket.create_connection((host, int(port)), timeout=seconds) as connection:
        if context is not None:
            context.wrap_socket(connection, server_hostname=host).close()
