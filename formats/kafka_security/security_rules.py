"""Checks of a cluster's security options: refused names, values that cannot work, and options of SASL or TLS that are not used.

The options are checked twice. When a process reads the operators' file, secrets are still references, so rules that need a
secret are not checked. When a stream starts, the secrets are known and all rules are checked; `tls` reads the files of
certificates. With a token provider, the options of the login module are not checked.

| `sasl.mechanism` | login module of `sasl.jaas.config` | options of the module |
|---|---|---|
| `PLAIN` | `PlainLoginModule` | `username`, `password` |
| `SCRAM-SHA-256`, `SCRAM-SHA-512` | `ScramLoginModule` | `username`, `password` |
| `OAUTHBEARER` | `OAuthBearerLoginModule` | `clientId`, `clientSecret`, `scope`, `extension_...` |
| `AWS_MSK_IAM` | `IAMLoginModule` | none |
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlsplit

from braid.formats.clusters.secret_references import has_reference, is_reference
from braid.formats.kafka_security.jaas import JaasError, JaasLogin, parse_jaas
from braid.formats.kafka_security.known_options import APPLIED, is_of_security, refusal_hint
from braid.lake import Problem

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
TLS_VERSIONS: Final = ("TLSv1.2", "TLSv1.3")
TIMEOUT_MS_MIN: Final = 100
TIMEOUT_MS_MAX: Final = 10_000

_PROTOCOL: Final = "security.protocol"
_MECHANISM: Final = "sasl.mechanism"
_JAAS: Final = "sasl.jaas.config"
_CLIENT_HANDLER: Final = "sasl.client.callback.handler.class"
_LOGIN_HANDLER: Final = "sasl.login.callback.handler.class"
_ENDPOINT: Final = "sasl.oauthbearer.token.endpoint.url"
_URLENCODE: Final = "sasl.oauthbearer.header.urlencode"
_IDENTIFICATION: Final = "ssl.endpoint.identification.algorithm"

_MODULES: Final = {
    "PLAIN": "PlainLoginModule",
    "SCRAM-SHA-256": "ScramLoginModule",
    "SCRAM-SHA-512": "ScramLoginModule",
    "OAUTHBEARER": "OAuthBearerLoginModule",
    "AWS_MSK_IAM": "IAMLoginModule",
}
_NEEDED: Final = {
    "PlainLoginModule": ("username", "password"),
    "ScramLoginModule": ("username", "password"),
    "OAuthBearerLoginModule": ("clientId", "clientSecret"),
    "IAMLoginModule": (),
}
_ALLOWED: Final = {"OAuthBearerLoginModule": re.compile(r"scope|extension_[A-Za-z]+")}
_OAUTH_HANDLER: Final = (
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
)
_OAUTH_HANDLERS: Final = (
    _OAUTH_HANDLER,
    "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
)
_MSK_HANDLER: Final = "software.amazon.msk.auth.iam.IAMClientCallbackHandler"
_TIMEOUTS: Final = ("sasl.login.connect.timeout.ms", "sasl.login.read.timeout.ms")
# Their values may be references whose content shows only when a stream starts.
_OPAQUE: Final = (
    _JAAS,
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
)


def declared_problems(
    options: Mapping[str, str], *, prefix: str, token_provider: str | None = None
) -> Iterator[Problem]:
    """Yield the problems of options as the operators' file has them, references included.

    Args:
        options: Values by name, texts.
        prefix: What stands before an option's name in the problems' fields.
        token_provider: See `NamedCluster.token_provider`.
    """
    yield from _names(options, prefix)
    structure = {name: value for name, value in options.items() if name not in _OPAQUE}
    if not any(is_of_security(name) and has_reference(value) for name, value in structure.items()):
        yield from _Rules(options, prefix, token_provider).problems()


def resolved_problems(
    options: Mapping[str, str], *, prefix: str, token_provider: str | None = None
) -> Iterator[Problem]:
    """Yield the problems of options whose secrets are resolved; no problem has a part of a secret."""
    yield from _names(options, prefix)
    yield from _Rules(options, prefix, token_provider, is_resolved=True).problems()


def _names(options: Mapping[str, str], prefix: str) -> Iterator[Problem]:
    for name in options:
        hint = refusal_hint(name)
        if hint is not None:
            yield Problem(
                field=f"{prefix}{name}",
                value=None,
                message="not every Kafka client that Braid uses can apply this option",
                hint=hint,
            )


class _Rules:
    """The rules over the values of known options."""

    def __init__(
        self,
        options: Mapping[str, str],
        prefix: str,
        token_provider: str | None,
        *,
        is_resolved: bool = False,
    ) -> None:
        self._options = {name: value for name, value in options.items() if name in APPLIED}
        self._prefix = prefix
        self._token_provider = token_provider
        self._is_resolved = is_resolved

    def problems(self) -> Iterator[Problem]:
        """Yield the problems."""
        protocol = self._options.get(_PROTOCOL, "PLAINTEXT").upper()
        if protocol not in PROTOCOLS:
            yield self._expected(_PROTOCOL, f"one of {', '.join(PROTOCOLS)}")
            return
        for is_used, family in (("SASL" in protocol, "sasl."), ("SSL" in protocol, "ssl.")):
            if not is_used:
                yield from self._unused(family, protocol)
        if "SASL" in protocol:
            yield from self._login(protocol)
        elif self._token_provider is not None:
            message = f"`token_provider` has no effect, because `{_PROTOCOL}` is `{protocol}`"
            yield self._problem(_PROTOCOL, message, hint="set it to `SASL_SSL`")
        if protocol.endswith("SSL"):
            yield from self._tls()

    def _unused(self, family: str, protocol: str) -> Iterator[Problem]:
        for name in self._options:
            if name.startswith(family):
                right = "SASL_SSL" if family == "sasl." else "SSL` or `SASL_SSL"
                hint = f"set `{_PROTOCOL}` to `{right}`, or leave the option out"
                message = f"the option has no effect, because `{_PROTOCOL}` is `{protocol}`"
                yield self._problem(name, message, hint=hint)

    def _login(self, protocol: str) -> Iterator[Problem]:
        mechanism = self._options.get(_MECHANISM)
        if mechanism not in _MODULES:
            yield self._expected(_MECHANISM, f"one of {', '.join(_MODULES)}")
            return
        yield from self._jaas(mechanism)
        yield from self._handlers(mechanism)
        if mechanism == "OAUTHBEARER":
            yield from self._token_endpoint()
        elif self._token_provider is not None:
            message = f"`token_provider` is for OAUTHBEARER, and the mechanism is {mechanism}"
            yield self._problem(_MECHANISM, message, hint="leave `token_provider` out")
        if mechanism == "AWS_MSK_IAM" and protocol != "SASL_SSL":
            yield self._problem(
                _PROTOCOL, "AWS_MSK_IAM needs TLS", hint=f'set `{_PROTOCOL}` to "SASL_SSL"'
            )

    def _jaas(self, mechanism: str) -> Iterator[Problem]:
        text = self._options.get(_JAAS)
        module = _MODULES[mechanism]
        if text is None:
            needed = " ".join(f'{name}="..."' for name in _NEEDED[module])
            hint = f"add a login with `{module} required {needed};`"
            yield self._problem(_JAAS, f"the option is missing; {mechanism} needs it", hint=hint)
            return
        if is_reference(text) and not self._is_resolved:
            return
        try:
            login = parse_jaas(text)
        except JaasError as error:
            yield self._problem(
                _JAAS, f"the text is not a login: {error}", hint="see the guide to Kafka clusters"
            )
            return
        if login.module_name != module:
            message = f"{mechanism} needs the login module {module}"
            yield self._problem(_JAAS, message, hint="correct the module or the mechanism")
        elif self._token_provider is None:
            yield from self._login_options(login)

    def _login_options(self, login: JaasLogin) -> Iterator[Problem]:
        needed = _NEEDED[login.module_name]
        for name in needed:
            if not login.options.get(name):
                message = f"the login lacks `{name}`"
                yield self._problem(_JAAS, message, hint=f'add {name}="..."')
        allowed = _ALLOWED.get(login.module_name)
        for name in login.options:
            if name not in needed and not (allowed and allowed.fullmatch(name)):
                # Not the name: in a login with a missing quote it may be a part of the password.
                known = ", ".join(needed) or "none"
                message = "the login has an option that not every client can apply"
                yield self._problem(_JAAS, message, hint=f"options of the module: {known}")
                return

    def _handlers(self, mechanism: str) -> Iterator[Problem]:
        expected = {
            "OAUTHBEARER": (_LOGIN_HANDLER, _OAUTH_HANDLERS),
            "AWS_MSK_IAM": (_CLIENT_HANDLER, (_MSK_HANDLER,)),
        }.get(mechanism)
        for name in (_CLIENT_HANDLER, _LOGIN_HANDLER):
            found = self._options.get(name)
            if expected is not None and name == expected[0]:
                if self._token_provider is not None:
                    if found is None:
                        message = (
                            "the option is missing; Spark's client needs the class that gets tokens"
                        )
                        yield self._problem(name, message, hint="add it, and its archive to `jars`")
                elif found not in expected[1]:
                    yield self._expected(name, expected[1][0])
            elif found is not None:
                yield self._problem(
                    name,
                    f"a Java class cannot run in a Python client with {mechanism}",
                    hint="leave it out",
                )

    def _token_endpoint(self) -> Iterator[Problem]:
        url = self._options.get(_ENDPOINT)
        if url is None:
            if self._token_provider is None:
                hint = "give the address of the authorization server's token endpoint"
                yield self._problem(_ENDPOINT, "OAUTHBEARER needs this option", hint=hint)
        elif not _is_endpoint(url):
            yield self._problem(
                _ENDPOINT,
                "expected an `http://` or `https://` address without login and fragment",
                hint="a file of tokens is not supported",
            )
        if self._options.get(_URLENCODE, "false").lower() not in ("true", "false"):
            yield self._expected(_URLENCODE, "`true` or `false`")
        for name in _TIMEOUTS:
            value = self._options.get(name, str(TIMEOUT_MS_MAX))
            is_number = value.isascii() and value.isdigit() and len(value) < 10
            if not is_number or not TIMEOUT_MS_MIN <= int(value) <= TIMEOUT_MS_MAX:
                yield self._expected(name, f"{TIMEOUT_MS_MIN} to {TIMEOUT_MS_MAX} milliseconds")

    def _tls(self) -> Iterator[Problem]:
        yield from self._store("truststore", ("certificates",))
        yield from self._store("keystore", ("key", "certificate.chain"))
        if "ssl.key.password" in self._options and not self._has("keystore"):
            hint = "add `ssl.keystore.*`, or leave the password out"
            yield self._problem(
                "ssl.key.password", "the option has no effect without a key", hint=hint
            )
        if self._options.get(_IDENTIFICATION, "https").lower() not in ("", "https"):
            yield self._expected(_IDENTIFICATION, '`https`, or `""` to accept any host name')
        if self._options.get("ssl.protocol", "TLS") not in ("TLS", "TLSv1.3"):
            yield self._expected(
                "ssl.protocol", "`TLSv1.3`; limit versions by `ssl.enabled.protocols`"
            )
        versions = self._options.get("ssl.enabled.protocols", TLS_VERSIONS[0]).split(",")
        if not {version.strip() for version in versions} <= set(TLS_VERSIONS):
            yield self._expected("ssl.enabled.protocols", ",".join(TLS_VERSIONS))

    def _store(self, store: str, inline: tuple[str, ...]) -> Iterator[Problem]:
        if not self._has(store):
            return
        type_name, location = f"ssl.{store}.type", f"ssl.{store}.location"
        if self._options.get(type_name, "").upper() != "PEM":
            yield self._expected(type_name, "`PEM`, the one type that all clients read")
        found = [part for part in inline if f"ssl.{store}.{part}" in self._options]
        is_file = location in self._options
        if is_file == bool(found) or (found and len(found) < len(inline)):
            texts = " and ".join(f"`ssl.{store}.{part}`" for part in inline)
            message = f"expected either this option, which names a file, or {texts}"
            yield self._problem(location, message, hint="give one of them")

    def _has(self, store: str) -> bool:
        return any(name.startswith(f"ssl.{store}.") for name in self._options)

    def _expected(self, name: str, expected: str) -> Problem:
        return Problem(
            field=f"{self._prefix}{name}",
            # A value may have been a reference, perhaps to another secret than the one that was meant.
            value=None if self._is_resolved else self._options.get(name),
            message=f"expected {expected}",
            hint="correct the option",
        )

    def _problem(self, name: str, message: str, *, hint: str) -> Problem:
        return Problem(field=f"{self._prefix}{name}", value=None, message=message, hint=hint)


def _is_endpoint(url: str) -> bool:
    try:
        parts = urlsplit(url)
        has_port = parts.port != 0
    except ValueError:
        return False
    is_plain = url.isascii() and url.isprintable() and " " not in url
    return bool(
        is_plain
        and has_port
        and parts.scheme in ("http", "https")
        and parts.hostname
        and parts.username is None
        and not parts.fragment
    )
