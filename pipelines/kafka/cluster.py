"""Kafka cluster: its address and options, in the terms of each client library.

Declarations use the names of Kafka's own (Java) clients. Spark accepts them as they are; for kafka-python
the options of transport and authentication are translated, and all other options do not apply.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_JAAS_VALUE = re.compile(r'\b(\w+)="((?:[^"\\]|\\.)*)"')
_TRANSLATED = {
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "client.id": "client_id",
}
# PEM stores are the one form that Java and Python clients both read.
_PEM_FILES = {"ssl.truststore": "ssl_cafile", "ssl.keystore": "ssl_certfile"}


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaCluster:
    """A Kafka cluster and how to log in there.

    Attributes:
        bootstrap_servers: `host:port[,host:port]`.
        options: Client options by Kafka's own names, with secrets resolved; never shown.
    """

    bootstrap_servers: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def spark_options(self) -> dict[str, str]:
        """Options of Spark's Kafka source."""
        named = {f"kafka.{name}": value for name, value in self.options.items()}
        return {**named, "kafka.bootstrap.servers": self.bootstrap_servers}

    @property
    def client_options(self) -> dict[str, Any]:
        """Keyword arguments of kafka-python's clients."""
        found: dict[str, Any] = {"bootstrap_servers": self.bootstrap_servers.split(",")}
        for name, value in self.options.items():
            if name in _TRANSLATED:
                found[_TRANSLATED[name]] = value
        for prefix, argument in _PEM_FILES.items():
            if self.options.get(f"{prefix}.type", "").upper() == "PEM":
                found[argument] = self.options.get(f"{prefix}.location")
        jaas = dict(_JAAS_VALUE.findall(self.options.get("sasl.jaas.config", "")))
        if "username" in jaas:
            found["sasl_plain_username"] = jaas["username"]
            found["sasl_plain_password"] = jaas.get("password", "")
        return found
