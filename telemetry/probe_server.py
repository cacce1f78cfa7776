"""HTTP server of a process that serves nothing else: `/metrics`, `/health` and `/ready`, in a few threads.

A runner and `braid maintain` have one where a port is given. Connections that are slow, or too many, are closed, so that they keep
neither threads nor Prometheus waiting.
"""

import json
import logging
import socket
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from prometheus_client.registry import Collector

from braid.lake import InvalidRequest
from braid.telemetry.metric_texts import metrics_text

_CONNECTIONS_MAX: Final = 16
_TIMEOUT_S: Final = 5.0

_Request = socket.socket | tuple[bytes, socket.socket]  # as the base classes declare it

logger = logging.getLogger(__name__)


class ProbeServer:
    """Serves the metrics and the state of a process until it is closed."""

    def __init__(
        self,
        registry: Collector,
        *,
        host: str,
        port: int,
        not_ready: Callable[[], str | None],
    ) -> None:
        """Listen; nothing is answered before `start`.

        Args:
            registry: The metrics.
            host: The address to listen at.
            port: The port; 0: any free port.
            not_ready: Returns why the process is not ready; None: it is.

        Raises:
            InvalidRequest: The address is not one of this machine, or the port is in use or not permitted.
        """

        class Handler(_Handler):
            REGISTRY = registry
            NOT_READY = staticmethod(not_ready)

        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._server = _server_class(family)((host, port), Handler)
        except OSError as error:
            message = (
                f"cannot listen at {host}:{port} for metrics: {error.strerror or error}\n"
                "hint: name another port with `--metrics-port`, or an address with `--metrics-host`"
            )
            raise InvalidRequest(message) from error

    @property
    def port(self) -> int:
        """The port."""
        return int(self._server.server_address[1])

    def start(self) -> None:
        """Answer, in threads that do not keep the process alive."""
        threading.Thread(target=self._server.serve_forever, name="probes", daemon=True).start()
        host = self._server.server_address[0]
        logger.info("metrics at http://%s:%d/metrics", host, self.port)

    def close(self) -> None:
        """Answer no further request."""
        self._server.shutdown()
        self._server.server_close()


def _server_class(family: socket.AddressFamily) -> type[ThreadingHTTPServer]:
    class Server(_BoundedServer):
        address_family = family

    return Server


class _BoundedServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a slow client must not delay the end of the process

    def server_activate(self) -> None:
        super().server_activate()
        self._slots = threading.BoundedSemaphore(_CONNECTIONS_MAX)

    def process_request(self, request: _Request, client_address: Any) -> None:
        """Answer a request in a thread, or close it if all threads are in use."""
        if not self._slots.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: _Request, client_address: Any) -> None:
        """Answer a request, and free its slot."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """Log what a request has failed with, without a trace: most clients that fail are gone."""
        logger.info("a request for metrics has failed", exc_info=logger.isEnabledFor(logging.DEBUG))


class _Handler(BaseHTTPRequestHandler):
    REGISTRY: Collector
    NOT_READY: Callable[[], str | None]
    timeout = _TIMEOUT_S
    server_version = "braid"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer a request."""
        path = self.path.partition("?")[0]
        if path == "/metrics":
            text, media_type = metrics_text(self.REGISTRY, self.headers.get("accept"))
            self._answer(HTTPStatus.OK, text, media_type)
        elif path == "/health":
            self._answer_json(HTTPStatus.OK, {"status": "alive"})
        elif path == "/ready":
            reason = self.NOT_READY()
            if reason is None:
                self._answer_json(HTTPStatus.OK, {"status": "ready"})
            else:
                found = {"status": "not_ready", "detail": reason}
                self._answer_json(HTTPStatus.SERVICE_UNAVAILABLE, found)
        else:
            detail = "this port serves /metrics, /health and /ready"
            self._answer_json(HTTPStatus.NOT_FOUND, {"status": "not_found", "detail": detail})

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Log a request if somebody wants to see it: Prometheus asks every few seconds."""
        logger.debug(format, *args)

    def _answer_json(self, status: HTTPStatus, body: dict[str, str]) -> None:
        self._answer(status, json.dumps(body).encode(), "application/json")

    def _answer(self, status: HTTPStatus, body: bytes, media_type: str) -> None:
        self.send_response(status)
        self.send_header("content-type", media_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
