"""Names of Kafka's security options: the options that may be declared, and a hint for each option that is refused.

A stream reads its topic with Kafka's Java client, inside Spark. Everything else, such as offsets, dead letters and backfills,
uses a Python client. An option is accepted if both clients apply it (`APPLIED`). A few options that only the Java client applies
are accepted because they do not change the security: when it renews a login, how it retries, and the names of two claims of a
token. Every other security option is refused. Options that do not concern security are not checked here.
"""

from typing import Final

_PREFIXES: Final = ("sasl.", "security.", "ssl.")

APPLIED: Final = (
    "sasl.client.callback.handler.class",
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.connect.timeout.ms",
    "sasl.login.read.timeout.ms",
    "sasl.mechanism",
    "sasl.oauthbearer.header.urlencode",
    "sasl.oauthbearer.token.endpoint.url",
    "security.protocol",
    "ssl.enabled.protocols",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.type",
    "ssl.protocol",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.type",
)
"""Options that both clients apply."""

_OF_JAVA: Final = (
    # When Java's client renews a login, and how it retries; Python's client logs in anew for each connection.
    "sasl.login.refresh.buffer.seconds",
    "sasl.login.refresh.min.period.seconds",
    "sasl.login.refresh.window.factor",
    "sasl.login.refresh.window.jitter",
    "sasl.login.retry.backoff.max.ms",
    "sasl.login.retry.backoff.ms",
    # Names of claims that Java's client looks at in a token before it sends it.
    "sasl.oauthbearer.scope.claim.name",
    "sasl.oauthbearer.sub.claim.name",
)

_PEM: Final = (
    "use PEM, which all clients read: `keytool -exportcert -rfc` writes a certificate, "
    "`openssl pkcs12 -nodes` a key; then leave the password of the store out"
)
_HINTS: Final = {
    "sasl.kerberos.": "Kerberos (GSSAPI) is not supported: use SCRAM, OAUTHBEARER or client certificates",
    "sasl.login.class": "a Java class cannot run in a Python client: leave it out",
    "ssl.cipher.suites": "limit the suites on the brokers, or use `ssl.enabled.protocols`",
    "ssl.engine.factory.class": "a Java class cannot run in a Python client: use PEM certificates",
    "ssl.keystore.password": _PEM,
    "ssl.truststore.password": _PEM,
}


def is_of_security(name: str) -> bool:
    """Return whether an option concerns security."""
    return name.startswith(_PREFIXES)


def refusal_hint(name: str) -> str | None:
    """Return what to do about an option of security that is refused; None: it is accepted, or of another subject.

    >>> refusal_hint("ssl.truststore.type"), refusal_hint("ssl.provider")
    (None, 'leave it out, or correct its name')
    """
    if not is_of_security(name) or name in APPLIED or name in _OF_JAVA:
        return None
    hints = (hint for prefix, hint in _HINTS.items() if name.startswith(prefix))
    return next(hints, "leave it out, or correct its name")
