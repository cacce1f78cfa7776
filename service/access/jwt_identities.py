"""Clients with a JSON Web Token of an issuer that the operators trust.

```
token ──► issuer, by its claim `iss` ──► key, by `kid` ──► signature, audience, times ──► grants of its claims
```

The keys of an issuer are loaded again every five minutes, and for a token with an unknown `kid` once more, but at most once
in thirty seconds. While the issuer does not answer, the keys that are known are used for a day.
"""

import asyncio
import hashlib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jwt
from jwt.types import Options

from braid.lake import Clock
from braid.schemas import ProblemCode
from braid.service.access.identities import Refusal
from braid.service.access.refreshed import Refreshed, RefreshTimes
from braid.service.access.signing_keys import (
    KeysUnavailable,
    SigningKey,
    SigningKeys,
    load_keys,
)
from braid.service.issuers import Issuer
from braid.service.principal import Principal

TIMES: Final = RefreshTimes(every_s=300.0, pause_s=0.25, wait_s=6.0, kept_s=86_400.0)
UNKNOWN_KEY_PAUSE_S: Final = 30.0
"""Age of the keys from which on an unknown `kid` lets them be loaded again."""

_KNOWN_MAX: Final = 1_000  # tokens whose bearers are remembered
_PARTS: Final = 3
_SUBJECT: Final = re.compile(r"[^\s\x00-\x1f\x7f]{1,200}")  # safe in a line of a log

# What the library raises, the reader of JSON for deep nesting included.
_NOT_VALID: Final = (jwt.PyJWTError, ValueError, OverflowError, RecursionError)

# Times are compared with the service's clock, in this module.
_OPTIONS: Final[Options] = {
    "require": ["exp", "iss", "aud"],
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
    "enforce_minimum_key_length": True,
}


@dataclass(frozen=True, slots=True)
class _Known:
    principal: Principal
    end_s: float
    keys: SigningKeys


class _TrustedIssuer:
    def __init__(
        self, issuer: Issuer, load: Callable[[Issuer], SigningKeys], times: RefreshTimes
    ) -> None:
        self.issuer = issuer
        self.keys = Refreshed(
            lambda: load(issuer),
            name=f"keys of issuer {issuer.name}",
            times=times,
            errors=(KeysUnavailable,),
        )

    async def key_of(self, head: Mapping[str, Any]) -> tuple[SigningKey, SigningKeys]:
        """Return the key that a token names, and the set that it is from."""
        keys = self.keys.current()
        found = None if keys is None else _named(keys, head)
        if found is None:
            keys = await self.keys.newer(age_s=UNKNOWN_KEY_PAUSE_S)
            if keys is None:
                message = f"the keys of issuer `{self.issuer.name}` are not available, so it is not known whether the token is valid"
                raise Refusal(message, code=ProblemCode.NOT_READY, error=None)
            found = _named(keys, head)
        if found is None or keys is None:
            message = f"issuer `{self.issuer.name}` has no key of the id and the algorithm that the token names"
            raise Refusal(message)
        return found, keys


