"""Requests with and without the scope that they need."""

import hashlib
import hmac
import logging
from collections.abc import Mapping
from pathlib import Path

import pytest

from braid.formats.clusters.clusters_file import parse_clusters
from braid.service.access.identities import CREDENTIALS_MAX
from tests.unit.registry.shop import ORDERS
from tests.unit.service.access.guarded import Guarded, bearer
from tests.unit.service.memory_topic import MemoryTopic

TABLE = "/v1/tables/shop/orders"


@pytest.fixture
def guarded() -> Guarded:
    return Guarded()


def test_a_client_does_what_its_token_permits(guarded: Guarded) -> None:
    admin, reader = guarded.token("ops", "admin:*"), guarded.token("dashboard", "read:shop.*")
    assert guarded.request("PUT", TABLE, admin, json=ORDERS).status_code == 201

    read = guarded.request("GET", TABLE, reader)
    refused = guarded.request("DELETE", f"{TABLE}?confirm=orders", reader)

    assert read.status_code == 200
    assert refused.status_code == 403
    problem = refused.json()
    assert problem["code"] == "scope_missing"
    assert problem["detail"] == "`dashboard` does not have the scope `admin` for table shop.orders"
    assert problem["errors"] == [
        {
            "pointer": None,
            "field": "authorization",
            "value": "read:shop.*",
            "message": "expected a grant of `admin`, or of a scope that includes it, for table shop.orders",
            "hint": "operators give it with `braid token create NAME --grant admin:shop.orders`, or in the file of issuers",
        }
    ]
    assert refused.headers["www-authenticate"] == (
        'Bearer realm="braid", error="insufficient_scope", scope="admin"'
    )
    assert guarded.request("GET", TABLE, reader).status_code == 200


def test_a_client_is_told_what_it_may_do(guarded: Guarded) -> None:
    token = guarded.token("dashboard", "read:shop.*,crm.people", "operate:shop.orders")

    assert guarded.request("GET", "/v1", token).json()["client"] == {
        "name": "dashboard",
        "grants": [
            {"scope": "read", "tables": ["shop.*", "crm.people"]},
            {"scope": "operate", "tables": ["shop.orders"]},
        ],
    }


def test_a_table_without_a_grant_is_refused_whether_it_exists_or_not(guarded: Guarded) -> None:
    admin, reader = guarded.token("ops", "admin:*"), guarded.token("r", "read:crm.*")
    guarded.request("PUT", TABLE, admin, json=ORDERS)

    answers = [guarded.request("GET", f"/v1/tables/shop/{t}", reader) for t in ("orders", "absent")]

    assert [answer.status_code for answer in answers] == [403, 403]
    texts = [answer.text.replace("absent", "orders") for answer in answers]
    ids = [answer.json()["request_id"] for answer in answers]
    assert texts[0].replace(ids[0], "") == texts[1].replace(ids[1], "")


def test_lists_show_the_tables_that_a_client_may_read(guarded: Guarded) -> None:
    admin = guarded.token("ops", "admin:*")
    for name in ("shop/orders", "shop/parcels", "crm/people"):
        guarded.request("PUT", f"/v1/tables/{name}", admin, json=ORDERS).raise_for_status()

    def listed(*grants: str) -> list[str]:
        token = guarded.token("-".join(grants).translate(str.maketrans(":*,", "___")), *grants)
        first = guarded.request("GET", "/v1/tables?page_size=1", token).json()
        pages = [first]
        while (after := pages[-1]["next_page_token"]) is not None:
            path = f"/v1/tables?page_size=1&page_token={after}"
            pages.append(guarded.request("GET", path, token).json())
        return [f"{one['database']}.{one['name']}" for page in pages for one in page["tables"]]

    assert listed("read:*") == ["crm.people", "shop.orders", "shop.parcels"]
    assert listed("write:shop.*") == ["shop.orders", "shop.parcels"]
    assert listed("read:crm.*", "operate:shop.parcels") == ["crm.people", "shop.parcels"]
    assert listed("admin:hr.*") == []


def test_a_token_is_valid_as_soon_as_it_is_made(guarded: Guarded) -> None:
    for number in range(3):
        token = guarded.token(f"t{number}", "read:*")
        assert guarded.request("GET", "/v1/tables", token).status_code == 200


@pytest.mark.parametrize(
    "value",
    [
        "Bearer",
        "Bearer ",
        "Bearer  ",
        "{token}",
        "Basic {token}",
        "Bearer {token} x",
        "Bearer {token}, Bearer {token}",
        "Bearer\t{token}",
        "Bearer {token}\x00",
        "Bearer \xff{token}",
        "Bearer {upper}",
        "Bearer {cut}",
        "Bearer {other}",
        "Bearer " + "x" * CREDENTIALS_MAX,
        "Bearer braid_" + "x" * 5_000,
        "Digest username=x",
    ],
)
def test_other_credentials_are_refused(guarded: Guarded, value: str) -> None:
    token = guarded.token("t", "admin:*")
    other = token[:-1] + ("A" if token[-1] != "A" else "B")
    text = value.format(token=token, upper=token.upper(), cut=token[:-1], other=other)

    answer = guarded.client.get("/v1/tables", headers={"authorization": text.encode("latin-1")})

    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert token.split("_", 2)[2] not in answer.text


