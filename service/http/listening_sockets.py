"""Listening sockets of a server, opened before the rest of the server is created.

A port in use is the most common mistake at a start; uvicorn alone would report it last, after logging that
the application has started.
"""

import errno
import ipaddress
import socket
from collections.abc import Sequence
from contextlib import ExitStack

from braid.lake import InvalidRequest


def listening_sockets(host: str, port: int) -> list[socket.socket]:
    """Return a socket for each address of a host; connections wait until the server accepts them.

    Args:
        host: The host's name or address.
        port: The port; 0: any free port, the same for all addresses.

    Raises:
        InvalidRequest: The host has no address here, or the port is in use or not permitted.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise _refused(host, port, error) from error
    absent: OSError | None = None
    with ExitStack() as opened:
        sockets: list[socket.socket] = []
        for family, kind, protocol, _, address in dict.fromkeys(found):
            try:
                one = opened.enter_context(socket.socket(family, kind, protocol))
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                one.bind((address[0], port, *address[2:]))
                one.listen()  # listen at once: SO_REUSEADDR lets two sockets bind as long as neither listens
            except OSError as error:
                # `localhost` may have an address of a family that the machine lacks, such as IPv6.
                if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                    raise _refused(host, port, error) from error
                absent = error
                continue
            port = one.getsockname()[1]
            sockets.append(one)
        if absent is not None and not sockets:
            raise _refused(host, port, absent) from absent
        opened.pop_all()
        return sockets


def check_loopback(host: str, sockets: Sequence[socket.socket]) -> None:
    """Close the sockets of a host and refuse it, unless only processes of this machine reach all of them.

    Raises:
        InvalidRequest: Other machines may reach one.
    """
    reachable = [one for one in sockets if not _is_loopback(one)]
    if not reachable:
        return
    for one in sockets:
        one.close()
    message = (
        f"without access control the service does not listen at {host}, which other machines can reach\n"
        "hint: leave out `--no-access-control`, and make access tokens with `braid token create`; "
        "or listen at 127.0.0.1"
    )
    raise InvalidRequest(message)


def _is_loopback(one: socket.socket) -> bool:
    return ipaddress.ip_address(one.getsockname()[0].partition("%")[0]).is_loopback


def address_of(one: socket.socket) -> str:
    """Return `host:port` of a bound socket."""
    return _joined(*one.getsockname()[:2])


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _refused(host: str, port: int, error: Exception) -> InvalidRequest:
    number = getattr(error, "errno", None)
    hint = "name an address of this machine with `--host`"
    if number == errno.EADDRINUSE:
        hint = "name another port with `--port`, or stop the process that listens there"
    elif number == errno.EACCES:
        hint = "name a port above 1023 with `--port`"
    reason = getattr(error, "strerror", None) or error
    return InvalidRequest(f"cannot listen at {_joined(host, port)}: {reason}\nhint: {hint}")
