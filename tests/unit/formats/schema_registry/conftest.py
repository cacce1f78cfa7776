"""A server that stands for a schema registry, and connections to it."""

from collections.abc import Iterator
from typing import Any

import pytest

from braid.formats.schema_registry.registry_connection import RegistryConnection
from tests.support.registry_server import RegistryServer, registry_server


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    """A registry without schemas."""
    with registry_server() as running:
        yield running


def connection(*urls: str, **fields: Any) -> RegistryConnection:
    """Return a connection to the registry `shop`."""
    return RegistryConnection(name="shop", urls=urls, **{"timeout_ms": 10_000, **fields})
