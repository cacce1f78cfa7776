"""Provocations by access control: who sends a request, and what the client may see."""

import json
import tempfile
from functools import cache
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from braid.registry.store.access_tokens import AccessTokens, random_text, token_of
from braid.schemas.access import AccessScope, Grant
from braid.service.settings import AccessSettings
from tests.unit.service.access.guarded import bearer
from tests.unit.service.access.issued import FILE, claims_of, issuer_of, public_entry
from tests.unit.service.contract.answered import Answered, answered
from tests.unit.service.contract.deployment import Deployment
from tests.unit.service.contract.documented import Operation
from tests.unit.service.contract.warehouse import STOPPED

ALL = Grant(scope=AccessScope.ADMIN, tables=("*",))
_MASKED = Grant(scope=AccessScope.READ, tables=("*",), masked_columns=("id",))


def guarded() -> Deployment:
    """Return a service with access control."""
    return Deployment(access=AccessSettings())


def token(service: Deployment, *grants: Grant, expires_ms: int | None = None) -> dict[str, str]:
    """Return the header of a new token."""
    text = random_text()
    made = token_of(text, "client", grants, now_ms=service.clock.now_ms(), expires_ms=expires_ms)
    AccessTokens(service.files, "/w", service.clock).add(made)
    return bearer(text)


def stranger(operation: Operation) -> Answered:
    """A request without a token."""
    return answered(guarded().answer(operation))


def without_scope(operation: Operation) -> Answered:
    """A token of an issuer that gives its bearer no grant: with one, some operations are open to every client."""
    key = _key()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "keys.json"
        path.write_text(json.dumps({"keys": [public_entry(key, None)]}))
        issuer = issuer_of(FILE.replace("keys.json", str(path)))
        service = Deployment(access=AccessSettings(issuers=(issuer,)))
        text = jwt.encode(claims_of(groups=[]), key, "ES256")
        return answered(service.answer(operation, headers=bearer(text)))


def masked(operation: Operation) -> Answered:
    """A client that may not see the column of the key."""
    service = guarded()
    return answered(service.answer(operation, headers=token(service, _MASKED)))


def unsigned(operation: Operation) -> Answered:
    """A push without a signature to a topic whose bodies are signed."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PARCELS_SECRET", "a secret")
        return answered(Deployment().answer(operation, names={"stream": STOPPED}))


def without_keys(operation: Operation) -> Answered:
    """A token of an issuer whose keys are not there."""
    service = Deployment(access=AccessSettings(issuers=(issuer_of(),)))
    return answered(service.answer(operation, headers=bearer(_foreign())))


def without_tokens(operation: Operation) -> Answered:
    """A token, while storage, which has the tokens, does not answer."""
    service = guarded()
    headers = token(service, ALL)
    service.fail()
    return answered(service.answer(operation, headers=headers))


@cache
def _foreign() -> str:
    return jwt.encode(claims_of(), "a secret of at least thirty-two bytes", "HS256")


@cache
def _key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())
