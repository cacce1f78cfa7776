"""Clients by the credentials of their requests: bearer tokens, and refusals of those that are not valid."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final, Protocol

from braid.schemas import ProblemCode
from braid.service.principal import Principal

CREDENTIALS_MAX: Final = 8_192
"""Bytes of the header `authorization`."""

_SCHEME: Final = b"bearer "


class Refusal(Exception):
    """A request whose client is not known.

    Attributes:
        code: `unauthenticated`, or the problem why it cannot be known now.
        detail: What is wrong, without the credentials.
        error: The error of RFC 6750; None: the request has no bearer token, or it cannot be checked now.
    """

    def __init__(
        self,
        detail: str,
        *,
        code: ProblemCode = ProblemCode.UNAUTHENTICATED,
        error: str | None = "invalid_token",
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.error = error


class TokenKind(Protocol):
    """Clients with one kind of bearer token."""

    def takes(self, token: bytes) -> bool:
        """Return whether a token looks like one of this kind."""
        ...

    def known(self, token: bytes) -> Principal | None:
        """Return the bearer of a token without waiting; None: that needs more time, or the token is not valid."""
        ...

    async def found(self, token: bytes) -> Principal:
        """Return the bearer of a token, or wait until it is certain that there is none.

        Raises:
            Refusal: The token is not valid, or that cannot be known now.
        """
        ...

    async def follow(self) -> None:
        """Keep what `known` uses up to date, until this coroutine is cancelled."""
        ...

    def close(self) -> None:
        """End all threads."""
        ...


class Identities:
    """The clients of a service."""

    def __init__(self, kinds: Sequence[TokenKind]) -> None:
        """Know the bearers of some kinds of tokens; of several that take a token the first decides."""
        self._kinds = tuple(kinds)

    @asynccontextmanager
    async def followed(self) -> AsyncIterator[None]:
        """Keep what is known of clients up to date, until the context ends."""
        tasks = [asyncio.create_task(kind.follow()) for kind in self._kinds]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for kind in self._kinds:
                kind.close()

    def known(self, credentials: bytes) -> Principal | None:
        """Return the client without waiting, by the value of `authorization`; None: see `found`."""
        token = _token_of(credentials)
        if token is not None:
            for kind in self._kinds:
                if kind.takes(token):
                    return kind.known(token)
        return None

    async def found(self, credentials: bytes | None) -> Principal:
        """Return the client.

        Args:
            credentials: The value of `authorization`; None: the request has none.

        Raises:
            Refusal: The credentials are missing or not valid, or that cannot be known now.
        """
        if credentials is None:
            message = (
                "the request has no access token: send the header `authorization: Bearer TOKEN`"
            )
            raise Refusal(message, error=None)
        token = _token_of(credentials)
        if token is None:
            message = "the header `authorization` has no bearer token: send `Bearer`, a blank and the token, once"
            raise Refusal(message, error=None)
        for kind in self._kinds:
            if kind.takes(token):
                return await kind.found(token)
        message = "the header `authorization` has no access token of this service"
        raise Refusal(message)


def _token_of(credentials: bytes) -> bytes | None:
    if len(credentials) > CREDENTIALS_MAX or credentials[:7].lower() != _SCHEME:
        return None
    return credentials[7:].strip(b" ") or None
