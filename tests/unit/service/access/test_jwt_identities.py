"""Clients with JSON Web Tokens: right ones, and every kind of wrong ones."""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any, Final

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from braid.lake import ManualClock
from braid.schemas import ProblemCode
from braid.schemas.access import AccessScope
from braid.service.access.identities import Refusal
from braid.service.access.jwt_identities import JwtIdentities
from braid.service.access.refreshed import RefreshTimes
from braid.service.access.signing_keys import KeysUnavailable
from braid.service.metrics import ServiceMetrics
from braid.service.principal import Principal
from tests.unit.service.access.issued import (
    FILE,
    NOW_S,
    Keys,
    claims_of,
    issuer_of,
    public_entry,
    rsa_key,
)

TIMES = RefreshTimes(every_s=0.0, pause_s=0.0, wait_s=30.0, kept_s=1e9)
PRIVATE: Final = rsa_key()
FOREIGN: Final = rsa_key()
SKEW_S: Final = 30


@pytest.fixture
def keys() -> Keys:
    return Keys([public_entry(PRIVATE, "one")])


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def identities(keys: Keys, clock: ManualClock) -> JwtIdentities:
    return JwtIdentities([issuer_of()], clock, load=keys.load, times=TIMES)


def found(identities: JwtIdentities, token: str) -> Principal:
    return asyncio.run(identities.found(token.encode()))


def signed(
    claims: Any | None = None, *, key: Any = PRIVATE, algorithm: str = "RS256", **head: Any
) -> str:
    headers = {"kid": "one", **head}
    headers = {name: value for name, value in headers.items() if value is not None}
    return jwt.encode(claims or claims_of(), key, algorithm=algorithm, headers=headers)


def encoded(value: object) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def refusal(identities: JwtIdentities, token: str) -> Refusal:
    assert identities.known(token.encode()) is None
    with pytest.raises(Refusal) as caught:
        found(identities, token)
    assert identities.known(token.encode()) is None
    return caught.value


def test_a_token_names_its_client_and_what_it_may_do(identities: JwtIdentities) -> None:
    token = signed()
    assert identities.takes(token.encode())

    principal = found(identities, token)

    assert principal.name == "login/ada"
    assert principal.may(AccessScope.READ, "shop.orders")
    assert not principal.may(AccessScope.WRITE, "shop.orders")
    assert not principal.may(AccessScope.READ, "crm.people")
    assert identities.known(token.encode()) is principal


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({"groups": "analysts"}, {"shop.orders": "read"}),
        ({"groups": ["others", "analysts"]}, {"shop.orders": "read"}),
        ({"groups": None, "scope": "openid braid.write"}, {"shop.orders": "write"}),
        ({"groups": None, "realm_access": {"roles": ["owner"]}}, {"shop.orders": "admin"}),
        ({"groups": None, "realm_access.roles": ["owner"]}, {"shop.orders": "admin"}),
        ({"realm_access": {"roles": "owner"}}, {"shop.orders": "admin"}),
        ({"groups": None}, {}),
        ({"groups": {"analysts": True}}, {}),
        ({"groups": [["analysts"]]}, {}),
        ({"groups": "analysts2"}, {}),
        ({"groups": ["Analysts"]}, {}),
        ({"groups": None, "realm_access": "roles.owner"}, {}),
        ({"groups": 7}, {}),
    ],
)
def test_claims_become_grants(
    identities: JwtIdentities, claims: dict[str, Any], expected: dict[str, str]
) -> None:
    principal = found(identities, signed(claims_of(**claims)))

    highest = [scope.value for scope in AccessScope if principal.may(scope, "shop.orders")][-1:]
    assert highest == list(expected.values())


WRONG_CLAIMS: Final = {
    "issuer": claims_of(iss="https://other.example"),
    "no issuer": claims_of(iss=None),
    "issuer is a list": claims_of(iss=["https://login.example"]),
    "audience": claims_of(aud="other"),
    "audiences": claims_of(aud=["other", "another"]),
    "no audience": claims_of(aud=None),
    "expired": claims_of(exp=NOW_S - SKEW_S),
    "no end": claims_of(exp=None),
    "end is a text": claims_of(exp="soon"),
    "end is true": claims_of(exp=True),
    "end is infinite": claims_of(exp=float("inf")),
    "end is no number": claims_of(exp=float("nan")),
    "end is a list": claims_of(exp=[NOW_S + 600]),
    "not yet valid": claims_of(nbf=NOW_S + SKEW_S + 1),
    "start is no number": claims_of(nbf=float("nan")),
    "issued in the future": claims_of(iat=NOW_S + SKEW_S + 1),
    "no subject": claims_of(sub=None),
    "empty subject": claims_of(sub=""),
    "subject with a line break": claims_of(sub="ada\nroot"),
    "subject with a blank": claims_of(sub="a b"),
    "subject too long": claims_of(sub="a" * 201),
}


