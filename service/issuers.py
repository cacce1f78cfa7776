"""Issuers of JSON Web Tokens, as operators declare them: TOML, read once when the service starts.

```toml
[[issuers]]
name = "login"
issuer = "https://login.example/realms/shop"
audience = "braid"
jwks = "https://login.example/realms/shop/protocol/openid-connect/certs"

[[issuers.grants]]
claim = "groups"
value = "analysts"
scope = "read"
tables = ["shop.*"]
```
"""

import tomllib
from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, ValidationError

from braid.lake import InvalidRequest, Problem
from braid.schemas.access import GRANTS_MAX, Grant
from braid.schemas.contract import Contract, NonNegativeInt, at_most

SIZE_MAX: Final = 1 << 20  # bytes
ISSUERS_MAX: Final = 20

Algorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"
]
"""Signatures by a private key that the issuer alone has: neither `none`, nor one with a key that this service would have, too."""

_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


def _check_source(source: str) -> str:
    if "://" not in source:
        return source
    parts = urlsplit(source)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        return source
    message = "expected the path of a file, or an address that begins with `https://`"
    raise ValueError(message)


class ClaimGrant(Grant):
    """A grant of the clients whose token has a value of a claim.

    Attributes:
        claim: The claim; with dots between their names, one inside of objects (`realm_access.roles`).
        value: The value: the claim is this text, a list with it, or texts separated by blanks with it.
    """

    claim: str = Field(min_length=1, max_length=200)
    value: str = Field(min_length=1, max_length=1_000)


class Issuer(Contract):
    """An issuer of tokens.

    Attributes:
        name: Name of the issuer in logs; the name of a client is `<name>/<subject>`.
        issuer: The claim `iss` of its tokens.
        audience: A value of their claim `aud`.
        jwks: Its public keys (RFC 7517): path of a file, relative to that of the issuers, or address.
        algorithms: The algorithms of signatures that are accepted.
        clock_skew_seconds: How far its clock may differ from the service's.
        subject: The claim that names a client.
        grants: What clients may do.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")
    issuer: str = Field(min_length=1, max_length=1_000)
    audience: str = Field(min_length=1, max_length=1_000)
    jwks: Annotated[str, AfterValidator(_check_source)] = Field(min_length=1, max_length=1_000)
    algorithms: Annotated[tuple[Algorithm, ...], at_most(10)] = Field(
        default=("RS256", "ES256"), min_length=1
    )
    clock_skew_seconds: Annotated[NonNegativeInt, Field(le=300)] = 30
    subject: str = Field(default="sub", min_length=1, max_length=200)
    grants: Annotated[tuple[ClaimGrant, ...], at_most(GRANTS_MAX)] = Field(min_length=1)


class _File(Contract):
    issuers: Annotated[tuple[Issuer, ...], at_most(ISSUERS_MAX)] = Field(min_length=1)


def load_issuers(path: Path) -> tuple[Issuer, ...]:
    """Return the issuers of a file; paths in it are absolute then.

    Raises:
        InvalidRequest: The file cannot be read, or does not declare issuers as described above.
    """
    try:
        with path.open("rb") as file:
            data = file.read(SIZE_MAX + 1)
    except OSError as error:
        message = f"{path}: the file of issuers cannot be read: {error.strerror}"
        raise InvalidRequest(message) from error
    if len(data) > SIZE_MAX:
        message = f"{path}: a file of issuers has at most {SIZE_MAX} bytes"
        raise InvalidRequest(message)
    issuers = parse_issuers(data, source=str(path))
    return tuple(
        issuer
        if "://" in issuer.jwks
        else issuer.model_copy(update={"jwks": str(path.absolute().parent / issuer.jwks)})
        for issuer in issuers
    )


def parse_issuers(data: bytes, *, source: str) -> tuple[Issuer, ...]:
    """Return the issuers of a file's content.

    Args:
        data: The content.
        source: Name of the file in messages.

    Raises:
        InvalidRequest: The content is not TOML, or does not declare issuers as described above; `problems` has
            all locations.
    """
    try:
        found = _File.model_validate(tomllib.loads(data.decode()), strict=False).issuers
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        message = f"{source}: {error}"
        raise InvalidRequest(message) from error
    except ValidationError as error:
        problems = [
            Problem(
                field=".".join(map(str, one["loc"])),
                value=None,
                message=one["msg"].removeprefix("Value error, "),
            )
            for one in error.errors()[:100]
        ]
        message = f"{source} is not a valid file of issuers"
        raise InvalidRequest(message, problems=problems) from error
    for field in ("name", "issuer"):
        values = [getattr(issuer, field) for issuer in found]
        if len(set(values)) < len(values):
            message = f"{source}: two issuers have the same `{field}`"
            raise InvalidRequest(message)
    return found
