"""An issuer of JSON Web Tokens, and its tokens."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from braid.service.access.signing_keys import SigningKeys, parse_keys
from braid.service.issuers import Issuer, parse_issuers

NOW_S = 1_700_000_000  # that of a `ManualClock`

FILE = """
[[issuers]]
name = "login"
issuer = "https://login.example"
audience = "braid"
jwks = "keys.json"

[[issuers.grants]]
claim = "groups"
value = "analysts"
scope = "read"
tables = ["shop.*"]

[[issuers.grants]]
claim = "realm_access.roles"
value = "owner"
scope = "admin"
tables = ["*"]

[[issuers.grants]]
claim = "scope"
value = "braid.write"
scope = "write"
tables = ["shop.orders"]
"""


def issuer_of(text: str = FILE) -> Issuer:
    """Return the issuer of a file."""
    (issuer,) = parse_issuers(text.encode(), source="issuers.toml")
    return issuer


def rsa_key() -> rsa.RSAPrivateKey:
    """Return a new key."""
    return rsa.generate_private_key(public_exponent=65_537, key_size=2_048)


def public_entry(private: Any, key_id: str | None, **fields: str) -> dict[str, Any]:
    """Return the public key of a private one as an entry of a JWK set."""
    algorithm = (
        jwt.algorithms.ECAlgorithm
        if isinstance(private, ec.EllipticCurvePrivateKey)
        else jwt.algorithms.RSAAlgorithm
    )
    entry = json.loads(algorithm.to_jwk(private.public_key()))
    return {**entry, **({} if key_id is None else {"kid": key_id}), **fields}


def claims_of(**changed: Any) -> dict[str, Any]:
    """Return the claims of a valid token with some of them changed; None leaves one out."""
    claims = {
        "iss": "https://login.example",
        "aud": "braid",
        "sub": "ada",
        "iat": NOW_S,
        "nbf": NOW_S,
        "exp": NOW_S + 600,
        "groups": ["analysts"],
    }
    return {name: value for name, value in {**claims, **changed}.items() if value is not None}


@dataclass
class Keys:
    """The keys of an issuer, which change, and sometimes cannot be loaded.

    Attributes:
        entries: The set.
        loads: How often it was loaded.
        failure: What is raised instead.
    """

    entries: list[Mapping[str, Any]] = field(default_factory=list)
    loads: int = 0
    failure: Exception | None = None

    def load(self, issuer: Issuer) -> SigningKeys:
        """Return the keys."""
        self.loads += 1
        if self.failure is not None:
            raise self.failure
        return parse_keys(json.dumps({"keys": self.entries}).encode(), issuer)
