"""Clients with an access token of the warehouse.

A process has a view of all tokens, which it loads again every two seconds: a revoked token is refused after that. A request whose
token is not in the view waits for a newer view, so a token is valid as soon as it is made. While storage does not
answer, the tokens of the view are valid for ten more minutes; others are answered 503, because they may be valid.
"""

import hmac
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from braid.lake import Clock, LakeError
from braid.registry.store.access_tokens import (
    PREFIX,
    AccessTokens,
    StoredTokens,
    token_digest,
    token_id,
)
from braid.schemas import ProblemCode
from braid.schemas.access import AccessToken
from braid.service.access.identities import Refusal
from braid.service.access.refreshed import Refreshed, RefreshTimes
from braid.service.principal import Principal
from braid.service.times import iso_utc

TIMES: Final = RefreshTimes(every_s=2.0, pause_s=0.25, wait_s=2.0, kept_s=600.0)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Bearer:
    token: AccessToken
    digest: bytes
    principal: Principal


class TokenIdentities:
    """The bearers of access tokens. Close it at the end."""

    def __init__(self, tokens: AccessTokens, clock: Clock, *, times: RefreshTimes = TIMES) -> None:
        """Load nothing yet.

        Args:
            tokens: The tokens of the warehouse.
            clock: Tells which tokens have expired.
            times: When the tokens are loaded.
        """
        self._tokens = tokens
        self._clock = clock
        self._stored: StoredTokens | None = None
        self._bearers: Mapping[bytes, _Bearer] = {}
        self._view = Refreshed(
            self._load, name="access tokens", times=times, errors=(LakeError, OSError)
        )

    def takes(self, token: bytes) -> bool:
        """Return whether a token begins as those of this service."""
        return token.startswith(PREFIX)

    def known(self, token: bytes) -> Principal | None:
        """Return the bearer of a token of the view that has not expired."""
        view = self._view.current()
        bearer = None if view is None else _bearer_of(token, view)
        if bearer is None or self._has_expired(bearer.token):
            return None
        return bearer.principal

    async def found(self, token: bytes) -> Principal:
        """Return the bearer of a token, in a newer view if the present one does not have it.

        Raises:
            Refusal: The token is not valid, or that cannot be known now.
        """
        view = self._view.current()
        bearer = None if view is None else _bearer_of(token, view)
        if bearer is None:
            view = await self._view.newer()
            if view is None:
                message = (
                    "storage does not answer, so it is not known whether the access token is valid"
                )
                raise Refusal(message, code=ProblemCode.STORAGE_UNAVAILABLE, error=None)
            bearer = _bearer_of(token, view)
        if bearer is None:
            message = "the access token is not valid: it is misspelt, or was revoked"
            raise Refusal(message)
        if self._has_expired(bearer.token):
            expired_ms = bearer.token.expires_ms
            assert expired_ms is not None
            message = f"the access token `{bearer.token.name}` has expired at {iso_utc(expired_ms)}"
            raise Refusal(message)
        return bearer.principal

    async def follow(self) -> None:
        """Load the tokens again and again, until this coroutine is cancelled."""
        await self._view.follow()

    def close(self) -> None:
        """End the thread that loads the tokens."""
        self._view.close()

    def _has_expired(self, token: AccessToken) -> bool:
        return token.expires_ms is not None and token.expires_ms <= self._clock.now_ms()

    def _load(self) -> Mapping[bytes, _Bearer]:
        stored = self._tokens.stored()
        # Principals remember what they may do: those of an unchanged document are kept. Its version does not tell it: a
        # document that was restored from a backup may have the version of the one that it replaces.
        if stored != self._stored:
            if stored.unreadable:
                names = ", ".join(stored.unreadable[:10])
                logger.warning("access tokens of a newer version are refused: %s", names)
            if not stored.tokens:
                logger.warning("the warehouse has no access tokens: `braid token create` makes one")
            self._bearers = {token.id.encode(): _bearer(token) for token in stored.tokens}
            self._stored = stored
        return self._bearers


def _bearer(token: AccessToken) -> _Bearer:
    return _Bearer(token, bytes.fromhex(token.digest), Principal(token.name, token.grants))


def _bearer_of(token: bytes, view: Mapping[bytes, _Bearer]) -> _Bearer | None:
    bearer = view.get(token_id(token))
    if bearer is None or not hmac.compare_digest(bearer.digest, token_digest(token)):
        return None
    return bearer
