"""A server listens at every address of its host, or reports in one line why it cannot."""

import errno
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from typer.testing import CliRunner

from braid.cli.main import app
from braid.lake import InvalidRequest
from braid.service.http.listening_sockets import address_of, check_loopback, listening_sockets


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


def test_connections_wait_until_they_are_accepted() -> None:
    with ExitStack() as stack:
        (one,) = map(stack.enter_context, listening_sockets("127.0.0.1", 0))
        host, port = one.getsockname()
        client = stack.enter_context(socket.create_connection((host, port)))
        client.sendall(b"x")
        accepted, _ = one.accept()
        assert stack.enter_context(accepted).recv(1) == b"x"
        assert address_of(one) == f"127.0.0.1:{port}"


def test_all_addresses_of_a_name_have_one_port() -> None:
    with ExitStack() as stack:
        sockets = [stack.enter_context(one) for one in listening_sockets("localhost", 0)]
        assert len({one.getsockname()[1] for one in sockets}) == 1


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("192.0.2.1", "hint: name an address of this machine"),  # kept for documentation
        ("no such host", "hint: name an address of this machine"),
    ],
)
def test_a_host_that_is_not_this_machine_is_refused(host: str, said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        listening_sockets(host, 0)


def test_a_family_that_the_machine_lacks_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.socket

    def made(family: int, *arguments: int) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError(errno.EAFNOSUPPORT, "no such family")
        return real(family, *arguments)

    addresses = [
        (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", 0, 0, 0)),
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0)),
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: addresses)
    monkeypatch.setattr(socket, "socket", made)

    (one,) = listening_sockets("localhost", 0)

    with one:
        assert one.getsockname()[0] == "127.0.0.1"


def test_a_port_in_use_is_reported_in_one_line(tmp_path: Path, taken: int) -> None:
    (tmp_path / "w").mkdir()
    arguments = ["service", "--warehouse", str(tmp_path / "w"), "--port", str(taken)]

    result = CliRunner().invoke(app, arguments)

    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        f"error: cannot listen at 127.0.0.1:{taken}: Address already in use; "
        "hint: name another port with `--port`, or stop the process that listens there"
    ]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost"])
def test_a_loopback_address_is_for_this_machine_alone(host: str) -> None:
    with ExitStack() as stack:
        sockets = [stack.enter_context(one) for one in listening_sockets(host, 0)]
        check_loopback(host, sockets)
        assert all(one.fileno() >= 0 for one in sockets)


def test_an_address_that_others_can_reach_is_refused_without_access_control() -> None:
    sockets = listening_sockets("0.0.0.0", 0)

    with pytest.raises(InvalidRequest, match="other machines can reach"):
        check_loopback("0.0.0.0", sockets)

    assert all(one.fileno() == -1 for one in sockets)


def test_a_service_without_access_control_does_not_start_where_others_can_reach_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "w").mkdir()
    arguments = ["service", "--warehouse", str(tmp_path / "w"), "--port", "0"]

    result = CliRunner().invoke(app, [*arguments, "--host", "0.0.0.0", "--no-access-control"])

    assert result.exit_code == 2
    assert result.stderr.startswith("error: without access control the service does not listen at")
    assert "hint: leave out `--no-access-control`" in result.stderr
