"""Servers in containers: what Docker is asked for, and that clients reach what it runs.

Docker is an endpoint of the tests, in which an embedded server answers at the port of the container.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import pytest

from braid.demo.broker import KafkaBroker
from braid.demo.s3_server import S3Server
from tests.support.fake_docker import FakeContainer, FakeDocker, Program, fake_docker, forwarding
from tests.support.registry_server import Answer, RegistryServer, registry_server

containers = pytest.importorskip("tests.support.containers", exc_type=ImportError)
config = pytest.importorskip("testcontainers.core.config")

pytestmark = pytest.mark.integration


@contextmanager
def docker_that_runs(
    monkeypatch: pytest.MonkeyPatch, image: str, program: Program
) -> Iterator[FakeDocker]:
    """Let testcontainers use an endpoint that runs a program for an image."""
    with fake_docker({image: program}) as docker:
        monkeypatch.setenv("DOCKER_HOST", docker.address)
        # The container that would remove the others if this process were killed.
        monkeypatch.setattr(config.testcontainers_config, "ryuk_disabled", True)
        yield docker


def only(docker: FakeDocker) -> FakeContainer:
    (container,) = docker.containers.values()
    return container


def _to(address: str) -> Program:
    return partial(forwarding, to=address)


def test_a_broker_in_a_container_is_reached_at_the_port_that_it_advertises(
    kafka: KafkaBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = _to(kafka.bootstrap_servers)
    with (
        docker_that_runs(monkeypatch, containers.KAFKA_IMAGE, program) as docker,
        containers.ContainerBroker() as broker,
    ):
        container = only(docker)
        address = broker.bootstrap_servers
        broker.restart()
        assert broker.bootstrap_servers == address

    environment = container.environment
    assert address == f"127.0.0.1:{container.host_port}"
    assert environment["KAFKA_ADVERTISED_LISTENERS"].startswith(f"PLAINTEXT://{address},")
    assert environment["KAFKA_AUTO_CREATE_TOPICS_ENABLE"] == "false"
    assert [*container.request["HostConfig"]["PortBindings"]] == ["9092/tcp"]
    assert container.calls == ["start", "kill", "start", "remove"]


def test_an_s3_server_in_a_container_keeps_its_objects_in_the_folder_of_the_bucket(
    shared_s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = _to(shared_s3_server.bare_endpoint.removeprefix("http://"))
    with (
        docker_that_runs(monkeypatch, containers.S3_IMAGE, program) as docker,
        containers.ContainerS3Server() as server,
    ):
        container = only(docker)
        assert server.bare_endpoint == f"http://127.0.0.1:{container.host_port}"
        (bind,) = container.request["HostConfig"]["Binds"]
        assert bind == f"{server.data_dir.parent}:/data:rw"
        assert server.data_dir.is_dir()

    assert container.environment["JCLOUDS_FILESYSTEM_BASEDIR"] == "/data"
    assert container.calls == ["start", "remove"]


def test_a_schema_registry_in_a_container_pauses_and_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with (
        registry_server() as answers,
        docker_that_runs(monkeypatch, containers.REGISTRY_IMAGE, _registry(answers)) as docker,
        containers.ContainerRegistry() as registry,
    ):
        container = only(docker)
        registry.pause()
        registry.resume()

    assert registry.url == f"http://127.0.0.1:{container.host_port}/apis/ccompat/v7"
    assert answers.paths == ["/apis/ccompat/v7/subjects"]
    assert container.calls == ["start", "pause", "unpause", "remove"]


def _registry(answers: RegistryServer) -> Program:
    answers.put("/apis/ccompat/v7/subjects", Answer(body=[]))

    def run(port: int) -> AbstractContextManager[Any]:
        return forwarding(port, to=answers.url.removeprefix("http://"))

    return run
