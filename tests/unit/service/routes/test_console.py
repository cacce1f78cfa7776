"""The console over HTTP: its page, its files, and the way to it."""

import gzip

import pytest

from braid.service.console.page_files import page_files
from tests.support.doc_examples import ROOT, doc_examples
from tests.unit.service.http_client import HttpClient

PAGE = "/console/"
BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
PLAIN = {"accept-encoding": "identity"}


def file_address(path: str) -> str:
    return f"{PAGE}{page_files().digest}/{path}"


def test_a_browser_at_the_root_is_sent_to_the_console(client: HttpClient) -> None:
    answer = client.get("/", headers=BROWSER)

    assert (answer.status_code, answer.headers["location"]) == (307, PAGE)


def test_a_program_at_the_root_finds_nothing(client: HttpClient) -> None:
    answer = client.get("/", headers={"accept": "application/json"})

    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_the_address_without_a_slash_leads_to_the_page(client: HttpClient) -> None:
    answer = client.get("/console")

    assert (answer.status_code, answer.headers["location"]) == (307, PAGE)


def test_the_page_may_load_only_what_the_service_has(client: HttpClient) -> None:
    answer = client.get(PAGE)

    policy = dict(
        part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";")
    )
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert {policy[f"{kind}-src"] for kind in ("script", "style", "connect", "img")} == {"'self'"}


def test_the_headers_in_the_guide_are_those_of_the_page(client: HttpClient) -> None:
    (example,) = doc_examples(ROOT / "docs" / "guides" / "console.md", "headers")
    shown = dict(line.split(": ", 1) for line in example.text.splitlines())

    headers = client.get(PAGE).headers

    assert {name: headers[name] for name in shown} == shown


def test_a_browser_asks_again_for_the_page_and_keeps_its_files(client: HttpClient) -> None:
    page, file = client.get(PAGE), client.get(file_address("js/console.js"))

    assert page.headers["cache-control"] == "no-cache"
    assert file.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert file.headers["content-type"] == "text/javascript; charset=utf-8"


@pytest.mark.parametrize("address", [PAGE, file_address("style.css")])
def test_what_a_browser_has_is_not_sent_again(client: HttpClient, address: str) -> None:
    etag = client.get(address).headers["etag"]

    known = client.get(address, headers={"if-none-match": f'"other", {etag}'})
    changed = client.get(address, headers={"if-none-match": '"other"'})

    assert (known.status_code, known.content) == (304, b"")
    assert known.headers["etag"] == etag
    assert changed.status_code == 200


@pytest.mark.parametrize("path", sorted(page_files().files))
def test_every_file_is_sent_compressed_where_the_client_reads_that(
    client: HttpClient, path: str
) -> None:
    compressed, plain = (
        client.get(file_address(path), headers=headers)
        for headers in ({"accept-encoding": "gzip, br"}, PLAIN)
    )

    assert compressed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert compressed.content == plain.content  # the client has decompressed it
    assert int(compressed.headers["content-length"]) == len(page_files().files[path].compressed)
    assert gzip.decompress(page_files().files[path].compressed) == plain.content


def test_head_answers_without_a_body(client: HttpClient) -> None:
    answer = client.request("HEAD", PAGE)

    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    "path",
    [
        "0123456789abcdef/js/console.js",
        "{digest}/js/none.js",
        "{digest}/%2e%2e/page_files.py",
        "{digest}/",
    ],
)
def test_what_is_no_file_of_this_console_is_not_found(client: HttpClient, path: str) -> None:
    answer = client.get(f"{PAGE}{path.replace('{digest}', page_files().digest)}")

    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_the_console_is_no_part_of_the_api(client: HttpClient) -> None:
    paths = client.get("/v1/openapi.json").json()["paths"]

    assert [path for path in paths if path == "/" or path.startswith("/console")] == []


def test_only_get_and_head_are_answered(client: HttpClient) -> None:
    answer = client.post(PAGE)

    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
