"""Kafka cluster: its address and options, in the terms of each client library.

Options have the names that Kafka's own (Java) clients use. Spark gets them unchanged. For kafka-python the security options
are translated (`formats.kafka_security`), and an option that cannot be translated is refused. All other options, such as
fetch sizes, apply to Spark's consumer alone, except `client.id`, which applies to all clients.
"""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from braid.formats.kafka_security.client_security import (
    ClientSecurity,
    PasswordLogin,
    TokenLogin,
    plan_security,
)
from braid.formats.kafka_security.tls import build_tls_context
from braid.formats.kafka_security.token_source import TokenSource
from braid.lake import InvalidRequest, Problem
from braid.pipelines.kafka.bearer_tokens import BearerTokens, endpoint_tokens, provided_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaCluster:
    """A Kafka cluster and how to log in there.

    Attributes:
        bootstrap_servers: `host:port[,host:port]`.
        options: Client options by Kafka's own names, with secrets resolved; never shown.
        token_provider: Name of the installed provider of tokens; None: see `TokenLogin.endpoint`.
    """

    bootstrap_servers: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    token_provider: str | None = None

    @property
    def spark_options(self) -> dict[str, str]:
        """Options of Spark's Kafka source."""
        named = {f"kafka.{name}": value for name, value in self.options.items()}
        return {**named, "kafka.bootstrap.servers": self.bootstrap_servers}

    @property
    def security(self) -> ClientSecurity:
        """What the options of security mean.

        Raises:
            InvalidRequest: They cannot be applied by every client.
        """
        return plan_security(self.options, token_provider=self.token_provider)

    @property
    def client_options(self) -> dict[str, Any]:
        """Keyword arguments of kafka-python's clients; reads the files of certificates.

        Raises:
            InvalidRequest: The options of security cannot be applied, or a file cannot be used.
        """
        security = self.security
        found: dict[str, Any] = {"bootstrap_servers": self.bootstrap_servers.split(",")}
        if "client.id" in self.options:
            found["client_id"] = self.options["client.id"]
        if security.protocol != "PLAINTEXT":
            found["security_protocol"] = security.protocol
        if security.tls is not None:
            found["ssl_context"] = build_tls_context(security.tls)
        if security.mechanism is not None:
            found["sasl_mechanism"] = security.mechanism
        if isinstance(security.login, PasswordLogin):
            found["sasl_plain_username"] = _sent_username(security, security.login)
            found["sasl_plain_password"] = security.login.password
        source = self.token_source
        if isinstance(security.login, TokenLogin) and source is not None:
            tokens = BearerTokens(source, security.login.extensions)
            found["sasl_oauth_token_provider"] = tokens
        return found

    @property
    def token_source(self) -> TokenSource | None:
        """The source of tokens; None where the login has none.

        Raises:
            InvalidRequest: The provider is not installed.
        """
        login = self.security.login
        if not isinstance(login, TokenLogin):
            return None
        if login.endpoint is not None:
            return endpoint_tokens(login.endpoint)
        assert self.token_provider is not None, "tokens have one of the two sources"
        return provided_tokens(self.token_provider)

    def check_security(self, *, prefix: str) -> None:
        """Check everything of the login that can be checked without the cluster.

        Args:
            prefix: What stands before an option's name in the problems' fields.

        Raises:
            InvalidRequest: An option, a file or a package cannot be used; `problems` names it.
        """
        found = plan_security(self.options, prefix=prefix, token_provider=self.token_provider)
        if found.tls is not None:
            build_tls_context(found.tls, prefix=prefix)
        if found.mechanism == "AWS_MSK_IAM" and importlib.util.find_spec("botocore") is None:
            problem = Problem(
                field=f"{prefix}sasl.mechanism",
                value=found.mechanism,
                message="the Python package `botocore`, which signs the login, is not installed",
                hint="install `botocore` where the runner is installed",
            )
            message = "the security of the Kafka cluster cannot be applied"
            raise InvalidRequest(message, problems=[problem])
        _ = self.token_source


def _sent_username(security: ClientSecurity, login: PasswordLogin) -> str:
    """Return a user name as the mechanism sends it: SCRAM's messages are lists of `name=value`."""
    if security.mechanism == "PLAIN":
        return login.username
    return login.username.replace("=", "=3D").replace(",", "=2C")
