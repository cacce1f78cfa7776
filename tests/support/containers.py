"""Servers of tests in containers: the same broker, schema registry and S3 server as the embedded ones.

Each is a subclass that only starts in another way, on a port that is chosen before and stays the same over
restarts, so tests need not know which of the two they have.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self

from testcontainers.core.container import DockerContainer

from braid.demo.broker import SETTINGS, KafkaBroker
from braid.demo.ports import free_port
from braid.demo.s3_server import CREDENTIAL, IDENTITY, S3Server
from tests.support.schema_registry import SchemaRegistry
from tests.support.waiting import wait_until

KAFKA_IMAGE: Final = "apache/kafka:4.3.1"
REGISTRY_IMAGE: Final = "apicurio/apicurio-registry:3.0.9"
S3_IMAGE: Final = "andrewgaul/s3proxy:s3proxy-2.6.0"

_NO_VOLUMES: Mapping[Path, str] = {}


class Container:
    """A container with one port, at a port of this machine."""

    def __init__(
        self,
        image: str,
        *,
        port: int,
        host_port: int,
        environment: Mapping[str, str],
        volumes: Mapping[Path, str] = _NO_VOLUMES,
    ) -> None:
        """Prepare a container; `start` creates it.

        Args:
            image: The image.
            port: Its port.
            host_port: The port of this machine that leads there.
            environment: Its variables.
            volumes: Where folders of this machine are in the container.
        """
        made = DockerContainer(image).with_bind_ports(port, host_port).with_envs(**environment)
        for folder, place in volumes.items():
            made = made.with_volume_mapping(str(folder), place, "rw")
        self._made: Any = made
        self._is_created = False

    def start(self) -> None:
        """Create and start the container, or start it again with its data."""
        if self._is_created:
            self._made.get_wrapped_container().start()
            return
        self._made.start()
        self._is_created = True

    def kill(self) -> None:
        """Crash it (SIGKILL); its data stays."""
        self._made.get_wrapped_container().kill()

    def pause(self) -> None:
        """Let its processes do nothing."""
        self._made.get_wrapped_container().pause()

    def resume(self) -> None:
        """Let them go on."""
        self._made.get_wrapped_container().unpause()

    def remove(self) -> None:
        """End it, and remove it with its data."""
        if self._is_created:
            self._is_created = False
            self._made.stop()


class ContainerBroker(KafkaBroker):
    """A broker in a container."""

    def __init__(self) -> None:
        """Prepare a broker; `start` starts it."""
        super().__init__()
        self._ports = {"PLAINTEXT": free_port()}
        settings = {
            **SETTINGS,
            "listeners": "PLAINTEXT://:9092,INTERNAL://:19092,CONTROLLER://:9093",
            # Markers of transactions go from the broker to itself, which has another address inside.
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap_servers},INTERNAL://localhost:19092",
            "inter.broker.listener.name": "INTERNAL",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.quorum.voters": "1@localhost:9093",
        }
        self._container = Container(
            KAFKA_IMAGE,
            port=9092,
            host_port=self._ports["PLAINTEXT"],
            environment={
                f"KAFKA_{name.replace('.', '_').upper()}": value for name, value in settings.items()
            },
        )

    def start(self) -> Self:
        """Start the broker and return when it answers."""
        self._container.start()
        wait_until(lambda: _is_ready(self._answers))
        return self

    def stop(self) -> None:
        """End the broker; its data stays."""
        self._container.kill()

    def kill(self) -> None:
        """Crash the broker; its data stays."""
        self._container.kill()

    def close(self) -> None:
        """End the broker and remove its data."""
        self._container.remove()
        super().close()


class ContainerRegistry(SchemaRegistry):
    """A schema registry in a container."""

    def __init__(self) -> None:
        """Prepare a registry; `start` starts it."""
        super().__init__(is_program=False)
        self._container = Container(
            REGISTRY_IMAGE,
            port=8080,
            host_port=self._port,
            environment={"APICURIO_STORAGE_SQL_KIND": "h2"},
        )

    def start(self) -> Self:
        """Start the registry and return when it answers."""
        self._container.start()
        wait_until(lambda: _is_ready(self._answers))
        return self

    def kill(self) -> None:
        """Crash the registry."""
        self._container.kill()

    def pause(self) -> None:
        """Let the registry accept connections and answer nothing."""
        self._container.pause()

    def resume(self) -> None:
        """Let it answer again."""
        self._container.resume()

    def __exit__(self, *_: object) -> None:
        """End it and remove its data."""
        self._container.remove()
        super().__exit__(None, None, None)


class ContainerS3Server(S3Server):
    """An S3 server in a container, with its objects in a folder of this machine."""

    def __init__(self) -> None:
        """Prepare a server; `start` starts it."""
        super().__init__()
        self._container = Container(
            S3_IMAGE,
            port=80,
            host_port=self._port,
            environment={
                "S3PROXY_ENDPOINT": "http://0.0.0.0:80",
                "S3PROXY_AUTHORIZATION": "aws-v2-or-v4",
                "S3PROXY_IDENTITY": IDENTITY,
                "S3PROXY_CREDENTIAL": CREDENTIAL,
                "JCLOUDS_PROVIDER": "filesystem-nio2",
                "JCLOUDS_FILESYSTEM_BASEDIR": "/data",
            },
            volumes={self.data_dir.parent: "/data"},
        )

    def start(self) -> Self:
        """Start the server and return when it answers."""
        self._prepare_folders()
        self._container.start()
        wait_until(lambda: _is_ready(self._answers))
        return self

    def close(self) -> None:
        """End the server, and remove its folder."""
        self._container.remove()
        super().close()


def _is_ready(answers: Any) -> bool:
    with suppress(OSError):
        return bool(answers())
    return False
