"""Public keys of an issuer of tokens: a JWK set (RFC 7517), read from a file or an HTTPS address.

Keys of other kinds are left out, those of HMAC and private ones among them: whoever has such a key can sign, and a set of keys is public.
"""

import http.client
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jwt
import orjson

from braid.service.issuers import Issuer

SIZE_MAX: Final = 1 << 20  # bytes
KEYS_MAX: Final = 100
_TIMEOUT_SECONDS: Final = 5.0

_ALGORITHMS: Final[Mapping[str, Sequence[str]]] = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "EC": ("ES256", "ES384", "ES512"),
    "OKP": ("EdDSA",),
}

_PRIVATE: Final = "d"
"""Member of a private key, whatever its kind (RFC 7518, 6.2.2 and 6.3.2; RFC 8037, 2)."""


class KeysUnavailable(Exception):
    """The keys cannot be read, or are no set of keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """A public key.

    Attributes:
        key_id: Its name in the set, and in the heads of tokens; None: it has none.
        key: The key, as `jwt` takes it.
        algorithms: The algorithms of signatures that are accepted with it.
    """

    key_id: str | None
    key: Any
    algorithms: Sequence[str]


SigningKeys = Sequence[SigningKey]


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow no redirect: the operators have named the address that they trust."""


_OPENER: Final = urllib.request.build_opener(_NoRedirects)


def load_keys(issuer: Issuer) -> SigningKeys:
    """Return the keys of an issuer that it may sign with.

    Raises:
        KeysUnavailable: They cannot be read, or there are none.
    """
    try:
        return parse_keys(_content(issuer.jwks), issuer)
    except (OSError, http.client.HTTPException, ValueError) as error:
        message = f"{issuer.jwks}: {error}"
        raise KeysUnavailable(message) from error


def parse_keys(data: bytes, issuer: Issuer) -> SigningKeys:
    """Return the keys of a JWK set; those that are not for signatures, or not of an accepted algorithm, are left out.

    Raises:
        ValueError: The data is no JWK set, or no key is left.
    """
    if len(data) > SIZE_MAX:
        message = f"a set of keys has at most {SIZE_MAX} bytes"
        raise ValueError(message)
    found = orjson.loads(data)
    entries = found.get("keys") if isinstance(found, dict) else None
    if not isinstance(entries, list):
        message = "this is no set of keys: expected an object with the list `keys`"
        raise ValueError(message)  # noqa: TRY004  # of the content of a file, not of an argument
    keys = [_key(entry, issuer) for entry in entries[:KEYS_MAX] if isinstance(entry, dict)]
    usable = [key for key in keys if key is not None]
    if not usable:
        message = (
            f"none of the {len(entries)} keys is for signatures with {', '.join(issuer.algorithms)}"
        )
        raise ValueError(message)
    return usable


def _key(entry: Mapping[str, Any], issuer: Issuer) -> SigningKey | None:
    algorithms = [
        algorithm
        for algorithm in _ALGORITHMS.get(str(entry.get("kty")), ())
        if algorithm in issuer.algorithms and entry.get("alg") in (None, algorithm)
    ]
    if not algorithms or entry.get("use") not in (None, "sig") or _PRIVATE in entry:
        return None
    try:
        key = jwt.PyJWK(dict(entry), algorithm=algorithms[0]).key
    except jwt.PyJWTError:
        return None
    key_id = entry.get("kid")
    return SigningKey(
        key_id=key_id if isinstance(key_id, str) else None, key=key, algorithms=algorithms
    )


def _content(source: str) -> bytes:
    if "://" not in source:
        with Path(source).open("rb") as file:
            return file.read(SIZE_MAX + 1)
    # `Issuer` admits HTTPS, and HTTP on this machine, alone.
    with _OPENER.open(source, timeout=_TIMEOUT_SECONDS) as answer:
        content: bytes = answer.read(SIZE_MAX + 1)
        return content
