"""Errors of kafka-python, converted to `StorageUnavailable`; errors of a login, or of its rights, name the login's mechanism."""

from kafka.errors import (
    AuthorizationError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
)

from braid.lake import StorageUnavailable
from braid.pipelines.kafka.cluster import KafkaCluster

_REFUSED_LOGINS = (SaslAuthenticationFailedError, UnsupportedSaslMechanismError)


def refused_login(cluster: KafkaCluster, what: str, reason: str) -> StorageUnavailable:
    """Return the error to raise for a login that is refused.

    Args:
        cluster: The cluster that was asked.
        what: What failed.
        reason: The broker's or the client's reason.
    """
    message = (
        f"{what}: the login ({cluster.security.name}) is refused: {reason}\nhint: correct the cluster's "
        "options in the file of `--clusters`, or what they refer to"
    )
    return StorageUnavailable(message)


def unavailable(cluster: KafkaCluster, what: str, error: Exception) -> StorageUnavailable:
    """Return the error to raise; what failed is retried, because an operator can change login and rights.

    Args:
        cluster: The cluster that was asked.
        what: What failed, such as `dead letters cannot be sent to topic t`.
        error: The client's error.
    """
    what = f"kafka {cluster.bootstrap_servers}: {what}"
    if isinstance(error, _REFUSED_LOGINS):
        return refused_login(cluster, what, repr(error))
    message = f"{what}: {error!r}"
    if isinstance(error, AuthorizationError):
        name = cluster.security.name
        message += f"\nhint: the login ({name}) lacks the right for this: grant it on the cluster"
    return StorageUnavailable(message)
