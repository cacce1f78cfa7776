"""Rules for the Kafka settings of a stream: its cluster, topics, consumer options, and the group of its mirror.

Pure. A registration over HTTP could try to make a runner use an address, a login or a Java class. So clusters, addresses,
topics, options and mirror groups that operators have not allowed are refused, and so are option values out of bounds. A
process without a file of clusters accepts the cluster `default`, which the runners may know, and checks only the options.
The runner checks its own file again when it starts the stream.
"""

from collections.abc import Iterator

from braid.formats.clusters.kafka_clusters import (
    DEFAULT_CLUSTER,
    MIRROR_GROUPS,
    KafkaClusters,
    NamedCluster,
    is_mirror_allowed,
)
from braid.formats.clusters.stream_options import STREAM_OPTIONS, unfit_value
from braid.schemas import FieldProblem, StreamSpec
from braid.schemas.field_problems import problem_at, quoted_list

_OPERATORS = "operators set other options for the whole cluster, in the file of `--clusters`"


def check_kafka(stream: StreamSpec, clusters: KafkaClusters) -> Iterator[FieldProblem]:
    """Yield the problems of a stream's cluster, topics and consumer options.

    Args:
        stream: The completed stream.
        clusters: The clusters that this process knows. `default` may be known to the runners alone.
    """
    kafka = stream.kafka
    cluster: NamedCluster | None = None
    if kafka.bootstrap_servers is not None:
        yield from _check_address(stream, clusters)
    else:
        name = kafka.cluster or DEFAULT_CLUSTER
        cluster = clusters.by_name.get(name)
        if cluster is None and name != DEFAULT_CLUSTER:
            yield problem_at(
                "kafka",
                "cluster",
                value=name,
                message="no Kafka cluster of this name",
                hint=f"clusters: {quoted_list(_names(clusters))}",
            )
        elif cluster is None and kafka.cluster is None and clusters.by_name:
            yield problem_at(
                "kafka",
                "cluster",
                message="the stream names no Kafka cluster, and there is no cluster "
                f"`{DEFAULT_CLUSTER}`",
                hint=f"clusters: {quoted_list(_names(clusters))}",
            )
    if cluster is not None:
        yield from _check_topics(stream, cluster)
    yield from _check_mirror(stream, cluster)
    yield from _check_options(stream, cluster)


def _names(clusters: KafkaClusters) -> list[str]:
    return sorted({DEFAULT_CLUSTER} if not clusters.by_name else clusters.by_name)


def _check_address(stream: StreamSpec, clusters: KafkaClusters) -> Iterator[FieldProblem]:
    servers = stream.kafka.bootstrap_servers
    assert servers is not None
    path = ("kafka", "bootstrap_servers")
    known = clusters.at(servers)
    if stream.kafka.cluster is not None:
        message = "a stream names a cluster or an address, not both"
        yield problem_at(*path, value=servers, message=message, hint="leave the address out")
    elif known is not None:
        hint = f'write `"kafka": {{"cluster": "{known.name}"}}`'
        message = "a stream names its cluster, not an address"
        yield problem_at(*path, value=servers, message=message, hint=hint)
    elif not clusters.allows_address(servers):
        yield problem_at(
            *path,
            value=servers,
            message="a stream names its cluster, not an address",
            hint=f"clusters: {quoted_list(_names(clusters))}; operators name more in the file of "
            "`--clusters`",
        )


def _check_topics(stream: StreamSpec, cluster: NamedCluster) -> Iterator[FieldProblem]:
    if not cluster.may_read(stream.topic):
        yield problem_at(
            "topic",
            value=stream.topic,
            message=f"streams may not read this topic of the cluster `{cluster.name}`",
            hint=f"topics that may be read: {quoted_list(cluster.read)}",
        )
    if not cluster.may_write(stream.dead_letter_topic):
        yield problem_at(
            "dead_letter_topic",
            value=stream.dead_letter_topic,
            message=f"dead letters may not go to this topic of the cluster `{cluster.name}`",
            hint=f"topics that may be written: {quoted_list(cluster.write)}",
        )


def _check_mirror(stream: StreamSpec, cluster: NamedCluster | None) -> Iterator[FieldProblem]:
    """Yield the problem of a consumer group that may be another application's: it would lose its position."""
    group = stream.mirror_consumer_group
    if group is None:
        return
    is_default = cluster is None and stream.kafka.bootstrap_servers is None
    allowed = MIRROR_GROUPS if cluster is None else cluster.mirror_groups
    # The cluster `default` may be known to the runners alone, which check it when the stream starts.
    if not is_default and not is_mirror_allowed(group, allowed):
        yield problem_at(
            "mirror_consumer_group",
            value=group,
            message="streams may not commit offsets to this consumer group",
            hint=f"groups that may be used: {quoted_list(allowed)}; operators allow others by "
            "`mirror_groups` in the file of `--clusters`",
        )


def _check_options(stream: StreamSpec, cluster: NamedCluster | None) -> Iterator[FieldProblem]:
    allowed = tuple(STREAM_OPTIONS) if cluster is None else cluster.stream_options
    for name, value in stream.kafka.options.items():
        path = ("kafka", "options", name)
        if name not in allowed:
            # The value is not repeated: it may be a secret.
            yield problem_at(
                *path,
                value=name,
                message="a stream may not set this option of Kafka",
                hint=f"it may set {quoted_list(allowed)}; {_OPERATORS}",
            )
            continue
        expected = unfit_value(name, value)
        if expected is not None:
            message = f"expected {expected}, as text"
            hint = "leave it out, or correct the value"
            yield problem_at(*path, value=value, message=message, hint=hint)
