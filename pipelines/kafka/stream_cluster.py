"""Kafka cluster of a stream, with its secrets resolved.

A stream names a cluster of the operators' file, or an address that the file allows; otherwise it reads from the cluster
`default`. The stream may have been registered before the file was changed, or by a service with another file. So the
name or address, the topics and the group of the mirror are checked again before the stream gets a login. Only this
module resolves references to secrets of clusters.
"""

import logging
from dataclasses import replace

from braid.formats.clusters.kafka_clusters import (
    DEFAULT_CLUSTER,
    MIRROR_GROUPS,
    KafkaClusters,
    NamedCluster,
    is_mirror_allowed,
)
from braid.formats.clusters.secret_references import resolve_secrets
from braid.formats.clusters.stream_options import STREAM_OPTIONS, unfit_value
from braid.formats.kafka_security.jaas import JaasError, parse_jaas
from braid.lake import InvalidRequest, Problem
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.schemas import StreamSpec

_LOG = logging.getLogger(__name__)
_JAAS = "sasl.jaas.config"


def resolve_cluster(stream: StreamSpec, clusters: KafkaClusters) -> KafkaCluster:
    """Return the cluster that a stream reads from, with its login.

    Raises:
        InvalidRequest: The file names no such cluster, does not allow the topics, or refers to a secret or
            certificate that cannot be used; or not every client can apply its options of security.
    """
    named = _named_cluster(stream, clusters)
    if named is None:
        servers = stream.kafka.bootstrap_servers
        assert servers is not None, "a stream names a cluster or an address"
        _check_mirror(stream, MIRROR_GROUPS, place="the file of `--clusters`")
        return KafkaCluster(
            bootstrap_servers=servers, options=_own_options(stream, tuple(STREAM_OPTIONS))
        )
    _check_topics(stream, named)
    _check_mirror(stream, named.mirror_groups, place=f"[clusters.{named.name}]")
    found = KafkaCluster(
        bootstrap_servers=named.bootstrap_servers,
        options={**_resolved(named), **_own_options(stream, named.stream_options)},
        token_provider=named.token_provider,
    )
    found.check_security(prefix=f"clusters.{named.name}.options.")
    return found


def _resolved(cluster: NamedCluster) -> dict[str, str]:
    """Return a cluster's options with their secrets; a secret inside a login is escaped, so it may have any characters."""
    options, owner = cluster.options, f"the Kafka cluster `{cluster.name}`"
    try:
        login = parse_jaas(options.get(_JAAS, ""))
    except JaasError:
        # A reference to the whole login; `check_security` reads it.
        return resolve_secrets(options, owner=owner)
    values = resolve_secrets(login.options, owner=owner)
    others = {name: value for name, value in options.items() if name != _JAAS}
    return {**resolve_secrets(others, owner=owner), _JAAS: replace(login, options=values).text}


def _named_cluster(stream: StreamSpec, clusters: KafkaClusters) -> NamedCluster | None:
    """Return the cluster of the file; None where the stream may name an address of its own."""
    servers = stream.kafka.bootstrap_servers
    if servers is None:
        name = stream.kafka.cluster or DEFAULT_CLUSTER
        found = clusters.by_name.get(name)
        if found is None:
            raise _refusal(
                stream,
                field="kafka.cluster",
                value=name,
                message=f"no Kafka cluster is called `{name}`",
                hint="start the runner or the command with a `--clusters` file that contains "
                f"[clusters.{name}]"
                + (", or with `--kafka host:port`" if name == DEFAULT_CLUSTER else ""),
            )
        return found
    found = clusters.at(servers)
    if found is None and not clusters.allows_address(servers):
        raise _refusal(
            stream,
            field="kafka.bootstrap_servers",
            value=servers,
            message="no Kafka cluster has this address",
            hint="start the runner or the command with a `--clusters` file that contains a cluster with "
            f'bootstrap_servers = "{servers}"',
        )
    return found


def _check_topics(stream: StreamSpec, cluster: NamedCluster) -> None:
    for field, topic, is_allowed, right in (
        ("topic", stream.topic, cluster.may_read(stream.topic), "read"),
        (
            "dead_letter_topic",
            stream.dead_letter_topic,
            cluster.may_write(stream.dead_letter_topic),
            "write",
        ),
    ):
        if not is_allowed:
            raise _refusal(
                stream,
                field=field,
                value=topic,
                message=f"the cluster `{cluster.name}` does not allow this topic",
                hint=f"add it to `{right}` of [clusters.{cluster.name}], or choose another",
            )


def _check_mirror(stream: StreamSpec, allowed: tuple[str, ...], *, place: str) -> None:
    group = stream.mirror_consumer_group
    if group is not None and not is_mirror_allowed(group, allowed):
        raise _refusal(
            stream,
            field="mirror_consumer_group",
            value=group,
            message="streams may not commit offsets to this consumer group",
            hint=f"add it to `mirror_groups` of {place}, or choose another",
        )


def _own_options(stream: StreamSpec, allowed: tuple[str, ...]) -> dict[str, str]:
    """Return the options that the stream may set itself; other options are set by the cluster."""
    kept = {}
    for name, value in stream.kafka.options.items():
        if name in allowed and unfit_value(name, value) is None:
            kept[name] = value
        else:
            # A stream from before the file existed may have a login of its own; logins come from the file now.
            _LOG.warning("option of the stream is not used stream=%s option=%r", stream.name, name)
    return kept


def _refusal(
    stream: StreamSpec, *, field: str, value: str, message: str, hint: str
) -> InvalidRequest:
    problem = Problem(field=field, value=value, message=message, hint=hint)
    summary = f"stream {stream.name} cannot read from Kafka"
    return InvalidRequest(summary, problems=[problem])