@pytest.mark.parametrize("claims", WRONG_CLAIMS.values(), ids=WRONG_CLAIMS)
def test_a_token_with_wrong_claims_is_refused(
    identities: JwtIdentities, claims: dict[str, Any]
) -> None:
    # The library checks some types itself when it encodes.
    head, body = encoded({"alg": "RS256", "kid": "one"}), encoded(claims)
    signature = jwt.get_algorithm_by_name("RS256").sign(f"{head}.{body}".encode(), PRIVATE)

    assert refusal(identities, f"{head}.{body}.{encoded(signature)}").code == (
        ProblemCode.UNAUTHENTICATED
    )


@pytest.mark.parametrize(
    "claims",
    [
        claims_of(exp=NOW_S - SKEW_S + 1),
        claims_of(nbf=NOW_S + SKEW_S),
        claims_of(nbf=None, iat=None),
    ],
)
def test_clocks_may_differ_a_little(identities: JwtIdentities, claims: dict[str, Any]) -> None:
    assert found(identities, signed(claims)).name == "login/ada"


def _public_pem() -> bytes:
    return PRIVATE.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def _hmac_with(secret: bytes, algorithm: str = "HS256") -> str:
    head, body = encoded({"alg": algorithm, "kid": "one"}), encoded(claims_of())
    digest = hmac.new(secret, f"{head}.{body}".encode(), hashlib.sha256).digest()
    return f"{head}.{body}.{encoded(digest)}"


def _with_algorithm(name: object) -> str:
    _, body, signature = signed().split(".")
    return f"{encoded({'alg': name, 'kid': 'one'})}.{body}.{signature}"


def _tampered() -> str:
    head, _, signature = signed().split(".")
    return f"{head}.{encoded(claims_of(groups=['owner']))}.{signature}"


def _unsigned(head: object, claims: object) -> str:
    return f"{encoded(head)}.{encoded(claims)}.AA"


WRONG_TOKENS: Final[dict[str, Callable[[], str]]] = {
    "another key": lambda: signed(key=FOREIGN),
    "HMAC with the public key": lambda: _hmac_with(_public_pem()),
    "HMAC with nothing": lambda: _hmac_with(b""),
    "none": lambda: f"{encoded({'alg': 'none', 'kid': 'one'})}.{encoded(claims_of())}.",
    "None": lambda: f"{encoded({'alg': 'None', 'kid': 'one'})}.{encoded(claims_of())}.",
    "none with a signature": lambda: _with_algorithm("none"),
    "no algorithm": lambda: _with_algorithm(None),
    "a list of algorithms": lambda: _with_algorithm(["RS256"]),
    "another algorithm of the key": lambda: signed(algorithm="PS256"),
    "an algorithm of another key": lambda: _with_algorithm("ES256"),
    "a longer hash": lambda: signed(algorithm="RS512"),
    "other claims": _tampered,
    "no signature": lambda: signed().rsplit(".", 1)[0] + ".",
    "a cut signature": lambda: signed()[:-4],
    "an unknown key": lambda: signed(kid="two"),
    "a number as key": lambda: _unsigned({"alg": "RS256", "kid": 7}, claims_of()),
    "a critical extension": lambda: signed(crit=["x"], x=1),
    "no JSON": lambda: _unsigned(b"x", b"y"),
    "a list": lambda: _unsigned([], []),
    "deep": lambda: _unsigned(b"[" * 2_500, b"[" * 2_500),
    "a deep head": lambda: _unsigned(b'{"a":' * 600, claims_of()),
    "deep claims": lambda: _unsigned({"alg": "RS256"}, b"[" * 5_000),
    "many digits": lambda: _unsigned({"alg": "RS256"}, b'{"exp": %b}' % (b"9" * 5_000)),
    "dots": lambda: "..",
    "no base64": lambda: "a.b.c",
}


@pytest.mark.parametrize("make", WRONG_TOKENS.values(), ids=WRONG_TOKENS)
def test_a_forged_token_is_refused(identities: JwtIdentities, make: Callable[[], str]) -> None:
    token = make()
    found(identities, signed())

    refused = refusal(identities, token)

    assert (refused.code, refused.error) == (ProblemCode.UNAUTHENTICATED, "invalid_token")
    assert token not in refused.detail


