"""Headers of answers, for browsers."""

import pytest

from braid.service.http.security_headers import with_security_headers
from tests.unit.service.http_client import HttpClient

EXPECTED = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "private, no-cache",
}


@pytest.mark.parametrize(
    "path", ["/health", "/v1/tables", "/v1/tables/shop/orders/rows?id=7", "/absent"]
)
def test_every_answer_has_them(shop: HttpClient, path: str) -> None:
    answer = shop.get(path, headers={"origin": "https://other.example"})

    assert {name: answer.headers.get_list(name) for name in EXPECTED} == {
        name: [value] for name, value in EXPECTED.items()
    }
    assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_an_answer_keeps_its_own() -> None:
    own = [(b"cache-control", b"max-age=60"), (b"content-security-policy", b"default-src 'self'")]

    found = with_security_headers([(b"content-type", b"text/html"), *own])

    assert found[:3] == [(b"content-type", b"text/html"), *own]
    assert sorted(name for name, _ in found) == sorted(
        [b"content-type", *(name.encode() for name in EXPECTED)]
    )
