"""Errors of Kafka's Python client as errors of this project; they name the login's mechanism and no secret."""

from kafka.errors import (
    AuthorizationError,
    KafkaTimeoutError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
)

from braid.lake import StorageUnavailable
from braid.pipelines.kafka.cluster import KafkaCluster

_REFUSED_LOGINS = (SaslAuthenticationFailedError, UnsupportedSaslMechanismError)


def unavailable(cluster: KafkaCluster, what: str, error: Exception) -> StorageUnavailable:
    """Return the error to raise; what failed is retried, because an operator can change login and rights.

    Args:
        cluster: The cluster that was asked.
        what: What failed, such as `dead letters cannot be sent to topic t`.
        error: The client's error.
    """
    message = f"kafka {cluster.bootstrap_servers}: {what}: {error!r}"
    name = cluster.security.name
    if isinstance(error, _REFUSED_LOGINS):
        message += (
            f"\nhint: the login ({name}) is refused: correct the cluster's options in the "
            "file of `--clusters`, or what they refer to"
        )
    elif isinstance(error, AuthorizationError):
        message += f"\nhint: the login ({name}) lacks the right: add it on the cluster"
    elif isinstance(error, KafkaTimeoutError) and cluster.security.protocol != "PLAINTEXT":
        # A broker that refuses a login answers and closes at once; the client then often sees the end only.
        message += (
            f"\nhint: no broker accepted a connection in time by {name}; brokers also close those of a wrong "
            "password or certificate: check the cluster's options in the file of `--clusters`, and what they "
            "refer to"
        )
    return StorageUnavailable(message)
