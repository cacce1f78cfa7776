"""Schema registry for tests: a server that gives the answers it is told, and keeps the requests."""

import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CERTIFICATE = Path(__file__).with_name("tls") / "certificate.pem"
"""Of 127.0.0.1, signed by itself; its key lies beside it and is used nowhere else."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An answer: a status, and JSON or bytes."""

    status: int = 200
    body: Any = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def data(self) -> bytes:
        """The bytes of the body."""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


def unknown(code: int = 40403) -> Answer:
    """Return a registry's answer that there is no such schema."""
    return Answer(status=404, body={"error_code": code, "message": "not found"})


class RegistryServer:
    """Answers by path; several answers of a path are given in turn, the last one from then on."""

    def __init__(self) -> None:
        self.url = ""
        self.answers: dict[str, list[Answer]] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.released = threading.Event()
        """Set: requests for paths of `stuck` go on."""
        self.stuck: set[str] = set()

    @property
    def paths(self) -> list[str]:
        """The paths that were asked for, in order."""
        return [path for path, _ in self.requests]

    def put(self, path: str, *answers: Answer) -> None:
        """Set the answers of a path."""
        self.answers[path] = list(answers)

    def put_schema(self, schema_id: int, text: str, **fields: Any) -> None:
        """Register a schema under an id."""
        self.put(f"/schemas/ids/{schema_id}", Answer(body={"schema": text, **fields}))

    def put_version(self, subject: str, version: int, text: str, **fields: Any) -> None:
        """Register a schema as a version of a subject."""
        body = {"subject": subject, "version": version, "schema": text, **fields}
        self.put(f"/subjects/{subject}/versions/{version}", Answer(body=body))


@contextmanager
def registry_server(*, is_tls: bool = False) -> Iterator[RegistryServer]:
    """Run a server that has no schema yet."""
    registry = RegistryServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registry.requests.append((self.path, dict(self.headers)))
            if self.path in registry.stuck:
                registry.released.wait()
            answers = registry.answers.get(self.path, [unknown()])
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.data)))
            self.end_headers()
            self.wfile.write(answer.data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if is_tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE, CERTIFICATE.with_name("key.pem"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
    scheme = "https" if is_tls else "http"
    registry.url = f"{scheme}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield registry
    finally:
        registry.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
