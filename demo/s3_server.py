"""S3 server on this machine: S3Proxy on a folder, as a child process, behind a fault proxy.

A bucket is a folder, and an object is a file with the key as its path, so everything that was written can
be read as files.
"""

import os
import shutil
import socket
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from braid.demo.ports import free_port
from braid.demo.processes import ChildProcess, Supervisor
from braid.demo.s3_fault_proxy import Faults, S3FaultProxy
from braid.pipelines.spark.jars import java_executable, resolve

_START_TIMEOUT_S: Final = 600.0
_JVM: Final = (
    "-Xms32m",
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Djava.awt.headless=true",
)
_LOGGING: Final = """\
<configuration>
  <appender name="console" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d{HH:mm:ss.SSS} %level %logger{0} - %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="console"/></root>
</configuration>
"""
# The login of a server that only this machine reaches, and that ends with its parent.
IDENTITY: Final = "braid-local"
CREDENTIAL: Final = "braid-local-only"


class S3Server:
    """One server with one bucket.

    Example:
        with S3Server() as server:
            ... server.warehouse, server.environment ...

    Attributes:
        bucket: Its name.
        proxy: The fault proxy that clients connect to.
    """

    bucket: Final = "braid"

    def __init__(self, base_dir: Path | None = None, *, faults: Faults | None = None) -> None:
        """Prepare a server; `start` starts it.

        Args:
            base_dir: Holds settings, data and the log. Default a temporary folder, removed at the
                end.
            faults: The faults of the proxy.

        Raises:
            JarError: Java 17 is missing, or the server's jars cannot be downloaded.
        """
        self._java = java_executable()
        self._class_path = os.pathsep.join(map(str, resolve(["s3proxy"])["s3proxy"]))
        self._is_temporary = base_dir is None
        self._dir = (base_dir or Path(tempfile.mkdtemp(prefix="braid-s3-"))).absolute()
        self._supervisor = Supervisor(self._dir)
        self._child: ChildProcess | None = None
        self._port = free_port()
        self.proxy = S3FaultProxy(self.bare_endpoint, faults=faults)

    @property
    def process_id(self) -> int | None:
        """The server's process id; None while it does not run."""
        return self._child.process_id if self._child and self._child.is_running else None

    @property
    def bare_endpoint(self) -> str:
        """URL of S3Proxy itself, whose conditional puts are not exclusive."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def _credentials_path(self) -> Path:
        return self._dir / "credentials"

    @property
    def data_dir(self) -> Path:
        """The folder that is the bucket."""
        return self._dir / "data" / self.bucket

    @property
    def warehouse(self) -> str:
        """Address of a warehouse."""
        return f"s3://{self.bucket}/warehouse"

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment of a process that uses the server; the credentials by reference."""
        return {
            "BRAID_STORE_ENDPOINT": self.proxy.endpoint,
            "BRAID_STORE_ALLOW_HTTP": "true",
            "BRAID_STORE_REGION": "us-east-1",
            "BRAID_STORE_CREDENTIALS": str(self._credentials_path),
        }

    def start(self) -> Self:
        """Start the server and return when it answers.

        Raises:
            ProcessFailed: It did not come up; the message shows the end of its log.
        """
        self._prepare_folders()
        settings = self._dir / "s3proxy.properties"
        logging = self._dir / "logback.xml"
        settings.write_text(
            f"s3proxy.endpoint={self.bare_endpoint}\n"
            "s3proxy.authorization=aws-v2-or-v4\n"
            f"s3proxy.identity={IDENTITY}\n"
            f"s3proxy.credential={CREDENTIAL}\n"
            "jclouds.provider=filesystem-nio2\n"
            f"jclouds.filesystem.basedir={self.data_dir.parent}\n"
        )
        logging.write_text(_LOGGING)
        self._child = self._supervisor.start(
            "s3proxy",
            [
                *(str(self._java), *_JVM, f"-Dlogback.configurationFile={logging}"),
                *("-cp", self._class_path, "org.gaul.s3proxy.Main"),
                *("--properties", str(settings)),
            ],
        )
        self._child.wait_ready(self._answers, timeout_s=_START_TIMEOUT_S)
        return self

    def close(self) -> None:
        """End the server, and remove its folder if it is a temporary one."""
        self.proxy.__exit__(None, None, None)
        self._supervisor.close()
        if self._is_temporary:
            shutil.rmtree(self._dir, ignore_errors=True)

    def __enter__(self) -> Self:
        """Start it."""
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it."""
        self.close()

    def _prepare_folders(self) -> None:
        """Make the bucket, and the file with the login for clients."""
        self.data_dir.mkdir(parents=True, exist_ok=True)
        self._credentials_path.write_text(
            f"AWS_ACCESS_KEY_ID={IDENTITY}\nAWS_SECRET_ACCESS_KEY={CREDENTIAL}\n"
        )

    def _answers(self) -> bool:
        socket.create_connection(("127.0.0.1", self._port), timeout=1).close()
        return True
