"""Docker endpoint for tests: keeps what it is asked for, and runs a program of the test in place of an image.

It speaks the part of Docker's HTTP interface that creating, starting, pausing, killing and removing a container takes.
"""

import json
import re
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Program = Callable[[int], AbstractContextManager[Any]]
"""Runs what answers at a port of this machine."""

_VERSION = {"ApiVersion": "1.48", "MinAPIVersion": "1.24", "Version": "28.0.0"}
_PATH = re.compile(r"(?:/v[\d.]+)?/containers/(?P<id>[^/?]+)(?:/(?P<verb>\w+))?(?:\?.*)?$")


@dataclass
class FakeContainer:
    """A container that was created.

    Attributes:
        request: The body of the request that created it.
        calls: What it was asked for, in order.
    """

    request: dict[str, Any]
    calls: list[str] = field(default_factory=list)
    running: ExitStack = field(default_factory=ExitStack)

    @property
    def image(self) -> str:
        """Its image."""
        return str(self.request["Image"])

    @property
    def host_port(self) -> int:
        """The port of this machine that leads to it."""
        ((binding,),) = self.request["HostConfig"]["PortBindings"].values()
        return int(binding["HostPort"])

    @property
    def environment(self) -> dict[str, str]:
        """Its variables."""
        return dict(entry.split("=", 1) for entry in self.request["Env"])


@dataclass
class FakeDocker:
    """The endpoint.

    Attributes:
        address: For `DOCKER_HOST`.
        containers: All that were created, by id.
    """

    address: str
    programs: Mapping[str, Program]
    containers: dict[str, FakeContainer] = field(default_factory=dict)

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """Return the status and the body of an answer."""
        if path.endswith("/_ping"):
            return 200, "OK"
        if path.endswith("/version"):
            return 200, _VERSION
        if "/images/" in path:
            return 200, {"Id": "sha256:1", "RepoTags": [], "Config": {}}
        if "/containers/create" in path:
            identifier = f"{len(self.containers) + 1:064d}"
            self.containers[identifier] = FakeContainer(body)
            return 201, {"Id": identifier, "Warnings": []}
        found = _PATH.search(path)
        if found is None or found["id"] not in self.containers:
            return 404, {"message": f"no such thing: {method} {path}"}
        return self._of_container(method, self.containers[found["id"]], found)

    def _of_container(
        self, method: str, container: FakeContainer, found: re.Match[str]
    ) -> tuple[int, Any]:
        if found["verb"] == "json":
            return 200, {"Id": found["id"], "Name": "/c", "Config": {"Labels": {}, "Image": "i"}}
        verb = "remove" if method == "DELETE" else found["verb"]
        container.calls.append(verb)
        if verb == "start":
            container.running.enter_context(self.programs[container.image](container.host_port))
        elif verb in ("kill", "remove"):
            container.running.close()
        return 204, None


@contextmanager
def fake_docker(programs: Mapping[str, Program] | None = None) -> Iterator[FakeDocker]:
    """Run an endpoint.

    Args:
        programs: By image, what runs while a container of it does.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size)) if size else None
            status, answer = docker.answer(self.command, self.path, body)
            data = b"" if answer is None else json.dumps(answer).encode()
            data = answer.encode() if isinstance(answer, str) else data
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def do_DELETE(self) -> None:
            self._answer()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    docker = FakeDocker(f"tcp://127.0.0.1:{server.server_address[1]}", programs or {})
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield docker
    finally:
        for container in docker.containers.values():
            container.running.close()
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def forwarding(port: int, *, to: str) -> Iterator[None]:
    """Forward connections of a port of this machine to `host:port`."""
    host, _, target = to.rpartition(":")

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.create_connection((host, int(target))) as other:
                back = threading.Thread(target=_copy, args=(other, self.request), daemon=True)
                back.start()
                _copy(self.request, other)
                back.join()

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", port), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65_536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return  # one of the two has ended