def test_keys_of_hmac_in_the_set_are_not_used(keys: Keys, clock: ManualClock) -> None:
    secret = {"kty": "oct", "kid": "shared", "k": encoded(b"s" * 32), "alg": "HS256"}
    keys.entries = [secret, *keys.entries]
    identities = JwtIdentities([issuer_of()], clock, load=keys.load, times=TIMES)

    token = jwt.encode(claims_of(), b"s" * 32, algorithm="HS256", headers={"kid": "shared"})

    assert refusal(identities, token).code == ProblemCode.UNAUTHENTICATED


def test_keys_of_elliptic_curves_sign_as_well(clock: ManualClock) -> None:
    private = ec.generate_private_key(ec.SECP256R1())
    keys = Keys([public_entry(private, "curve", alg="ES256"), public_entry(PRIVATE, "one")])
    identities = JwtIdentities([issuer_of()], clock, load=keys.load, times=TIMES)

    token = signed(key=private, algorithm="ES256", kid="curve")

    assert found(identities, token).name == "login/ada"


def test_a_token_without_a_key_id_is_valid_with_the_only_key_of_its_algorithm(
    keys: Keys, clock: ManualClock
) -> None:
    identities = JwtIdentities([issuer_of()], clock, load=keys.load, times=TIMES)
    assert found(identities, signed(kid=None)).name == "login/ada"
    keys.entries = [*keys.entries, public_entry(FOREIGN, "other")]
    two = JwtIdentities([issuer_of()], clock, load=keys.load, times=TIMES)

    assert refusal(two, signed(kid=None)).code == ProblemCode.UNAUTHENTICATED


def test_a_token_that_is_remembered_expires(identities: JwtIdentities, clock: ManualClock) -> None:
    token = signed()
    found(identities, token)
    clock.advance(ms=(600 + SKEW_S) * 1_000 - 1)
    assert identities.known(token.encode()) is not None

    clock.advance(ms=1)

    assert refusal(identities, token).detail == "the token has expired"


def test_a_key_that_is_not_in_the_set_any_more_is_not_trusted(
    identities: JwtIdentities, keys: Keys
) -> None:
    token = signed()
    found(identities, token)
    (trusted,) = identities._issuers.values()
    keys.entries = [public_entry(FOREIGN, "two")]
    asyncio.run(trusted.keys.newer())

    assert refusal(identities, token).code == ProblemCode.UNAUTHENTICATED


def test_a_new_key_is_found_and_unknown_ones_do_not_load_again_and_again(
    keys: Keys, clock: ManualClock
) -> None:
    identities = JwtIdentities([issuer_of()], clock, load=keys.load, times=TIMES)
    found(identities, signed())
    assert keys.loads == 1

    for number in range(20):
        refusal(identities, signed(kid=f"x{number}"))

    assert keys.loads == 1


def test_while_the_keys_are_not_available_it_is_not_known_who_a_client_is(
    keys: Keys, clock: ManualClock
) -> None:
    identities = JwtIdentities([issuer_of()], clock, load=keys.load, times=TIMES)
    keys.failure = KeysUnavailable("no answer")

    refused = refusal(identities, signed())

    assert (refused.code, refused.error) == (ProblemCode.NOT_READY, None)


def test_any_number_of_tokens_is_remembered_in_bounded_memory(identities: JwtIdentities) -> None:
    async def find() -> None:
        for number in range(1_100):
            await identities.found(signed(claims_of(sub=f"s{number}")).encode())

    asyncio.run(find())

    assert len(identities._known) <= 1_000


def test_one_issuer_does_not_speak_for_another(keys: Keys, clock: ManualClock) -> None:
    other = issuer_of(FILE.replace("login.example", "other.example").replace('"login"', '"other"'))
    others = Keys([public_entry(FOREIGN, "one")])

    def load(issuer: Any) -> Any:
        return (keys if issuer.name == "login" else others).load(issuer)

    identities = JwtIdentities([issuer_of(), other], clock, load=load, times=TIMES)
    claims = claims_of(iss="https://other.example")

    assert found(identities, signed(claims, key=FOREIGN)).name == "other/ada"
    assert refusal(identities, signed(claims)).code == ProblemCode.UNAUTHENTICATED
    assert refusal(identities, signed(key=FOREIGN)).code == ProblemCode.UNAUTHENTICATED


def test_keys_have_an_age_by_the_name_of_their_issuer(identities: JwtIdentities) -> None:
    found(identities, signed())

    metrics = ServiceMetrics()
    metrics.set_issuer_key_ages(identities.key_ages_s())

    assert [*identities.key_ages_s()] == ["login"]
    labels = {"issuer": "login"}
    age_s = metrics.registry.get_sample_value("braid_issuer_keys_age_seconds", labels)
    assert age_s is not None
    assert age_s >= 0
