"""Servers of tests, as they were chosen: in containers, or as programs of the checkout."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from braid.demo.broker import KafkaBroker
from braid.demo.s3_server import S3Server
from tests.support.schema_registry import SchemaRegistry
from tests.support.server_choice import ServerChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """How each kind of server is made; a made server starts when its context is entered.

    Attributes:
        broker: Makes a broker.
        registry: Makes a schema registry.
        s3: Makes an S3 server.
    """

    broker: Callable[[], KafkaBroker]
    registry: Callable[[], SchemaRegistry]
    s3: Callable[[], S3Server]


def servers_of(choice: ServerChoice) -> Servers:
    """Return the servers of a choice."""
    if not choice.in_containers:
        return Servers(broker=KafkaBroker, registry=SchemaRegistry, s3=S3Server)
    # Late: where Docker does not answer, its packages need not be installed.
    containers: Any = importlib.import_module("tests.support.containers")
    return Servers(
        broker=containers.ContainerBroker,
        registry=containers.ContainerRegistry,
        s3=containers.ContainerS3Server,
    )
