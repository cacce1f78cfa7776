"""Kafka clusters and schema registries that operators have named, and the permissions of streams on the clusters.

A stream names a cluster or gives an address. If the address is that of a cluster, the cluster's login is used; any other
address has to be allowed by the operators, and no login is sent to it. Addresses, logins and the topics that may be read and
written are in a file that services and runners are started with (`clusters_file`); the cluster `default` may come from the
command line. So a client that registers a stream can choose neither an address that the operators did not allow nor the
credentials that are sent.
Permissions are checked by `registry/rules/kafka_rules`, and again by `pipelines/kafka/stream_cluster` when a stream starts.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Final

from braid.formats.clusters.push_signatures import PushSignature
from braid.formats.clusters.stream_options import STREAM_OPTIONS
from braid.formats.schema_registry.named_registry import NamedSchemaRegistry
from braid.lake import InvalidRequest
from braid.schemas import KafkaSpec

DEFAULT_CLUSTER: Final = "default"
ANY: Final = ("*",)
DEAD_LETTERS: Final = ("*.dead-letters",)
MIRROR_GROUPS: Final = ("braid.*",)
"""Consumer groups that no consumer of another application uses, unless operators name others."""

_SERVER = re.compile(r"([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.%]+\]):([0-9]{1,5})")
_PORT_MAX = 65_535
_INTERNAL = "__"  # prefix of Kafka's internal topics: offsets and transactions of all clients


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCluster:
    """A Kafka cluster as an operator declares it.

    Attributes:
        name: The name by which streams refer to it.
        bootstrap_servers: `host:port[,host:port]`.
        options: Client options by Kafka's own names; secrets are references, not yet resolved.
        read: Patterns of topics that streams may read (`*`, `?`, `[a-z]`).
        write: Patterns of topics that dead letters may be sent to, and read from to list and replay them.
        push: Patterns of topics to which clients of the service may push records; by default none.
        show_records: Patterns of topics whose records the service may show as they are; by default none.
        signatures: The signatures that pushes to some topics need; the first one whose patterns match counts.
        mirror_groups: Patterns of consumer groups in which positions of streams may be mirrored.
        stream_options: Names of the options that a stream may set itself.
        token_provider: Name of the installed provider that gives tokens for OAUTHBEARER to clients other
            than Java's; None: tokens come from the endpoint of `options`, if any.
        jars: Java archives that the login needs in Spark, absolute paths.
    """

    name: str
    bootstrap_servers: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    read: tuple[str, ...] = ANY
    write: tuple[str, ...] = DEAD_LETTERS
    push: tuple[str, ...] = ()
    show_records: tuple[str, ...] = ()
    signatures: tuple[PushSignature, ...] = ()
    mirror_groups: tuple[str, ...] = MIRROR_GROUPS
    stream_options: tuple[str, ...] = tuple(STREAM_OPTIONS)
    token_provider: str | None = None
    jars: tuple[str, ...] = ()

    def may_read(self, topic: str) -> bool:
        """Return whether a stream may read a topic."""
        return _is_allowed(topic, self.read)

    def may_write(self, topic: str) -> bool:
        """Return whether a stream's dead letters may be sent to a topic."""
        return _is_allowed(topic, self.write)

    def may_push(self, topic: str) -> bool:
        """Return whether clients of the service may push records to a topic."""
        return _is_allowed(topic, self.push)

    def may_show(self, topic: str) -> bool:
        """Return whether the service may show records of a topic as they are."""
        return _is_allowed(topic, self.show_records)

    def signature_of(self, topic: str) -> PushSignature | None:
        """Return the signature that pushes to a topic need; None: they need none."""
        return next((one for one in self.signatures if one.is_for(topic)), None)

    def may_mirror(self, group: str) -> bool:
        """Return whether a stream's position may be mirrored in a consumer group."""
        return is_mirror_allowed(group, self.mirror_groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaClusters:
    """All clusters that a process knows, and the schema registries beside them.

    Attributes:
        by_name: The clusters by name.
        schema_registries: The schema registries by name.
        addresses: Patterns of `host:port` that a stream may name instead of a cluster; the runner
            connects there without a login.
    """

    by_name: Mapping[str, NamedCluster] = field(default_factory=dict)
    schema_registries: Mapping[str, NamedSchemaRegistry] = field(default_factory=dict)
    addresses: tuple[str, ...] = ()

    @property
    def jars(self) -> tuple[str, ...]:
        """The Java archives of all clusters, each once."""
        found = (jar for cluster in self.by_name.values() for jar in cluster.jars)
        return tuple(dict.fromkeys(found))

    @property
    def allow_pushes(self) -> bool:
        """Whether clients of the service may push to some topics."""
        return any(cluster.push for cluster in self.by_name.values())

    @property
    def check_signatures(self) -> bool:
        """Whether pushes to some topics are signed."""
        return any(cluster.signatures for cluster in self.by_name.values())

    @property
    def show_records(self) -> bool:
        """Whether the service may show records of some topics."""
        return any(cluster.show_records for cluster in self.by_name.values())

    def of(self, kafka: KafkaSpec) -> NamedCluster | None:
        """Return the cluster that a stream reads from; None if operators have not named it."""
        if kafka.bootstrap_servers is None:
            return self.by_name.get(kafka.cluster or DEFAULT_CLUSTER)
        return self.at(kafka.bootstrap_servers)

    def at(self, bootstrap_servers: str) -> NamedCluster | None:
        """Return the cluster with these servers, in any order; None if there is none."""
        requested = frozenset(bootstrap_servers.split(","))
        for cluster in self.by_name.values():
            if frozenset(cluster.bootstrap_servers.split(",")) == requested:
                return cluster
        return None

    def allows_address(self, bootstrap_servers: str) -> bool:
        """Return whether a stream may name these servers itself."""
        return all(
            any(fnmatchcase(server, pattern) for pattern in self.addresses)
            for server in bootstrap_servers.split(",")
        )

    def with_default(self, bootstrap_servers: str) -> "KafkaClusters":
        """Return these clusters with one more, `default`, on which all mirrors and all topics but internal ones are allowed.

        Raises:
            InvalidRequest: There is a cluster `default` already.
        """
        if DEFAULT_CLUSTER in self.by_name:
            message = f"the file of clusters has a cluster `{DEFAULT_CLUSTER}` already"
            raise InvalidRequest(message)
        cluster = NamedCluster(
            name=DEFAULT_CLUSTER,
            bootstrap_servers=bootstrap_servers,
            read=ANY,
            write=ANY,
            mirror_groups=ANY,
        )
        return replace(self, by_name={**self.by_name, DEFAULT_CLUSTER: cluster})


def is_server_list(text: str) -> bool:
    """Return whether a text is `host:port[,host:port]`.

    >>> [is_server_list(text) for text in ("a:1,b:2", "[::1]:9092", "a", ":1", "a:0", "a:1, b:1")]
    [True, True, False, False, False, False]
    """
    found = [_SERVER.fullmatch(server) for server in text.split(",")]
    return all(match and 0 < int(match.group(2)) <= _PORT_MAX for match in found)


def is_mirror_allowed(group: str, patterns: tuple[str, ...] = MIRROR_GROUPS) -> bool:
    """Return whether a position may be mirrored in a consumer group; without patterns, where no file says so."""
    return any(fnmatchcase(group, pattern) for pattern in patterns)


def _is_allowed(topic: str, patterns: tuple[str, ...]) -> bool:
    # `*` does not allow internal topics: only a pattern that names their prefix does.
    if topic.startswith(_INTERNAL):
        patterns = tuple(pattern for pattern in patterns if pattern.startswith(_INTERNAL))
    return any(fnmatchcase(topic, pattern) for pattern in patterns)
