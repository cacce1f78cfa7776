"""Apicurio Registry as a child process: a real schema registry with Confluent's interface.

It keeps its port and its schemas over `kill` and `start`, as a registry with a database does. The program is
large, and fetched like the jars by the first test that needs it.
"""

import http.client
import json
import shutil
import signal
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from braid.demo.ports import free_port
from braid.demo.processes import ChildProcess, Supervisor
from braid.pipelines.spark.jars import java_executable, resolve

_START_TIMEOUT_S = 300.0
_BASE = "/apis/ccompat/v7"
_TYPE = "application/vnd.schemaregistry.v1+json"
# A small heap, and the fast start of a program that lives for seconds.
_JVM = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class SchemaRegistry:
    """One registry on 127.0.0.1, with program and schemas in a temporary folder."""

    def __init__(self, *, is_program: bool = True) -> None:
        """Prepare a registry; `start` starts it.

        Args:
            is_program: Whether it runs the program of the checkout, which is fetched then.
        """
        self._java = java_executable()
        self._dir = Path(tempfile.mkdtemp(prefix="braid-registry-"))
        self._supervisor = Supervisor(self._dir)
        self._child: ChildProcess | None = None
        self._port = free_port()
        if not is_program:
            return
        (archive,) = resolve(["schema_registry"])["schema_registry"]
        with tarfile.open(archive) as packed:
            packed.extractall(self._dir / "program", filter="data")
        (self._program,) = (self._dir / "program").glob("*-runner.jar")

    @property
    def url(self) -> str:
        """The address for clients; the same over restarts."""
        return f"http://127.0.0.1:{self._port}{_BASE}"

    def start(self) -> Self:
        """Start the registry and return when it answers."""
        self._child = self._supervisor.start(
            "registry",
            [
                *(str(self._java), *_JVM),
                "-Dquarkus.http.host=127.0.0.1",
                f"-Dquarkus.http.port={self._port}",
                "-Dapicurio.storage.sql.kind=h2",
                # Without a delay, because it is killed as soon as it has answered.
                f"-Dapicurio.datasource.url=jdbc:h2:file:{self._dir / 'data'};WRITE_DELAY=0",
                *("-jar", str(self._program)),
            ],
        )
        self._child.wait_ready(self._answers, timeout_s=_START_TIMEOUT_S)
        return self

    def kill(self) -> None:
        """Crash the registry (SIGKILL); its schemas stay."""
        assert self._child is not None, "it was started"
        self._child.kill()

    def pause(self) -> None:
        """Let the registry accept connections and answer nothing."""
        assert self._child is not None, "it was started"
        self._child.send(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it answer again."""
        assert self._child is not None, "it was started"
        self._child.send(signal.SIGCONT)

    def register(
        self,
        subject: str,
        schema: Any,
        *,
        kind: str = "AVRO",
        references: Sequence[Mapping[str, Any]] = (),
    ) -> int:
        """Register the next version of a subject, as a producer does, and return the schema's id.

        Args:
            subject: The subject.
            schema: The schema: JSON, or a text of another language.
            kind: `AVRO`, `JSON` or `PROTOBUF`.
            references: Name, subject and version of each schema that it refers to.
        """
        text = schema if isinstance(schema, str) else json.dumps(schema)
        body = {"schema": text, "schemaType": kind, "references": list(references)}
        status, answer = self._request(
            "POST", f"/subjects/{subject}/versions", body=json.dumps(body)
        )
        assert status == http.client.OK, answer
        return int(answer["id"])

    def __enter__(self) -> Self:
        """Start it."""
        self._supervisor.__enter__()
        try:
            return self.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it and remove its folder."""
        if self._child is not None:
            self._child.kill()  # also while it is paused
        self._supervisor.__exit__(kind, error, trace)
        shutil.rmtree(self._dir, ignore_errors=True)

    def _answers(self) -> bool:
        return self._request("GET", "/subjects")[0] == http.client.OK

    def _request(self, method: str, path: str, *, body: str | None = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request(method, f"{_BASE}{path}", body, {"Content-Type": _TYPE})
            with connection.getresponse() as response:
                return response.status, json.loads(response.read() or b"null")
        except (http.client.HTTPException, ValueError) as error:
            raise OSError(str(error)) from error  # not ready yet
        finally:
            connection.close()
