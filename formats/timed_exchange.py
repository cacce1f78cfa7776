"""HTTP exchange with one deadline for the whole exchange: connection, TLS, request, status, headers and body.

The timeout of a socket applies to each read and write, so a response that arrives byte by byte would never time out. Here the
timeout is set to the remaining time before the connection, before TLS, and before each write of the request and each read of
the response. Only the lookup of the host name has the system's own timeouts.
"""

import http.client
import io
import socket
import ssl
from collections.abc import Callable, Mapping
from typing import Any, cast
from urllib.parse import urlsplit


class Deadline:
    """The end of the time for something."""

    def __init__(self, seconds: float, now_s: Callable[[], float]) -> None:
        """Begin now.

        Args:
            seconds: The time.
            now_s: The clock, seconds.
        """
        self._now_s = now_s
        self._end_s = now_s() + seconds

    def left_s(self) -> float:
        """Return how much of the time is left, in seconds, more than 0.

        Raises:
            TimeoutError: Nothing is.
        """
        left = self._end_s - self._now_s()
        if left <= 0:
            raise TimeoutError
        return left


class TimedExchange:
    """One request to a server and its answer; a context manager that closes the connection.

    Every method raises TimeoutError as soon as the deadline is over, OSError where the server cannot be reached or
    trusted, and `http.client.HTTPException` where it does not speak HTTP.
    """

    def __init__(self, url: str, deadline: Deadline, *, tls: Callable[[], ssl.SSLContext]) -> None:
        """Prepare; nothing is sent yet.

        Args:
            url: The server's address, `http://` or `https://`, and the path above all that it is asked for; what
                follows the path is not sent.
            deadline: When the exchange has to be over.
            tls: Returns what certificates are checked with; called for `https://` only.
        """
        parts = urlsplit(url)
        assert parts.hostname is not None, "an address has a host"
        self._host, self._path = parts.hostname, parts.path
        self._deadline = deadline
        self._tls = tls() if parts.scheme == "https" else None
        self._connection = (
            http.client.HTTPConnection(parts.hostname, parts.port)
            if self._tls is None
            else http.client.HTTPSConnection(parts.hostname, parts.port, context=self._tls)
        )

    def __enter__(self) -> "TimedExchange":
        """Return itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the connection."""
        self._connection.close()

    def get(self, path: str, headers: Mapping[str, str]) -> http.client.HTTPResponse:
        """Return the answer to a GET, of which status and headers are read; its body is read in time, too."""
        return self._ask("GET", path, headers, None)

    def post(self, path: str, headers: Mapping[str, str], body: bytes) -> http.client.HTTPResponse:
        """Return the answer to a POST, as `get` does."""
        return self._ask("POST", path, headers, body)

    def _ask(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None
    ) -> http.client.HTTPResponse:
        connection = self._connection
        found = _connected(self._host, connection.port, self._deadline)
        connection.sock = found
        if self._tls is not None:
            found.settimeout(self._deadline.left_s())
            connection.sock = found = self._tls.wrap_socket(found, server_hostname=self._host)
        # Of a socket the connection calls these two methods and no others.
        connection.sock = cast(socket.socket, _TimedSender(found, self._deadline))
        connection.request(method, f"{self._path}{path}", body=body, headers=dict(headers))
        response = _TimedResponse(found, self._deadline, method)
        response.begin()
        return response


class _TimedSender:
    """A socket that sends until a deadline, however many calls that takes."""

    def __init__(self, connected: socket.socket, deadline: Deadline) -> None:
        self._socket = connected
        self._deadline = deadline

    def sendall(self, data: bytes) -> None:
        # Not the `sendall` of the socket: with TLS each record has the whole limit there.
        left = memoryview(data)
        while left:
            self._socket.settimeout(self._deadline.left_s())
            left = left[self._socket.send(left) :]

    def close(self) -> None:
        self._socket.close()


class _TimedResponse(http.client.HTTPResponse):
    def __init__(self, connected: socket.socket, deadline: Deadline, method: str) -> None:
        super().__init__(connected, method=method)
        self.fp.close()
        self.fp = io.BufferedReader(_TimedReader(connected, deadline))


class _TimedReader(io.RawIOBase):
    """The bytes that a socket receives until a deadline."""

    def __init__(self, connected: socket.socket, deadline: Deadline) -> None:
        self._socket = connected
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._socket.settimeout(self._deadline.left_s())
        return self._socket.recv_into(buffer)


def _connected(host: str, port: int, deadline: Deadline) -> socket.socket:
    """Return a connection to the first of a host's addresses that accepts one; each has its share of the time."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # a name with a part that is empty or has more than 63 characters
        message = "the name of the host is not valid"
        raise OSError(message) from error
    refused: OSError | None = None
    for number, (family, kind, protocol, _, address) in enumerate(addresses):
        found = socket.socket(family, kind, protocol)
        try:
            found.settimeout(deadline.left_s() / (len(addresses) - number))
            found.connect(address)
        except OSError as error:
            found.close()
            refused = error
        else:
            return found
    raise refused or OSError("the host has no address")
