"""Tests use containers where Docker answers on this machine, embedded programs elsewhere, and say which."""

import importlib.util
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from braid.demo.broker import KafkaBroker
from tests.support.fake_docker import FakeDocker, fake_docker
from tests.support.server_choice import VARIABLE, NoDockerError, ServerChoice, choose_servers
from tests.support.servers import servers_of

needs_packages = pytest.mark.skipif(
    importlib.util.find_spec("testcontainers") is None, reason="testcontainers is not installed"
)


@pytest.fixture
def docker() -> Iterator[FakeDocker]:
    """An endpoint that answers."""
    with fake_docker() as endpoint:
        yield endpoint


@needs_packages
def test_containers_are_used_where_docker_answers(docker: FakeDocker) -> None:
    choice = choose_servers({"DOCKER_HOST": docker.address})

    assert str(choice) == f"servers of tests: containers (Docker answers at {docker.address})"
    assert servers_of(choice).broker.__name__ == "ContainerBroker"


def test_embedded_programs_are_used_without_docker(tmp_path: Path) -> None:
    address = f"unix://{tmp_path}/docker.sock"

    choice = choose_servers({"DOCKER_HOST": address})

    assert choice == ServerChoice(in_containers=False, reason=f"there is no Docker at {address}")
    assert servers_of(choice).broker is KafkaBroker


@needs_packages
def test_a_docker_that_is_gone_is_not_used() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    choice = choose_servers({"DOCKER_HOST": f"tcp://127.0.0.1:{port}"})

    assert not choice.in_containers
    assert "Docker does not answer at tcp://127.0.0.1" in choice.reason


def test_a_docker_of_another_machine_is_not_used() -> None:
    """The ports of its containers are not reached at this machine's address."""
    choice = choose_servers({"DOCKER_HOST": "tcp://docker.example:2375"})

    assert choice.reason == "the Docker at tcp://docker.example:2375 is not on this machine"


@needs_packages
def test_a_variable_decides_instead(docker: FakeDocker) -> None:
    choice = choose_servers({"DOCKER_HOST": docker.address, VARIABLE: "embedded"})

    assert str(choice) == f"servers of tests: embedded programs ({VARIABLE}=embedded)"
    assert not docker.containers


def test_containers_that_are_asked_for_are_not_replaced_in_silence(tmp_path: Path) -> None:
    address = f"unix://{tmp_path}/docker.sock"

    with pytest.raises(NoDockerError, match="containers, but there is no Docker at unix://"):
        choose_servers({"DOCKER_HOST": address, VARIABLE: "containers"})
