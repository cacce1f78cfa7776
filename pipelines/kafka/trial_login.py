"""Trial login: one connection to a broker that logs in and reads no topic, to learn the broker's own answer.

A broker that refuses a login answers and closes at once. kafka-python often sees the end before the answer, takes
it for a broken connection, and tries again until its timeout, without the reason.

With TLS and no login the broker is asked for its API versions, because it may refuse a certificate only in its first
answer. Without either, and for AWS_MSK_IAM, only the connection is made.
"""

import socket
import ssl
import time
from typing import Any, Final

from kafka.errors import for_code
from kafka.net.sasl import get_sasl_mechanism
from kafka.protocol.metadata import ApiVersionsRequest
from kafka.protocol.parser import KafkaProtocol
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from braid.pipelines.kafka.cluster import KafkaCluster

_CHUNK_BYTES: Final = 4_096
_ANSWER_BYTES_MAX: Final = 1 << 20
_REASON_MAX: Final = 300


class LoginRefusedError(Exception):
    """The broker's answer to the login."""


def try_login(cluster: KafkaCluster, *, host: str, port: int, seconds: float) -> None:
    """Connect to a broker and log in as a client of the cluster does; the connection is closed again.

    Without TLS and login only the connection is made.

    Args:
        cluster: How to log in.
        host: The broker's host.
        port: Its port.
        seconds: How long it may take. Connecting has this time for each address of the host, and each step of TLS's
            handshake has it, too; what is left of it after them is for the login.

    Raises:
        InvalidRequest: The options of security cannot be applied.
        LoginRefusedError: The broker refuses the login.
        OSError: There is no connection, or no answer in time; of `ssl`, TLS was refused by one of both sides.
    """
    deadline_s = time.monotonic() + seconds
    options = cluster.client_options
    with socket.create_connection((host, port), timeout=seconds) as plain:
        if "security_protocol" not in options:
            return
        tls: ssl.SSLContext | None = options.get("ssl_context")
        secured = plain if tls is None else tls.wrap_socket(plain, server_hostname=host)
        with secured:
            dialog = _Dialog(secured, deadline_s)
            mechanism = options.get("sasl_mechanism")
            if mechanism is None:
                # With TLS 1.3 a broker refuses a client's certificate only in its first answer.
                dialog.ask(ApiVersionsRequest(version=0))
            elif mechanism != "AWS_MSK_IAM":
                _log_in(dialog, mechanism, {**options, "host": host})


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
            message = "the broker does not know the password either: its answer cannot be verified"
            raise LoginRefusedError(message) from error


class _Dialog:
    """Requests to one broker and their answers, in turn."""

    def __init__(self, connection: socket.socket, deadline_s: float) -> None:
        self._connection = connection
        self._deadline_s = deadline_s
        self._protocol = KafkaProtocol(receive_message_max_bytes=_ANSWER_BYTES_MAX)

    def ask(self, request: Any) -> Any:
        """Return the answer to a request."""
        self._protocol.send_request(request)
        self._connection.sendall(self._protocol.send_bytes())
        while True:
            left_s = self._deadline_s - time.monotonic()
            if left_s <= 0:
                raise TimeoutError
            self._connection.settimeout(left_s)
            data = self._connection.recv(_CHUNK_BYTES)
            if not data:
                message = "the broker closed the connection"
                raise ConnectionResetError(message)
            for _, answer in self._protocol.receive_bytes(data):
                return answer
