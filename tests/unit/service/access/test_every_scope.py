"""Every route with every scope and pattern of tables."""

import re

import pytest

from braid.schemas.access import AccessScope
from braid.service.access.route_scopes import SCOPES, Reach
from tests.unit.service.access.guarded import Guarded

pytestmark = pytest.mark.slow

PATTERNS = {
    "*": True,
    "shop.*": True,
    "shop.orders": True,
    "*.orders": True,
    "shop.ord*": True,
    "crm.*": False,
    "shop.order": False,
    "shop.orders_*": False,
}
"""Whether each is a pattern of `shop.orders`."""

TOKENS = [(scope, pattern) for scope in AccessScope for pattern in PATTERNS]
ROUTES = sorted(SCOPES)


@pytest.fixture(scope="module")
def guarded() -> Guarded:
    return Guarded()


@pytest.fixture(scope="module")
def tokens(guarded: Guarded) -> dict[tuple[AccessScope, str], str]:
    return {
        (scope, pattern): guarded.token(f"t{number}", f"{scope.value}:{pattern}")
        for number, (scope, pattern) in enumerate(TOKENS)
    }


def address(path: str) -> str:
    known = path.replace("{database}/{table}", "shop/orders")
    return re.sub(r"\{[^}]+\}", "x", known)


@pytest.mark.parametrize(("method", "path"), ROUTES, ids=lambda part: part)
def test_a_request_passes_with_the_scope_for_the_table_and_not_without(
    guarded: Guarded, tokens: dict[tuple[AccessScope, str], str], method: str, path: str
) -> None:
    requirement = SCOPES[method, path]
    order = list(AccessScope)
    for (scope, pattern), token in tokens.items():
        answer = guarded.request(method, address(path), token)

        if requirement is None:
            assert answer.status_code not in (401, 403)
            continue
        is_enough = order.index(scope) >= order.index(requirement.scope)
        covers = {
            Reach.TABLE: PATTERNS[pattern],
            Reach.ANY_TABLE: True,
            Reach.EVERY_TABLE: pattern == "*",
        }[requirement.reach]
        if is_enough and covers:
            assert answer.status_code not in (401, 403), (scope, pattern, answer.text)
            continue
        assert (answer.status_code, answer.json()["code"]) == (403, "scope_missing")
        assert f'scope="{requirement.scope.value}"' in answer.headers["www-authenticate"]
        assert f"`{requirement.scope.value}`" in answer.json()["detail"]


@pytest.mark.parametrize(("method", "path"), ROUTES, ids=lambda part: part)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer braid_0123456789abcdef_" + "A" * 43},
        {"authorization": "Bearer x.y.z"},
        {"authorization": "Basic YWRtaW46YWRtaW4="},
    ],
    ids=["none", "unknown", "foreign", "basic"],
)
def test_a_request_without_a_valid_token_does_not_pass(
    guarded: Guarded, method: str, path: str, headers: dict[str, str]
) -> None:
    answer = guarded.client.request(method, address(path), headers=headers)

    if SCOPES[method, path] is None:
        assert answer.status_code not in (401, 403)
        return
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert answer.headers["www-authenticate"].startswith('Bearer realm="braid"')
    assert answer.headers["x-request-id"] == answer.json()["request_id"]


@pytest.mark.parametrize(
    "path", ["/x", "/v2", "/v1/tables/shop", "/docs", "/v1/tables/shop/orders/x"]
)
def test_an_address_without_a_route_tells_strangers_nothing(guarded: Guarded, path: str) -> None:
    known = guarded.token(f"known{path.replace('/', '.')}", "read:crm.*")

    assert guarded.request("GET", path).status_code == 401
    assert guarded.request("GET", path, known).status_code == 404
