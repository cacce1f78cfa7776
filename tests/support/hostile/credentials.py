"""Requests with broken, forged and huge credentials, none of which gives the scope that the request needs."""

import base64
import hashlib
import hmac
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

Headers = list[tuple[bytes, bytes]]

_TARGETS: Final = (
    ("GET", "/v1/tables/shop/orders"),
    ("GET", "/v1/tables/shop/orders/rows?id=1"),
    ("GET", "/v1/tables/shop/orders/rows/status?id=1"),
    ("POST", "/v1/tables/shop/orders/rows/lookup"),
    ("POST", "/v1/tables/shop/orders/rows/scan"),
    ("GET", "/v1/tables/shop/orders/rows/explain?id=1"),
    ("GET", "/v1/tables/shop/orders/inspect/files"),
    ("PUT", "/v1/tables/shop/orders"),
    ("DELETE", "/v1/tables/shop/orders?confirm=orders"),
    ("POST", "/v1/tables/shop/orders/streams/sales/stop"),
    ("POST", "/v1/tables/shop/orders/streams/sales/records"),
    ("PUT", "/v1/tables/shop/orders/consumers/mine"),
    ("GET", "/v1/tables/shop%2Forders"),
    ("GET", "/v1/tables/shop/orders/streams"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """What an attacker may have.

    Attributes:
        foreign: A valid token of another database.
        revoked: A revoked token.
        expired: An expired one.
        key: The key of the issuer, which signs no token of the attacker.
        claims: The claims of a valid token of the issuer that has every grant.
    """

    foreign: str
    revoked: str
    expired: str
    key: rsa.RSAPrivateKey
    claims: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostileCredentials:
    """A request.

    Attributes:
        kind: What is wrong with its credentials.
        method: Of HTTP.
        target: Path and query.
        headers: Its credentials.
    """

    kind: str
    method: str
    target: str
    headers: Headers


_IN_ADDRESS: Final = "in the address"
_OTHER_KEY: Final = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)


def hostile_credentials(owned: Owned, seed: int, count: int) -> Iterator[HostileCredentials]:
    """Return so many requests, of every kind in turn."""
    chance = random.Random(seed)
    kinds = list(_KINDS.items())
    for number in range(count):
        kind, draw = kinds[number % len(kinds)]
        method, target = chance.choice(_TARGETS)
        headers = draw(owned, chance)
        if kind == _IN_ADDRESS:
            target += f"{'&' if '?' in target else '?'}access_token={owned.foreign}"
        yield HostileCredentials(kind=kind, method=method, target=target, headers=headers)


def _bearer(token: str | bytes) -> Headers:
    data = token if isinstance(token, bytes) else token.encode()
    return [(b"authorization", b"Bearer " + data)]


def _text(chance: random.Random, length: int) -> str:
    return base64.urlsafe_b64encode(chance.randbytes(length)).decode()[:length]


def _forged(chance: random.Random, public: str | None = None) -> str:
    return f"braid_{public or chance.randbytes(8).hex()}_{_text(chance, 43)}"


def _signed(owned: Owned, key: Any, algorithm: str = "RS256", **changed: Any) -> str:
    claims = {**owned.claims, **changed}
    return jwt.encode(claims, key, algorithm=algorithm, headers={"kid": "one"})


def _part(value: object) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _confused(owned: Owned) -> str:
    """Return a token that is signed by HMAC, with the public key as its secret."""
    pem = owned.key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    content = f"{_part({'alg': 'HS256', 'kid': 'one'})}.{_part(dict(owned.claims))}"
    return f"{content}.{_part(hmac.digest(pem, content.encode(), hashlib.sha256))}"


def _tampered(owned: Owned, chance: random.Random) -> str:
    head, _, signature = _signed(owned, _OTHER_KEY).split(".")
    return f"{head}.{_part({**owned.claims, 'sub': _text(chance, 8)})}.{signature}"


_KINDS: Final[Mapping[str, Callable[[Owned, random.Random], Headers]]] = {
    "none": lambda *_: [],
    "empty": lambda *_: [(b"authorization", b"")],
    "no token": lambda *_: [(b"authorization", b"Bearer")],
    "basic": lambda _, chance: [(b"authorization", b"Basic " + _text(chance, 30).encode())],
    "bytes": lambda _, chance: _bearer(bytes(chance.choices(range(128, 256), k=60))),
    "text": lambda _, chance: _bearer(_text(chance, chance.randrange(1, 200))),
    "forged": lambda _, chance: _bearer(_forged(chance)),
    "another secret": lambda owned, chance: _bearer(_forged(chance, owned.foreign.split("_")[1])),
    "cut": lambda owned, chance: _bearer(owned.foreign[: chance.randrange(10, 60)]),
    "upper case": lambda owned, _: _bearer(owned.foreign.upper()),
    "another database": lambda owned, _: _bearer(owned.foreign),
    "revoked": lambda owned, _: _bearer(owned.revoked),
    "expired": lambda owned, _: _bearer(owned.expired),
    "twice": lambda owned, _: _bearer(owned.foreign) * 2,
    "long": lambda _, chance: _bearer(_text(chance, 7_000)),
    "too long": lambda _, chance: _bearer(_text(chance, 12_000)),
    "huge": lambda _, chance: _bearer(_text(chance, 20_000)),
    _IN_ADDRESS: lambda *_: [],
    "cookie": lambda owned, _: [(b"cookie", b"access_token=" + owned.foreign.encode())],
    "another key": lambda owned, chance: _bearer(_signed(owned, _OTHER_KEY, jti=_text(chance, 9))),
    "unsigned": lambda owned, _: _bearer(f"{_part({'alg': 'none'})}.{_part(dict(owned.claims))}."),
    "confused": lambda owned, _: _bearer(_confused(owned)),
    "tampered": lambda owned, chance: _bearer(_tampered(owned, chance)),
    "another issuer": lambda owned, _: _bearer(_signed(owned, owned.key, iss="https://x.example")),
    "another audience": lambda owned, _: _bearer(_signed(owned, owned.key, aud="other")),
    "over": lambda owned, _: _bearer(_signed(owned, owned.key, exp=1_000_000_000)),
    "not yet": lambda owned, _: _bearer(_signed(owned, owned.key, nbf=99_999_999_999)),
    "no grants": lambda owned, chance: _bearer(
        _signed(owned, owned.key, groups=[], sub=_text(chance, 20))
    ),
    "unknown key": lambda owned, chance: _bearer(
        jwt.encode(dict(owned.claims), _OTHER_KEY, "RS256", headers={"kid": _text(chance, 8)})
    ),
    "deep": lambda *_: _bearer(f"{_part({'alg': 'RS256'})}.{_part(b'[' * 5_000)}.AA"),
    "dots": lambda *_: _bearer(".."),
}
