"""The one document per table: its declaration, its streams and what is wanted of them."""

from collections.abc import Mapping
from enum import StrEnum

from pydantic import Field

from schemas.contract import Contract
from schemas.stream import StreamSpec
from schemas.table import TableSpec


class DesiredState(StrEnum):
    """What a stream's owner wants it to do."""

    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


class StreamEntry(Contract):
    """A registered stream and what is wanted of it.

    Attributes:
        spec: The stream, complete.
        desired_state: PAUSED keeps the runner's claim and reads nothing; STOPPED lets it go.
        restart_generation: A runner restarts the query when this number has grown.
    """

    spec: StreamSpec
    desired_state: DesiredState = DesiredState.RUNNING
    restart_generation: int = Field(default=0, ge=0)


class TableDocument(Contract):
    """All that is declared about one table.

    One document, so that two changes of different streams cannot both succeed on the same
    ground: a rule across streams holds in every version.

    Attributes:
        database: The first part of the table's identifier.
        name: The second part.
        table: The declaration.
        streams: By name.
        created_ms: When its first version was made, milliseconds since the epoch, UTC.
    """

    database: str
    name: str
    table: TableSpec
    streams: Mapping[str, StreamEntry] = Field(default_factory=dict)
    created_ms: int = 0

    @property
    def identifier(self) -> str:
        """`<database>.<name>`."""
        return f"{self.database}.{self.name}"
