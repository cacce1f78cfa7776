"""Reachability of a Kafka cluster: whether one of its addresses accepts connections and the login."""

import ssl

from kafka.errors import KafkaError

from braid.lake import StorageUnavailable
from braid.pipelines.kafka.client_errors import refused_login
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.kafka.trial_login import LoginRefusedError, try_login


def check_reachable(cluster: KafkaCluster, *, seconds: float = 4.0) -> None:
    """Check that one of a cluster's addresses accepts connections and the login.

    To be called before a client of kafka-python is made: without a reachable address the client retries
    until its timeout, several times a second, and leaves a socket open each time; and it hides errors of TLS
    and of the login behind that timeout.

    Args:
        cluster: The cluster.
        seconds: Timeout for each address; the sum of the timeouts has to be less than a runner's lease.

    Raises:
        InvalidRequest: The options of security cannot be applied.
        StorageUnavailable: No address accepts connections; the message has the error of each. Or the login is
            refused, or there is no token for it.
    """
    source = cluster.token_source
    if source is not None:
        source.token()
    refusals = []
    for server in cluster.bootstrap_servers.split(","):
        host, _, port = server.rpartition(":")
        try:
            try_login(cluster, host=host.strip("[]"), port=int(port), seconds=seconds)
        except LoginRefusedError as error:
            raise refused_login(cluster, f"kafka {server}", str(error)) from error
        except ssl.SSLError as error:
            reason = getattr(error, "verify_message", "") or error.reason or error
            refusals.append(f"{server}: no TLS connection ({cluster.security.name}): {reason}")
        except (OSError, KafkaError) as error:
            refusals.append(f"{server}: {getattr(error, 'strerror', None) or error or 'no answer'}")
        else:
            return
    message = f"kafka does not answer: {', '.join(refusals)}"
    raise StorageUnavailable(message)
