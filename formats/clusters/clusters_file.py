"""Parser of the operators' file of Kafka clusters and schema registries: TOML, read once when a process starts.

```toml
[clusters.shop]
bootstrap_servers = "kafka-1:9092,kafka-2:9092"
read = ["shop.*"]
write = ["shop.*.dead-letters"]

[clusters.shop.options]
"security.protocol" = "SASL_SSL"
"sasl.mechanism" = "PLAIN"
"sasl.jaas.config" = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="braid" password="${file:/run/secrets/kafka}";'
```

The other fields of a cluster are `jars`, `mirror_groups`, `push`, `show_records`, `signatures`, `stream_options` and `token_provider` (`NamedCluster`). `addresses`
is a field at the top level of the file. `schema_registry/registry_tables` shows the table of a schema registry. This module
checks references to secrets, but does not resolve them.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from braid.formats.clusters.kafka_clusters import (
    ANY,
    DEAD_LETTERS,
    MIRROR_GROUPS,
    KafkaClusters,
    NamedCluster,
    is_server_list,
)
from braid.formats.clusters.push_signatures import push_signature, signature_problems
from braid.formats.clusters.secret_references import unusable_references
from braid.formats.clusters.stream_options import STREAM_OPTIONS
from braid.formats.kafka_security.security_rules import declared_problems
from braid.formats.schema_registry import registry_tables
from braid.formats.schema_registry.registry_tables import named_registry, registry_problems
from braid.lake import InvalidRequest, Problem

SIZE_MAX: Final = 1 << 20  # bytes

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
CLUSTER_FIELDS: Final = (
    "bootstrap_servers",
    "jars",
    "mirror_groups",
    "options",
    "push",
    "read",
    "show_records",
    "signatures",
    "stream_options",
    "token_provider",
    "write",
)
TOP_FIELDS: Final = ("addresses", "clusters", "schema_registries")
# The ingest job sets these options itself, and refuses a stream whose cluster sets one of them.
_SOURCE_OPTIONS: Final = (
    "auto.offset.reset",
    "bootstrap.servers",
    "enable.auto.commit",
    "group.id",
    "interceptor.classes",
    "isolation.level",
    "key.deserializer",
    "value.deserializer",
)


def load_clusters(path: Path) -> KafkaClusters:
    """Return the clusters of a file.

    Raises:
        InvalidRequest: The file cannot be read, is not TOML, or does not declare clusters as
            described above; `problems` has all locations.
    """
    try:
        with path.open("rb") as file:
            data = file.read(SIZE_MAX + 1)
    except OSError as error:
        message = f"{path}: the file of Kafka clusters cannot be read: {error.strerror}"
        raise InvalidRequest(message) from error
    if len(data) > SIZE_MAX:
        message = f"{path}: a file of Kafka clusters has at most {SIZE_MAX} bytes"
        raise InvalidRequest(message)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        message = f"{path}: the file of Kafka clusters is not UTF-8"
        raise InvalidRequest(message) from error
    return parse_clusters(text, source=str(path))


def parse_clusters(text: str, *, source: str) -> KafkaClusters:
    """Return the clusters of a file's text.

    Args:
        text: The text, TOML.
        source: Name of the file in messages.

    Raises:
        InvalidRequest: The text is not TOML, or does not declare clusters as described above; `problems` has
            all locations.
    """
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = f"{source}: {error}"
        raise InvalidRequest(message) from error
    problems = list(_problems(found))
    if problems:
        message = f"{source} is not a valid file of Kafka clusters"
        raise InvalidRequest(message, problems=problems)
    return KafkaClusters(
        by_name={name: _cluster(name, entry) for name, entry in found.get("clusters", {}).items()},
        schema_registries={
            name: named_registry(name, entry)
            for name, entry in found.get("schema_registries", {}).items()
        },
        addresses=tuple(found.get("addresses", ())),
    )


def _cluster(name: str, entry: Mapping[str, Any]) -> NamedCluster:
    return NamedCluster(
        name=name,
        bootstrap_servers=entry["bootstrap_servers"],
        options=dict(entry.get("options", {})),
        read=tuple(entry.get("read", ANY)),
        write=tuple(entry.get("write", DEAD_LETTERS)),
        push=tuple(entry.get("push", ())),
        show_records=tuple(entry.get("show_records", ())),
        signatures=tuple(map(push_signature, entry.get("signatures", ()))),
        mirror_groups=tuple(entry.get("mirror_groups", MIRROR_GROUPS)),
        stream_options=tuple(entry.get("stream_options", STREAM_OPTIONS)),
        token_provider=entry.get("token_provider"),
        jars=tuple(entry.get("jars", ())),
    )


def _problems(found: Mapping[str, Any]) -> Iterator[Problem]:
    yield from _unknown_fields(found, TOP_FIELDS, "")
    yield from _check_texts(found, "addresses", "")
    yield from _check_tables(found, "clusters", _check_cluster)
    yield from _check_tables(found, "schema_registries", _check_registry)


def _check_tables(
    found: Mapping[str, Any],
    kind: str,
    check: Callable[[Mapping[str, Any], str], Iterator[Problem]],
) -> Iterator[Problem]:
    tables = found.get(kind, {})
    if not isinstance(tables, dict):
        yield _expected(kind, tables, f"tables `[{kind}.<name>]`")
        return
    for name, entry in tables.items():
        path = f"{kind}.{name}"
        if not _NAME.fullmatch(name):
            expected = "letters, digits, `-` and `_`, at most 80 characters"
            yield _expected(path, name, expected)
        elif not isinstance(entry, dict):
            yield _expected(path, entry, f"a table `[{path}]`")
        else:
            yield from check(entry, f"{path}.")


def _check_registry(entry: Mapping[str, Any], prefix: str) -> Iterator[Problem]:
    yield from _unknown_fields(entry, registry_tables.FIELDS, prefix)
    yield from registry_problems(entry, prefix)


def _check_cluster(entry: Mapping[str, Any], prefix: str) -> Iterator[Problem]:
    yield from _unknown_fields(entry, CLUSTER_FIELDS, prefix)
    servers = entry.get("bootstrap_servers")
    if not isinstance(servers, str) or not is_server_list(servers):
        yield _expected(
            f"{prefix}bootstrap_servers", servers, "`host:port[,host:port]` without blanks"
        )
    for field in (
        "read",
        "write",
        "push",
        "show_records",
        "mirror_groups",
        "stream_options",
        "jars",
    ):
        yield from _check_texts(entry, field, prefix)
    yield from signature_problems(entry.get("signatures", []), prefix)
    jars = entry.get("jars", ())
    for jar in jars if isinstance(jars, list) else ():
        # The class path of a JVM is joined by `:`.
        if isinstance(jar, str) and (not jar.startswith("/") or ":" in jar):
            yield _expected(f"{prefix}jars", jar, "absolute paths without `:`")
    provider = entry.get("token_provider")
    if provider is not None and not (isinstance(provider, str) and _NAME.fullmatch(provider)):
        yield _expected(f"{prefix}token_provider", provider, "the name of an installed provider")
    names = entry.get("stream_options", ())
    for name in names if isinstance(names, list) else ():
        if isinstance(name, str) and name not in STREAM_OPTIONS:
            expected = f"one of {', '.join(STREAM_OPTIONS)}"
            yield _expected(f"{prefix}stream_options", name, expected)
    options = entry.get("options", {})
    if not isinstance(options, dict):
        yield _expected(f"{prefix}options", options, "a table of names and texts")
        return
    for name, value in options.items():
        yield from _check_option(f"{prefix}options.{name}", name, value)
    if all(isinstance(value, str) for value in options.values()):
        yield from declared_problems(
            options,
            prefix=f"{prefix}options.",
            token_provider=provider if isinstance(provider, str) else None,
        )


def _check_option(path: str, name: str, value: object) -> Iterator[Problem]:
    if not isinstance(value, str):
        # Only the value's type: the value may be a secret.
        yield _expected(path, type(value).__name__, "a text, in quotes")
        return
    for reference in unusable_references(value):
        yield _expected(path, reference, "`${env:NAME}` or `${file:/path}`")
    if name.startswith("kafka."):
        hint = f"Kafka's own name, `{name.removeprefix('kafka.')}`"
        yield _expected(path, name, hint)
    elif name in _SOURCE_OPTIONS:
        yield Problem(
            field=path,
            value=name,
            message="the ingest job sets this option itself",
            hint="use the field `bootstrap_servers`"
            if name == "bootstrap.servers"
            else "leave it out",
        )


def _unknown_fields(
    entry: Mapping[str, Any], known: tuple[str, ...], prefix: str
) -> Iterator[Problem]:
    for name in entry:
        if name not in known:
            yield Problem(
                field=f"{prefix}{name}",
                value=None,
                message="unknown field",
                hint=f"known fields: {', '.join(known)}",
            )


def _check_texts(entry: Mapping[str, Any], field: str, prefix: str) -> Iterator[Problem]:
    texts = entry.get(field, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) and text for text in texts):
        yield _expected(f"{prefix}{field}", texts, 'a list of texts, such as ["shop.*"]')


def _expected(field: str, value: object, expected: str) -> Problem:
    found = None if value is None else str(value)
    return Problem(field=field, value=found, message=f"expected {expected}", hint="fix the file")
