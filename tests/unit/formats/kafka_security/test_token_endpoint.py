"""The token endpoint: what is asked, and every answer that is no token."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from braid.formats.kafka_security.token_endpoint import (
    ANSWER_BYTES_MAX,
    EndpointClient,
    TokenEndpoint,
)
from braid.lake import StorageUnavailable
from tests.support.sent_bytes import LookedAtClock, sending

SECRET = "s3cret/+="
HEAD = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
TOKEN = b'{"access_token": "abc"}'


class Server:
    """Gives one answer to every request, and keeps the requests."""

    def __init__(self) -> None:
        self.url = ""
        self.status = 200
        self.body: bytes = b""
        self.headers: dict[str, str] = {}
        self.requests: list[tuple[str, dict[str, str], bytes]] = []

    def endpoint(self, **fields: Any) -> TokenEndpoint:
        """The endpoint as a client is configured with it."""
        return TokenEndpoint(url=self.url, client_id="braid", client_secret=SECRET, **fields)


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.requests.append((self.path, dict(self.headers), body))
            self.send_response(found.status)
            for name, value in found.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(found.body)))
            self.end_headers()
            self.wfile.write(found.body)

        def do_GET(self) -> None:  # what a followed redirect would ask
            found.requests.append((self.path, dict(self.headers), b""))

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    found.url = f"http://127.0.0.1:{http.server_address[1]}/oauth/token?tenant=a"
    try:
        yield found
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


def test_the_client_asks_with_its_login_and_scope(server: Server) -> None:
    server.body = json.dumps({"access_token": "abc.def", "expires_in": 300}).encode()

    issued = EndpointClient(server.endpoint(scope="kafka read")).ask()

    (path, headers, body) = server.requests[0]
    assert (issued.text, issued.life_s) == ("abc.def", 300.0)
    assert path == "/oauth/token?tenant=a"
    assert base64.b64decode(headers["Authorization"].removeprefix("Basic ")) == (
        f"braid:{SECRET}".encode()
    )
    assert body == b"grant_type=client_credentials&scope=kafka+read"


@pytest.mark.parametrize("life", [None, 0, -1, True, "300", [1]])
def test_a_life_that_is_no_number_is_unknown(server: Server, life: object) -> None:
    server.body = json.dumps({"access_token": "abc", "expires_in": life}).encode()

    assert EndpointClient(server.endpoint()).ask().life_s is None


def test_a_life_of_any_number_of_digits_is_long(server: Server) -> None:
    server.body = b'{"access_token": "abc", "expires_in": 1' + b"0" * 400 + b"}"

    issued = EndpointClient(server.endpoint()).ask()

    assert issued.life_s is not None
    assert 10**8 < issued.life_s < float("inf")


@pytest.mark.parametrize(
    "pieces",
    [
        [*[b"HTTP/1.1 100 Continue\r\n\r\n"] * 50, HEAD + TOKEN],
        [HEAD.rstrip() + b"\r\n", *[b"A: b\r\n"] * 50, b"\r\n" + TOKEN],
        [HEAD, *[b" "] * 50, TOKEN],
    ],
    ids=["other answers", "headers", "body"],
)
def test_an_answer_that_comes_bit_by_bit_is_not_waited_for(pieces: list[bytes]) -> None:
    def ask(timeout_ms: int) -> str:
        clock = LookedAtClock()
        with sending(*pieces, clock=clock) as url:
            endpoint = TokenEndpoint(
                url=url, client_id="a", client_secret=SECRET, timeout_ms=timeout_ms
            )
            return EndpointClient(endpoint, now_s=clock.now_s).ask().text

    assert ask(1_000_000) == "abc"
    with pytest.raises(StorageUnavailable, match="does not answer within 10000 ms"):
        ask(10_000)


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (401, b'{"error": "invalid_client"}', r"answers 401 \(invalid_client\)"),
        (401, b'{"error": "s3cret/+= is wrong"}', "answers 401, the client is refused"),
        (302, b"", "answers 302, a redirect, which is not followed"),
        (500, b"<html>", "answers 500"),
        (200, b"<html>", "without a token"),
        (200, b'{"access_token": 7}', "without a token"),
        (200, b'{"access_token": "s3cret/+=\\n"}', "visible ASCII"),
        (200, b"x" * (ANSWER_BYTES_MAX + 1), "answers with more than"),
    ],
)
def test_an_answer_without_a_token_is_told_without_secrets(
    server: Server, status: int, body: bytes, expected: str
) -> None:
    server.status, server.body = status, body
    server.headers = {"Location": server.url}

    with pytest.raises(StorageUnavailable, match=expected) as caught:
        EndpointClient(server.endpoint()).ask()

    assert [path for path, _, _ in server.requests] == ["/oauth/token?tenant=a"]
    assert SECRET not in f"{caught.value} {server.endpoint()}"


@pytest.mark.parametrize("host", ["127.0.0.1:1", "login..example", f"{'a' * 64}.example"])
def test_a_server_that_is_not_there_is_told(host: str) -> None:
    endpoint = TokenEndpoint(url=f"http://{host}/token", client_id="a", client_secret=SECRET)

    with pytest.raises(StorageUnavailable, match="cannot be reached"):
        EndpointClient(endpoint).ask()
