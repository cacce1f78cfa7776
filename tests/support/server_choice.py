"""Choice of the servers of tests: containers where a Docker on this machine answers, else programs of the checkout.

`BRAID_TEST_SERVERS` decides instead: `embedded`, or `containers`, without which a silent Docker is an error. The
report's header says what was chosen, and why.
"""

import importlib
import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

VARIABLE: Final = "BRAID_TEST_SERVERS"
DEFAULT_ADDRESS: Final = "unix:///var/run/docker.sock"
_SECONDS_MAX: Final = 5
_PACKAGES: Final = ("docker", "testcontainers")


class NoDockerError(RuntimeError):
    """Containers are asked for, and Docker does not answer."""


@dataclass(frozen=True, slots=True)
class ServerChoice:
    """The servers that tests use.

    Attributes:
        in_containers: Whether they run in containers.
        reason: Why.
    """

    in_containers: bool
    reason: str

    def __str__(self) -> str:
        """Say it in the header of a report."""
        kind = "containers" if self.in_containers else "embedded programs"
        return f"servers of tests: {kind} ({self.reason})"


def choose_servers(environment: Mapping[str, str] = os.environ) -> ServerChoice:
    """Return the servers that tests use.

    Args:
        environment: `BRAID_TEST_SERVERS`, and how Docker is reached: `DOCKER_HOST` and what belongs to it.

    Raises:
        NoDockerError: Containers are asked for, and Docker does not answer.
    """
    wanted = environment.get(VARIABLE, "")
    if wanted == "embedded":
        return ServerChoice(in_containers=False, reason=f"{VARIABLE}={wanted}")
    assert wanted in ("", "containers"), f"{VARIABLE} is `embedded` or `containers`, not `{wanted}`"
    address = environment.get("DOCKER_HOST", DEFAULT_ADDRESS)
    reason = _why_not(address, environment)
    if reason is None:
        return ServerChoice(in_containers=True, reason=f"Docker answers at {address}")
    if wanted:
        message = f"{VARIABLE}=containers, but {reason}"
        raise NoDockerError(message)
    return ServerChoice(in_containers=False, reason=reason)


def _why_not(address: str, environment: Mapping[str, str]) -> str | None:
    """Return why containers cannot be used; None: they can."""
    parts = urlsplit(address)
    # The ports of containers are reached at this machine's address.
    if parts.scheme == "unix":
        if not Path(parts.path).exists():
            return f"there is no Docker at {address}"
    elif parts.hostname not in ("127.0.0.1", "localhost"):
        return f"the Docker at {address} is not on this machine"
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    # Late: most runs have no Docker, and need neither package.
    docker: Any = importlib.import_module("docker")
    try:
        client = docker.from_env(
            environment={**environment, "DOCKER_HOST": address}, timeout=_SECONDS_MAX
        )
        try:
            client.ping()
        finally:
            client.close()
    except (docker.errors.DockerException, OSError) as error:
        return f"Docker does not answer at {address}: {type(error).__name__}: {error}"[:300]
    return None
