"""Reachability of a Kafka cluster: whether one of its addresses accepts connections and the login."""

import ssl
import time
from collections.abc import Callable
from typing import Final

from kafka.errors import KafkaError

from braid.lake import StorageUnavailable
from braid.pipelines.kafka.client_errors import refused_login
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.kafka.shared_time import SharedTime
from braid.pipelines.kafka.trial_login import LoginRefusedError, try_login
from braid.pipelines.settings import LEASE_TTL_MS

# A runner renews its lease after a third of it, and its client may take almost another third to connect.
_SECONDS: Final = LEASE_TTL_MS / 3_000
_ADDRESS_SECONDS_MAX: Final = 4.0


def check_reachable(
    cluster: KafkaCluster, *, seconds: float = _SECONDS, now_s: Callable[[], float] = time.monotonic
) -> None:
    """Check that one of a cluster's addresses accepts connections and the login.

    To be called before a client of kafka-python is made: without a reachable address the client retries
    until its timeout, several times a second, and leaves a socket open each time; and it hides errors of TLS
    and of the login behind that timeout.

    Args:
        cluster: The cluster.
        seconds: How long all addresses may take together, each an equal part of what those before it have left, and
            at most 4 seconds. The token of the login, and the resolution of names, have timeouts of their own.
        now_s: A clock that is never set back, seconds.

    Raises:
        InvalidRequest: The options of security cannot be applied.
        StorageUnavailable: No address accepts connections; the message has the error of each. Or the login is
            refused, or there is no token for it.
    """
    source = cluster.token_source
    if source is not None:
        source.token()
    refusals = []
    shared = SharedTime(seconds, now_s=now_s)
    servers = cluster.bootstrap_servers.split(",")
    for tried, server in enumerate(servers):
        host, _, port = server.rpartition(":")
        try:
            within = shared.part(len(servers) - tried, seconds_max=_ADDRESS_SECONDS_MAX)
            try_login(cluster, host=host.strip("[]"), port=int(port), within=within)
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
