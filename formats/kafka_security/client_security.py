"""Security settings of a Kafka client, derived from the options of a cluster, in a form that does not depend on the client library."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote_plus

from braid.formats.kafka_security.jaas import JaasLogin, parse_jaas
from braid.formats.kafka_security.security_rules import TLS_VERSIONS, resolved_problems
from braid.formats.kafka_security.tls import TlsSettings
from braid.formats.kafka_security.token_endpoint import TokenEndpoint
from braid.lake import InvalidRequest

# Less than a third of a runner's lease, in which a supervisor that waits for a cluster renews it.
_TIMEOUT_MS: Final = 4_000
_EXTENSION: Final = "extension_"


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordLogin:
    """A login with a name and a password (PLAIN and SCRAM)."""

    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLogin:
    """A login with a token (OAUTHBEARER).

    Attributes:
        endpoint: Where tokens come from; None: from the cluster's token provider.
        extensions: SASL extensions that are sent with a token, by name.
    """

    endpoint: TokenEndpoint | None
    extensions: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSecurity:
    """The security of a client.

    Attributes:
        protocol: One of `PROTOCOLS`.
        mechanism: SASL's mechanism; None without a login.
        login: The login; None where there is none, or where it comes from the machine (AWS_MSK_IAM).
        tls: TLS; None where connections are not encrypted.
    """

    protocol: str
    mechanism: str | None = None
    login: PasswordLogin | TokenLogin | None = None
    tls: TlsSettings | None = None

    @property
    def name(self) -> str:
        """The protocol and the mechanism, for messages.

        >>> ClientSecurity(protocol="SASL_SSL", mechanism="PLAIN").name
        'SASL_SSL with PLAIN'
        """
        if self.mechanism is None:
            return self.protocol
        return f"{self.protocol} with {self.mechanism}"


def plan_security(
    options: Mapping[str, str], *, prefix: str = "", token_provider: str | None = None
) -> ClientSecurity:
    """Return what a cluster's options mean.

    Args:
        options: Values by the names of Kafka's Java clients, with their secrets.
        prefix: What stands before an option's name in the problems' fields.
        token_provider: See `NamedCluster.token_provider`.

    Raises:
        InvalidRequest: The options have problems (`security_rules`); none of them shows a secret.
    """
    found = list(resolved_problems(options, prefix=prefix, token_provider=token_provider))
    if found:
        message = "the security of the Kafka cluster cannot be applied"
        raise InvalidRequest(message, problems=found)
    protocol = options.get("security.protocol", "PLAINTEXT").upper()
    mechanism = options["sasl.mechanism"] if "SASL" in protocol else None
    return ClientSecurity(
        protocol=protocol,
        mechanism=mechanism,
        login=None if mechanism is None else _login(mechanism, options, token_provider),
        tls=_tls(options) if protocol.endswith("SSL") else None,
    )


def _login(
    mechanism: str, options: Mapping[str, str], token_provider: str | None
) -> PasswordLogin | TokenLogin | None:
    jaas = parse_jaas(options["sasl.jaas.config"])
    if mechanism == "AWS_MSK_IAM":
        return None
    if mechanism != "OAUTHBEARER":
        return PasswordLogin(username=jaas.options["username"], password=jaas.options["password"])
    extensions = {
        name.removeprefix(_EXTENSION): value
        for name, value in jaas.options.items()
        if name.startswith(_EXTENSION)
    }
    endpoint = None if token_provider is not None else _endpoint(jaas, options)
    return TokenLogin(endpoint=endpoint, extensions=extensions)


def _endpoint(jaas: JaasLogin, options: Mapping[str, str]) -> TokenEndpoint:
    client_id, client_secret = jaas.options["clientId"], jaas.options["clientSecret"]
    if options.get("sasl.oauthbearer.header.urlencode", "false").lower() == "true":
        client_id, client_secret = quote_plus(client_id), quote_plus(client_secret)
    return TokenEndpoint(
        url=options["sasl.oauthbearer.token.endpoint.url"],
        client_id=client_id,
        client_secret=client_secret,
        scope=jaas.options.get("scope"),
        timeout_ms=max(
            int(options.get(name, _TIMEOUT_MS))
            for name in ("sasl.login.connect.timeout.ms", "sasl.login.read.timeout.ms")
        ),
    )


def _tls(options: Mapping[str, str]) -> TlsSettings:
    enabled = options.get("ssl.enabled.protocols", ",".join(TLS_VERSIONS)).split(",")
    versions = [version for version in TLS_VERSIONS if version in map(str.strip, enabled)]
    return TlsSettings(
        authorities_file=options.get("ssl.truststore.location"),
        authorities=options.get("ssl.truststore.certificates"),
        identity_file=options.get("ssl.keystore.location"),
        key=options.get("ssl.keystore.key"),
        certificate_chain=options.get("ssl.keystore.certificate.chain"),
        key_password=options.get("ssl.key.password"),
        checks_host=options.get("ssl.endpoint.identification.algorithm", "https") != "",
        version_min=versions[0],
        version_max=versions[-1],
    )
