"""Trial login: one connection to a broker that only logs in, to get the broker's answer.

A broker that refuses a login sends an answer and closes the connection at once. kafka-python often notices the close before
it has read the answer. It then assumes a broken connection and tries again until its timeout, and the reason is lost.

With TLS but without a login, the broker is asked for its API versions, because it may refuse a certificate only with its
first answer. Without TLS and login, and for AWS_MSK_IAM, only the connection is made.
"""

import socket
import ssl
from typing import Any, Final

from kafka.errors import for_code
from kafka.net.sasl import get_sasl_mechanism
from kafka.protocol.metadata import ApiVersionsRequest
from kafka.protocol.parser import KafkaProtocol
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.kafka.shared_time import SharedTime

_CHUNK_BYTES: Final = 4_096
_ANSWER_BYTES_MAX: Final = 1 << 20
_REASON_MAX: Final = 300


class LoginRefusedError(Exception):
    """The broker's answer to the login."""


def try_login(cluster: KafkaCluster, *, host: str, port: int, within: SharedTime) -> None:
    """Connect to a broker and log in as a client of the cluster does; the connection is closed again.

    Without TLS and login only the connection is made.

    Args:
        cluster: How to log in.
        host: The broker's host.
        port: Its port.
        within: How long it may take: connecting, which the addresses of the host share, TLS's handshake and the login
            together. The resolution of the host's name is bounded by the system alone.

    Raises:
        InvalidRequest: The options of security cannot be applied.
        LoginRefusedError: The broker refuses the login.
        OSError: There is no connection, or no answer in time; of `ssl`, TLS was refused by one of both sides.
    """
    options = cluster.client_options
    with _connect(host, port, within) as plain:
        if "security_protocol" not in options:
            return
        tls: ssl.SSLContext | None = options.get("ssl_context")
        # The whole handshake has this time, not each of its steps.
        plain.settimeout(within.left_s())
        secured = plain if tls is None else tls.wrap_socket(plain, server_hostname=host)
        with secured:
            dialog = _Dialog(secured, within)
            mechanism = options.get("sasl_mechanism")
            if mechanism is None:
                # With TLS 1.3 a broker refuses a client's certificate only in its first answer.
                dialog.ask(ApiVersionsRequest(version=0))
            elif mechanism != "AWS_MSK_IAM":
                _log_in(dialog, mechanism, {**options, "host": host})


def _connect(host: str, port: int, within: SharedTime) -> socket.socket:
    """Return a connection to one of the addresses of a host; the error is that of the last one.

    Python's own `create_connection` gives each address the whole time.
    """
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    last: OSError | None = None
    for tried, (family, kind, protocol, _, address) in enumerate(addresses):
        connection = None
        try:
            seconds = within.part(len(addresses) - tried).left_s()
            connection = socket.socket(family, kind, protocol)
            connection.settimeout(seconds)
            connection.connect(address)
        except OSError as error:
            last = error
            if connection is not None:
                connection.close()
        else:
            return connection
    assert last is not None, "a name that is resolved has an address"
    raise last


def _log_in(dialog: "_Dialog", name: str, options: dict[str, Any]) -> None:
    handshake = dialog.ask(SaslHandshakeRequest(mechanism=name, version=1))
    if handshake.error_code:
        known = ", ".join(handshake.mechanisms) or "none"
        message = (
            f"{for_code(handshake.error_code).__name__}, the broker has the mechanisms {known}"
        )
        raise LoginRefusedError(message)
    mechanism = get_sasl_mechanism(name)(**options)
    while not mechanism.is_done():
        answer = dialog.ask(SaslAuthenticateRequest(auth_bytes=mechanism.auth_bytes(), version=1))
        if answer.error_code:
            reason = answer.error_message or for_code(answer.error_code).__name__
            raise LoginRefusedError(reason[:_REASON_MAX])
        try:
            mechanism.receive(answer.auth_bytes)
        except (ValueError, KeyError) as error:
            message = "the broker's answer does not prove that the broker knows the password"
            raise LoginRefusedError(message) from error


class _Dialog:
    """Requests to one broker and their answers, in turn."""

    def __init__(self, connection: socket.socket, within: SharedTime) -> None:
        self._connection = connection
        self._within = within
        self._protocol = KafkaProtocol(receive_message_max_bytes=_ANSWER_BYTES_MAX)

    def ask(self, request: Any) -> Any:
        """Return the answer to a request."""
        self._protocol.send_request(request)
        self._connection.settimeout(self._within.left_s())
        self._connection.sendall(self._protocol.send_bytes())
        while True:
            self._connection.settimeout(self._within.left_s())
            data = self._connection.recv(_CHUNK_BYTES)
            if not data:
                message = "the broker closed the connection"
                raise ConnectionResetError(message)
            for _, answer in self._protocol.receive_bytes(data):
                return answer
