"""Requests that a page of another site makes a browser send change nothing."""

import pytest
from starlette.types import ASGIApp

from braid.service.guard.same_site import SameSite
from tests.unit.service.guard.asgi import Guard, ask

JSON = {"content-type": "application/json"}


def guard(
    *, hosts: tuple[str, ...] | None = ("braid.example",), bound_host: str = "10.0.0.5"
) -> Guard:
    def put_before(app: ASGIApp) -> ASGIApp:
        return SameSite(
            app, hosts=hosts, origins=["https://console.example"], bound_host=bound_host
        )

    return put_before


@pytest.mark.parametrize(
    "host",
    ["localhost:8080", "127.0.0.1", "[::1]:8080", "10.0.0.5:8080", "BRAID.example.", "localhost"],
)
def test_names_that_operators_know_are_served(host: str) -> None:
    assert ask(guard(), host=host).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "10.0.0.6",
        "",
        "localhost.evil.example",
        "[",
        "localhost:8080@evil.example",
        "localhost:80:80",
        "[::1]evil.example",
    ],
)
def test_other_names_are_refused(host: str) -> None:
    answer = ask(guard(), host=host)

    assert (answer.status_code, answer.json()["code"]) == (421, "host_refused")
    assert ask(guard(), path="/health", host=host).status_code == 200


def test_of_a_wildcard_any_address_is_known_and_no_other_name() -> None:
    assert ask(guard(bound_host="0.0.0.0"), host="10.9.9.9:8080").status_code == 200
    assert ask(guard(bound_host="::"), host="evil.example").status_code == 421


@pytest.mark.parametrize("hosts", [None, ("*",)])
def test_any_name_is_served_where_operators_say_so(hosts: tuple[str, ...] | None) -> None:
    assert ask(guard(hosts=hosts), host="whatever").status_code == 200


@pytest.mark.parametrize(
    "origin",
    ["http://localhost:8080", "https://localhost:8080", "https://console.example", None],
)
def test_pages_of_the_service_and_of_known_sites_change_things(origin: str | None) -> None:
    headers = JSON if origin is None else {**JSON, "origin": origin}

    assert ask(guard(), "POST", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://localhost", "http://localhost:x", "file://", ""],
)
@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_pages_of_other_sites_do_not(origin: str, method: str) -> None:
    answer = ask(guard(), method, headers={**JSON, "origin": origin})

    assert (answer.status_code, answer.json()["code"]) == (403, "origin_refused")
    assert ask(guard(), "GET", headers={"origin": origin}).status_code == 200


def test_of_several_origins_each_has_to_be_known() -> None:
    known, foreign = ("origin", "http://localhost:8080"), ("origin", "http://evil.example")

    for given in ([known, foreign], [foreign, known]):
        answer = ask(guard(), "POST", headers=JSON, more_headers=given)
        assert (answer.status_code, answer.json()["code"]) == (403, "origin_refused")
    assert ask(guard(), "POST", headers=JSON, more_headers=[known, known]).status_code == 200


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=utf-16",
        "text/json",
        "",
    ],
)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_what_a_form_can_send_is_refused_without_a_body_too(
    content_type: str | None, method: str
) -> None:
    headers = {} if content_type is None else {"content-type": content_type}

    answer = ask(guard(), method, headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


def test_the_connection_of_a_refused_body_stays_so_that_its_sender_reads_the_answer() -> None:
    answer = ask(guard(), "POST", headers={"content-type": "text/plain"})

    assert (answer.status_code, "connection" in answer.headers) == (415, False)


@pytest.mark.parametrize(
    "content_type",
    ["application/json", 'Application/JSON; charset="UTF-8"', "application/merge-patch+json"],
)
def test_json_is_fine(content_type: str) -> None:
    assert ask(guard(), "POST", headers={"content-type": content_type}).status_code == 200


@pytest.mark.parametrize(
    ("coding", "status"), [("gzip", 415), ("br, gzip", 415), ("identity", 200), ("", 200)]
)
def test_a_compressed_body_is_refused(coding: str, status: int) -> None:
    headers = {"content-type": "application/json", "content-encoding": coding}

    answer = ask(guard(), "POST", headers=headers)

    assert answer.status_code == status
