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
        former_epoch: Of the position that a stream of this name had left in the table when this one
            was registered with `starting_offsets`; where that position leads elsewhere, the stream
            starts as declared. None: there was none, or no start was given.
        version: Grows with each change of the stream, and with each schema change that concerns
            what it writes; a runner follows between two micro-batches.
        features: What a version of this software has to have to run the stream, by name.
    """

    spec: StreamSpec
    desired_state: DesiredState = DesiredState.RUNNING
    restart_generation: int = Field(default=0, ge=0)
    former_epoch: int | None = Field(default=None, ge=0)
    version: int = Field(default=1, ge=1)
    features: tuple[str, ...] = ()


class AppliedChange(Contract):
    """A change of the table that was made, so that a repeated request is known.

    Attributes:
        key: The request's own name for it, unique in the table.
        digest: Of what was asked for; None: an earlier version has not kept it.
        schema_id: The schema that came of it.
    """

    key: str = Field(min_length=1)
    digest: str | None = None
    schema_id: int = Field(ge=0)


class PendingSchema(Contract):
    """A schema change between its two stores: what the document becomes once the schema is there.

    It is written before the schema file, whose exclusive creation makes the change. It is in
    effect just if the file holds what is written here; another file of that number has overtaken
    it.

    Attributes:
        schema_id: Of the schema file.
        schema_file: What the file is to hold, byte for byte, as text.
        table: The declaration from then on.
        streams: The streams from then on.
        key: The request's own name for the change; None: it has none.
        digest: Of what was asked for; None: the request has no name.
    """

    schema_id: int = Field(ge=1)
    schema_file: str
    table: TableSpec
    streams: Mapping[str, StreamEntry]
    key: str | None = None
    digest: str | None = None


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
        schema_id: The table's schema that the declaration was last changed with; a newer one comes
            of a rescale, or of somebody who does not ask the registry.
        pending: A schema change under way; None: there is none.
        applied: The newest changes whose requests gave them a name, oldest first.
        features: What a version of this software has to have to act on any of it, by name.
    """

    database: str
    name: str
    table: TableSpec
    streams: Mapping[str, StreamEntry] = Field(default_factory=dict)
    created_ms: int = 0
    schema_id: int = Field(default=0, ge=0)
    pending: PendingSchema | None = None
    applied: tuple[AppliedChange, ...] = ()
    features: tuple[str, ...] = ()

    @property
    def identifier(self) -> str:
        """`<database>.<name>`."""
        return f"{self.database}.{self.name}"
