"""Registered state of the declared tables: their declarations and streams in a service, with the tags of their versions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from braid.schemas import StreamSpec, TableSpec

if TYPE_CHECKING:
    from braid.client import Client


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredStream:
    """A registered stream.

    Attributes:
        spec: The declaration with all defaults.
        etag: Its version, for `if_match`; None: the service names none.
    """

    spec: StreamSpec
    etag: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredTable:
    """A registered table.

    Attributes:
        spec: The declaration.
        etag: Its version, for `if_match`; None: the service names none.
        streams: All its streams by name.
    """

    spec: TableSpec
    etag: str | None
    streams: Mapping[str, RegisteredStream] = field(default_factory=dict)


def read_registered(client: "Client", identifiers: Iterable[str]) -> dict[str, RegisteredTable]:
    """Return those of some tables that are registered, by name.

    Raises:
        BraidError: The service refuses, or does not answer.
    """
    found = {name: _read(client, name) for name in identifiers}
    return {name: table for name, table in found.items() if table is not None}


def _read(client: "Client", identifier: str) -> RegisteredTable | None:
    from braid.client import StreamNotFound, TableNotFound

    table = client.table(identifier)
    try:
        answer = table.get()
        streams = {}
        for name in answer.streams:
            try:
                stream = table.stream(name).get()
            except StreamNotFound:  # deleted since
                continue
            streams[name] = RegisteredStream(spec=stream.spec, etag=stream.etag)
    except TableNotFound:
        return None
    return RegisteredTable(spec=answer.spec, etag=answer.etag, streams=streams)
