"""Tokens of OAUTHBEARER for kafka-python's clients: from a token endpoint, or from an installed provider.

Clients of a process with the same login share one token.

A provider is a function that a package names in the entry-point group `braid.kafka_token_providers`. It has no arguments,
and returns a token and its lifetime in seconds.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Final

from kafka.errors import SaslAuthenticationFailedError
from kafka.net.sasl.oauth import AbstractTokenProvider

from braid.formats.kafka_security.token_endpoint import EndpointClient, TokenEndpoint
from braid.formats.kafka_security.token_source import IssuedToken, TokenSource
from braid.lake import InvalidRequest, Problem, StorageUnavailable

GROUP: Final = "braid.kafka_token_providers"
_SOURCES_MAX: Final = 64


class BearerTokens:
    """What kafka-python asks for a token when it logs in."""

    def __init__(self, source: TokenSource, extensions: Mapping[str, str]) -> None:
        self._source = source
        self._extensions = dict(extensions)

    def token(self) -> str:
        """Return the current token.

        Raises:
            SaslAuthenticationFailedError: There is none; the client reports this error, while it would
                hide another one behind a timeout.
        """
        try:
            return self._source.token()
        except StorageUnavailable as error:
            raise SaslAuthenticationFailedError(str(error)) from error

    def extensions(self) -> dict[str, str]:
        """Return the SASL extensions that are sent with the token."""
        return self._extensions


# The base class has no types, so it cannot be inherited from; the client asks `isinstance` only.
AbstractTokenProvider.register(BearerTokens)


@lru_cache(maxsize=_SOURCES_MAX)
def endpoint_tokens(endpoint: TokenEndpoint) -> TokenSource:
    """Return this process's source of the tokens of an endpoint."""
    return TokenSource(EndpointClient(endpoint).ask)


@lru_cache(maxsize=_SOURCES_MAX)
def provided_tokens(name: str) -> TokenSource:
    """Return this process's source of the tokens of an installed provider.

    Raises:
        InvalidRequest: No installed package has a provider of this name, or it cannot be loaded.
    """
    found = list(entry_points(group=GROUP, name=name))
    if not found:
        raise _refusal(name, f"no installed package declares it in the entry-point group `{GROUP}`")
    try:
        provide = found[0].load()
    except (ImportError, AttributeError) as error:
        raise _refusal(name, f"it cannot be loaded: {error}") from error
    return TokenSource(lambda: _issue(name, provide))


def _issue(name: str, provide: Callable[[], tuple[str, float]]) -> IssuedToken:
    try:
        text, life_s = provide()
    except OSError as error:
        message = f"no token for OAUTHBEARER: the provider `{name}` failed: {error}"
        raise StorageUnavailable(message) from error
    return IssuedToken(text=text, life_s=life_s)


def _refusal(name: str, reason: str) -> InvalidRequest:
    problem = Problem(
        field="token_provider",
        value=name,
        message=reason,
        hint="install the package where the runner is installed",
    )
    message = "the provider of tokens cannot be used"
    return InvalidRequest(message, problems=[problem])