class JwtIdentities:
    """The bearers of issuers' tokens. Close it at the end."""

    def __init__(
        self,
        issuers: Sequence[Issuer],
        clock: Clock,
        *,
        load: Callable[[Issuer], SigningKeys] = load_keys,
        times: RefreshTimes = TIMES,
    ) -> None:
        """Load no keys yet.

        Args:
            issuers: The issuers; no two have one claim `iss`.
            clock: Tells which tokens are not valid yet, or not any more.
            load: Returns the keys of an issuer.
            times: When keys are loaded.
        """
        self._clock = clock
        self._issuers = {one.issuer: _TrustedIssuer(one, load, times) for one in issuers}
        self._known: dict[bytes, _Known] = {}

    def takes(self, token: bytes) -> bool:
        """Return whether a token has the three parts of a JSON Web Token."""
        return token.count(b".") == _PARTS - 1

    def known(self, token: bytes) -> Principal | None:
        """Return the bearer of a token that was found before, while its time lasts and its key is in use."""
        known = self._known.get(_digest(token))
        if known is None or known.end_s <= self._clock.now_ms() / 1_000:
            return None
        issuers = self._issuers.values()
        return known.principal if any(one.keys.current() is known.keys for one in issuers) else None

    async def found(self, token: bytes) -> Principal:
        """Return the bearer of a token.

        Raises:
            Refusal: The token is not valid, or that cannot be known now.
        """
        try:
            head = jwt.get_unverified_header(token)
            claimed = jwt.decode(token, options={"verify_signature": False})
        except _NOT_VALID as error:
            message = "the header `authorization` has no JSON Web Token that can be read"
            raise Refusal(message) from error
        trusted = self._issuers.get(str(claimed.get("iss")))
        if trusted is None:
            message = "the token is of an issuer that this service does not trust"
            raise Refusal(message)
        key, keys = await trusted.key_of(head)
        claims = _verified(token, key, trusted.issuer)
        end_s = _end(claims, trusted.issuer, now_s=self._clock.now_ms() / 1_000)
        principal = _principal(trusted.issuer, claims)
        if len(self._known) >= _KNOWN_MAX:
            self._known = {}
        self._known[_digest(token)] = _Known(principal, end_s, keys)
        return principal

    def key_ages_s(self) -> dict[str, float]:
        """Return by the names of the issuers how long ago their keys were loaded, seconds."""
        return {one.issuer.name: one.keys.age_s for one in self._issuers.values()}

    async def follow(self) -> None:
        """Load the keys again and again, until this coroutine is cancelled."""
        await asyncio.gather(*(trusted.keys.follow() for trusted in self._issuers.values()))

    def close(self) -> None:
        """End the threads that load keys."""
        for trusted in self._issuers.values():
            trusted.keys.close()


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def _named(keys: SigningKeys, head: Mapping[str, Any]) -> SigningKey | None:
    """Return the key that the head of a token names; without a name, the only one of its algorithm."""
    key_id, algorithm = head.get("kid"), head.get("alg")
    fitting = [
        key
        for key in keys
        if algorithm in key.algorithms and (key_id is None or key.key_id == key_id)
    ]
    return fitting[0] if len(fitting) == 1 else None


def _verified(token: bytes, key: SigningKey, issuer: Issuer) -> Mapping[str, Any]:
    """Return the claims of a token whose signature, issuer and audience are right."""
    try:
        claims: Mapping[str, Any] = jwt.decode(
            token,
            key.key,
            algorithms=key.algorithms,
            issuer=issuer.issuer,
            audience=issuer.audience,
            options=_OPTIONS,
        )
    except _NOT_VALID as error:
        message = f"the token of issuer `{issuer.name}` is not valid: {error}"
        raise Refusal(message) from error
    return claims


def _end(claims: Mapping[str, Any], issuer: Issuer, *, now_s: float) -> float:
    """Return the time from which on a token is refused, in seconds since the epoch; its time has begun."""
    skew_s = issuer.clock_skew_seconds
    for claim in ("exp", "nbf", "iat"):
        seconds = claims.get(claim, 0)
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            message = f"the claim `{claim}` of the token is no number of seconds"
            raise Refusal(message)
        # Written so that NaN is refused, too.
        if claim != "exp" and not seconds <= now_s + skew_s:
            message = f"the token is not valid yet: its claim `{claim}` lies in the future"
            raise Refusal(message)
    end_s = float(claims["exp"]) + skew_s
    if not now_s < end_s < math.inf:
        message = "the token has expired"
        raise Refusal(message)
    return end_s


def _principal(issuer: Issuer, claims: Mapping[str, Any]) -> Principal:
    subject = claims.get(issuer.subject)
    if not isinstance(subject, str) or not _SUBJECT.fullmatch(subject):
        message = f"the claim `{issuer.subject}` of the token does not name a client"
        raise Refusal(message)
    grants = [
        grant for grant in issuer.grants if grant.value in _values(_claim(claims, grant.claim))
    ]
    return Principal(f"{issuer.name}/{subject}", grants)


def _claim(claims: Mapping[str, Any], path: str) -> Any:
    """Return the claim of a name, or the one inside of objects that a name with dots leads to."""
    if path in claims:
        return claims[path]
    found: Any = claims
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _values(claim: Any) -> Iterator[str]:
    if isinstance(claim, str):
        yield claim
        yield from claim.split()
    elif isinstance(claim, list):
        yield from (value for value in claim if isinstance(value, str))