@pytest.mark.parametrize("value", ["Bearer {}", "bearer {}", "BEARER   {}", "Bearer {} "])
def test_the_scheme_has_no_case_and_blanks_do_not_matter(guarded: Guarded, value: str) -> None:
    token = guarded.token("t", "read:*")

    answer = guarded.client.get("/v1/tables", headers={"authorization": value.format(token)})

    assert answer.status_code == 200


def test_two_headers_are_no_credentials(guarded: Guarded) -> None:
    token = guarded.token("t", "read:*")

    twice = [("authorization", f"Bearer {token}")] * 2

    assert guarded.client.get("/v1/tables", headers=twice).status_code == 401


@pytest.mark.parametrize("parameter", ["access_token", "token", "authorization"])
def test_a_token_in_an_address_is_no_credential(guarded: Guarded, parameter: str) -> None:
    token = guarded.token("t", "admin:*")

    assert guarded.client.get(f"/v1/tables?{parameter}={token}").status_code == 401


def test_no_log_line_has_a_token(guarded: Guarded, caplog: pytest.LogCaptureFixture) -> None:
    token = guarded.token("t", "read:*")
    wrong = token[:-1] + "!"

    with caplog.at_level(logging.DEBUG):
        for one in (token, wrong):
            guarded.request("GET", "/v1/tables", one)
            guarded.request("PUT", TABLE, one, json=ORDERS)

    assert token.split("_", 2)[2][:-1] not in caplog.text


def test_the_body_of_a_refused_request_is_not_read(guarded: Guarded) -> None:
    reader = guarded.token("r", "read:*")

    refused = guarded.request("PUT", TABLE, reader, content=b"x" * 2_000_000)

    assert refused.status_code == 403


def test_without_access_control_credentials_do_not_matter(shop_open: Guarded) -> None:
    for headers in ({}, bearer("x"), {"authorization": "Basic x"}):
        assert shop_open.client.get("/v1/tables", headers=headers).status_code == 200


@pytest.fixture
def shop_open() -> Guarded:
    return Guarded(access=None)


SIGNED = b'{"id": 7, "region": "eu", "total": "12.50", "order_version": 1}'
SECRET = b"of the webhook"
SIGNATURE = "x-hub-signature-256"
KAFKA = {"kafka": {"cluster": "shop"}, "partitioned_by_key": True}


@pytest.fixture
def signed(tmp_path: Path) -> Guarded:
    """A service with a stream whose pushes are signed, and one whose pushes are not."""
    secret = tmp_path / "secret"
    secret.write_bytes(SECRET)
    clusters = parse_clusters(
        f"""
        [clusters.shop]
        bootstrap_servers = "127.0.0.1:1"
        push = ["orders", "paid"]

        [[clusters.shop.signatures]]
        topics = ["paid"]
        header = "{SIGNATURE}"
        prefix = "sha256="
        secret = "${{file:{secret}}}"
        """,
        source="clusters.toml",
    )
    guarded = Guarded(clusters=clusters, producer=MemoryTopic())
    admin = guarded.token("ops", "admin:*")
    guarded.request("PUT", TABLE, admin, json=ORDERS).raise_for_status()
    for stream, topic in (("sales", "orders"), ("payments", "paid")):
        body = {"topic": topic, **KAFKA}
        guarded.request("PUT", f"{TABLE}/streams/{stream}", admin, json=body).raise_for_status()
    return guarded


def push(guarded: Guarded, path: str, headers: Mapping[str, str], body: bytes = SIGNED) -> int:
    answer = guarded.client.post(f"{path}/records?body=message", content=body, headers=headers)
    return answer.status_code


def signature(body: bytes = SIGNED) -> dict[str, str]:
    return {SIGNATURE: f"sha256={hmac.new(SECRET, body, hashlib.sha256).hexdigest()}"}


def test_a_signed_push_needs_no_token(signed: Guarded) -> None:
    paid = f"{TABLE}/streams/payments"
    body = b'{"id": 7, "region": "eu", "paid": "1.00"}'

    assert push(signed, paid, signature(body), body) == 200
    assert push(signed, paid, signature(b"other"), body) == 403
    assert push(signed, paid, {}, body) == 403


@pytest.mark.parametrize(
    "path",
    [f"{TABLE}/streams/sales", f"{TABLE}/streams/absent", "/v1/tables/shop/absent/streams/sales"],
)
def test_a_push_without_a_token_to_another_stream_is_refused_alike(
    signed: Guarded, path: str
) -> None:
    answer = signed.client.post(f"{path}/records", content=SIGNED, headers=signature())

    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert answer.json()["detail"].startswith("the push has no access token")
    assert answer.headers["www-authenticate"] == 'Bearer realm="braid"'


def test_a_token_does_not_take_the_place_of_a_signature(signed: Guarded) -> None:
    writer, reader = signed.token("w", "write:shop.orders"), signed.token("r", "read:shop.orders")

    assert push(signed, f"{TABLE}/streams/sales", bearer(writer)) == 200
    assert push(signed, f"{TABLE}/streams/payments", bearer(writer)) == 403
    assert push(signed, f"{TABLE}/streams/sales", bearer(reader)) == 403
    assert push(signed, f"{TABLE}/streams/payments", {**bearer("x"), **signature()}) == 401
