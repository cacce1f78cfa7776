"""Reference page of the operators' file of Kafka clusters and schema registries."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from braid.formats.clusters.kafka_clusters import KafkaClusters, NamedCluster
from braid.formats.clusters.push_signatures import ENCODINGS, PushSignature
from braid.formats.clusters.stream_options import STREAM_OPTIONS
from braid.formats.schema_registry.named_registry import NamedSchemaRegistry
from braid.formats.schema_registry.registry_tables import (
    TIMEOUT_MS_MAX,
    TIMEOUT_MS_MIN,
    URLS_MAX,
)
from braid.schemas.field_texts import attribute_texts, class_text
from docs.generator.markdown import block, code, page, section, table

EXAMPLE: Final = """\
addresses = ["kafka-9:9092"]

[clusters.shop]
bootstrap_servers = "kafka-1:9092,kafka-2:9092"
read = ["shop.*"]
write = ["shop.*.dead-letters"]
push = ["shop.payments"]
show_records = ["shop.*"]
mirror_groups = ["braid.*"]
stream_options = ["fetch.max.wait.ms"]
jars = ["/opt/braid/login.jar"]

[clusters.shop.options]
"security.protocol" = "SASL_SSL"
"sasl.mechanism" = "PLAIN"
"sasl.jaas.config" = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="braid" password="${file:/run/secrets/kafka}";'

[[clusters.shop.signatures]]
topics = ["shop.payments"]
header = "x-hub-signature-256"
prefix = "sha256="
encoding = "hex"
secret = "${env:PAYMENTS_WEBHOOK_SECRET}"

[schema_registries.shop]
url = ["https://registry-1:8081", "https://registry-2:8081"]
username = "braid"
password = "${file:/run/secrets/registry}"
ca_file = "/etc/braid/registry-ca.pem"
timeout_ms = 5000
topics = ["shop.*"]
"""

NAMES_IN_FILE: Final = {"urls": "url", "by_name": "clusters"}
"""Fields of the file whose attribute has another name."""
_VALUES: Final = {
    "addresses": "list of patterns",
    "by_name": "tables `[clusters.<name>]`",
    "schema_registries": "tables `[schema_registries.<name>]`",
    "bootstrap_servers": "text",
    "options": "table of texts",
    "read": "list of patterns",
    "write": "list of patterns",
    "push": "list of patterns",
    "show_records": "list of patterns",
    "signatures": "tables `[[clusters.<name>.signatures]]`",
    "mirror_groups": "list of patterns",
    "stream_options": "list of " + ", ".join(map(code, STREAM_OPTIONS)),
    "token_provider": "text",
    "jars": "list of texts",
    "topics": "list of patterns",
    "header": "text: `a` to `z`, `0` to `9` and `-`, 1 to 80 characters",
    "secret": "reference",
    "prefix": "text",
    "encoding": ", ".join(map(code, ENCODINGS)),
    "urls": f"text, or list of 1 to {URLS_MAX} texts",
    "username": "text",
    "password": "reference",
    "token": "reference",
    "ca_file": "text",
    "timeout_ms": f"integer from {TIMEOUT_MS_MIN:,} to {TIMEOUT_MS_MAX:,}",
}


def cluster_file_page() -> str:
    """Return the page."""
    return page(
        "Cluster file",
        "The file of `braid service --clusters FILE` and `braid runner --clusters FILE`: TOML, UTF-8, 1 MiB at most, read "
        "once at the start. The guide is [Kafka clusters and schema registries](../../guides/kafka-clusters.md). A "
        "*pattern* is a name with `*`, `?` and `[a-z]`. A *reference* is `${env:NAME}` or `${file:/path}`; the value is read when "
        "it is needed. Names of clusters and registries have letters, digits, `-` and `_`, at most 80 characters.",
        _section("Top level", KafkaClusters),
        _section("`[clusters.<name>]`", NamedCluster),
        _section("`[[clusters.<name>.signatures]]`", PushSignature),
        _section("`[schema_registries.<name>]`", NamedSchemaRegistry),
        section("Example", block(EXAMPLE.rstrip("\n"), "toml")),
    )


def fields_in_file(described: type) -> dict[str, dataclasses.Field[Any]]:
    """Return the fields of a table of the file by their names there, without the table's own name."""
    fields = dataclasses.fields(described)
    return {NAMES_IN_FILE.get(one.name, one.name): one for one in fields if one.name != "name"}


def _section(title: str, described: type) -> str | None:
    texts: Mapping[str, str] = attribute_texts(described)
    rows = [
        (code(shown), _VALUES[field.name], _default(field), _without_none(texts[field.name]))
        for shown, field in fields_in_file(described).items()
    ]
    text = _without_none(class_text(described))
    return section(title, text, table(("field", "value", "default", "meaning"), rows))


def _without_none(text: str) -> str:
    return text.replace("None", "left out")


def _default(field: "dataclasses.Field[Any]") -> str:
    if field.default_factory is not dataclasses.MISSING:
        return "none"
    if field.default is dataclasses.MISSING:
        return "required"
    value = field.default
    if value == tuple(STREAM_OPTIONS):
        return "all"
    if isinstance(value, tuple):
        return ", ".join(map(code, value)) or "none"
    return "none" if value in (None, "") else code(str(value))
