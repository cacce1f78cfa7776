"""A client tells a schema, a schema that is not there, and a registry that is not available apart."""

import re
import socket

import pytest

from braid.formats.schema_registry.registry_client import (
    ANSWER_BYTES_MAX,
    NotRegisteredError,
    OversizedAnswerError,
    RegistryClient,
)
from braid.lake import StorageUnavailable
from tests.support.registry_server import (
    CERTIFICATE,
    Answer,
    RegistryServer,
    registry_server,
    unknown,
)
from tests.support.sent_bytes import LookedAtClock, sending
from tests.unit.formats.schema_registry.conftest import connection

PATH = "/schemas/ids/7"
SCHEMA = b'{"schema": "{}"}'
HEAD = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
SECRET = "Basic aHVudGVyMg=="


def refusal(*urls: str, **fields: object) -> str:
    with pytest.raises(StorageUnavailable) as caught:
        RegistryClient(connection(*urls, **fields)).schema(PATH)
    return str(caught.value)


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_schema_is_asked_for_with_the_login_below_the_path_of_the_address(
    server: RegistryServer,
) -> None:
    server.put(f"/apis/v7{PATH}", Answer(body={"schema": "{}", "schemaType": "JSON"}))

    client = RegistryClient(connection(f"{server.url}/apis/v7", authorization=SECRET))

    assert client.schema(PATH) == {"schema": "{}", "schemaType": "JSON"}
    ((_, headers),) = server.requests
    assert headers["Authorization"] == SECRET
    assert headers["Accept"].startswith("application/vnd.schemaregistry.v1+json")


@pytest.mark.parametrize("code", [40401, 40402, 40403])
def test_only_a_registrys_code_says_that_a_schema_is_not_there(
    server: RegistryServer, code: int
) -> None:
    server.put(PATH, unknown(code))

    with pytest.raises(NotRegisteredError):
        RegistryClient(connection(server.url)).schema(PATH)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(status=500), "answers 500"),
        (Answer(status=503, body={"error_code": 50003}), "answers 503"),
        (Answer(status=429), "answers 429"),
        (Answer(status=404, body=b"<html>"), "answers 404 without a registry's error code"),
        (Answer(status=404, body={"error_code": 404}), "answers 404 without"),
        (Answer(status=404, body=[]), "answers 404 without"),
        (Answer(body=b"<html>welcome</html>"), "answers 200 without a schema"),
        (Answer(body={"schema": 7}), "answers 200 without a schema"),
        (Answer(body=b"[" * 100_000), "answers 200 without a schema"),
        (Answer(status=500, body=b" " * (ANSWER_BYTES_MAX + 1)), "answers 500"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_other_answer_means_that_the_registry_is_not_available(
    server: RegistryServer, answer: Answer, reason: str
) -> None:
    server.put(PATH, answer)

    message = refusal(server.url, authorization=SECRET)

    assert f"the schema registry `shop` is not available: {server.url} {reason}" in message
    assert SECRET not in message


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_login_is_told_with_the_place_to_correct_it(
    server: RegistryServer, status: int
) -> None:
    server.put(PATH, Answer(status=status, body={"error_code": status}))

    message = refusal(server.url, authorization=SECRET)

    assert f"answers {status}, the login is refused\nhint: " in message
    assert "[schema_registries.shop]" in message
    assert SECRET not in message


def test_a_redirect_is_not_followed(server: RegistryServer) -> None:
    with registry_server() as other:
        other.put(PATH, Answer(body={"schema": "{}"}))
        location = {"Location": f"{other.url}{PATH}"}
        server.put(PATH, Answer(status=307, headers=location))

        assert "answers 307, a redirect" in refusal(server.url, authorization=SECRET)
        assert other.requests == []


def test_an_address_that_refuses_connections_is_named() -> None:
    url = f"http://127.0.0.1:{closed_port()}"

    assert f"{url} cannot be reached: Connection refused" in refusal(url)


def test_a_registry_that_is_silent_is_not_waited_for(server: RegistryServer) -> None:
    server.stuck.add(PATH)

    assert f"{server.url} does not answer within 50 ms" in refusal(server.url, timeout_ms=50)


@pytest.mark.parametrize(
    "pieces",
    [
        [*[b"HTTP/1.1 100 Continue\r\n\r\n"] * 50, HEAD + b"\r\n" + SCHEMA],
        [HEAD, *[b"A: b\r\n"] * 50, b"\r\n" + SCHEMA],
        [HEAD + b"\r\n", *[b" "] * 50, SCHEMA],
    ],
    ids=["other answers", "headers", "body"],
)
def test_an_answer_that_comes_bit_by_bit_is_not_waited_for(pieces: list[bytes]) -> None:
    def ask(timeout_ms: int) -> object:
        clock = LookedAtClock()
        with sending(*pieces, clock=clock) as url:
            client = RegistryClient(connection(url, timeout_ms=timeout_ms), now_s=clock.now_s)
            return client.schema(PATH)

    assert ask(timeout_ms=1_000_000) == {"schema": "{}"}
    with pytest.raises(StorageUnavailable, match="does not answer within 10000 ms"):
        ask(timeout_ms=10_000)


def test_a_server_of_another_protocol_is_named() -> None:
    with sending(b"220 mail.example\r\n") as url:
        assert "does not speak HTTP" in refusal(url)


def test_a_schema_without_end_is_not_read(server: RegistryServer) -> None:
    server.put(PATH, Answer(body=b" " * (ANSWER_BYTES_MAX + 1)))

    with pytest.raises(OversizedAnswerError):
        RegistryClient(connection(server.url)).schema(PATH)


def test_the_next_address_answers_for_one_that_does_not_and_is_asked_first_from_then_on(
    server: RegistryServer,
) -> None:
    down = f"http://127.0.0.1:{closed_port()}"
    server.put(PATH, Answer(body={"schema": "{}"}))
    client = RegistryClient(connection(down, server.url))

    assert [client.schema(PATH), client.schema(PATH)] == [{"schema": "{}"}] * 2
    with registry_server() as behind:
        assert RegistryClient(connection(behind.url, server.url)).schema(PATH) == {"schema": "{}"}
        assert behind.paths == [PATH]


def test_a_schema_is_unknown_where_no_address_has_it_and_one_has_answered(
    server: RegistryServer,
) -> None:
    down = f"http://127.0.0.1:{closed_port()}"

    with pytest.raises(NotRegisteredError):
        RegistryClient(connection(server.url, down)).schema(PATH)
    both = refusal(down, down)
    assert len(re.findall("cannot be reached", both)) == 2


def test_the_certificate_of_a_registry_has_to_be_signed_by_those_of_the_file() -> None:
    with registry_server(is_tls=True) as server:
        server.put(PATH, Answer(body={"schema": "{}"}))
        trusted = connection(server.url, certificates=CERTIFICATE.read_text())

        assert RegistryClient(trusted).schema(PATH) == {"schema": "{}"}
        assert "certificate verify failed" in refusal(server.url)
