"""The stored document of a table: its declaration, its streams and their desired states.

The document also holds a schema change in progress, the most recent named requests that were applied, and the most recent
replay of each stream.
"""

from collections.abc import Mapping
from enum import StrEnum

from pydantic import Field

from braid.schemas.contract import Contract
from braid.schemas.dead_letters import RequestedReplay
from braid.schemas.stream import StreamSpec
from braid.schemas.table import TableSpec


class DesiredState(StrEnum):
    """The state that a stream's owner has requested."""

    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


class StreamEntry(Contract):
    """A registered stream with its desired state.

    Attributes:
        spec: The completed definition.
        desired_state: PAUSED keeps the runner's claim and reads nothing; STOPPED releases it.
        restart_generation: A runner restarts the query when this number has grown.
        former_epoch: Epoch of the position that a former stream of this name had left in the table
            when this one was registered with `starting_offsets`; the stream starts as declared if
            that position belongs to another topic or another stream has written the group since. None:
            there was no such position, or no start was requested.
        completed_generation: The `restart_generation` in which a stream with the trigger `available_now` has read
            all that its topic held; None: in none yet.
        version: A number that grows with each change of the stream, and with each schema change of
            columns that it writes; a runner applies the change between two micro-batches.
        features: Names of the features that a version of this software needs to run the stream.
        replay: The newest replay of dead letters; None: none was requested.
    """

    spec: StreamSpec
    desired_state: DesiredState = DesiredState.RUNNING
    restart_generation: int = Field(default=0, ge=0)
    former_epoch: int | None = Field(default=None, ge=0)
    completed_generation: int | None = Field(default=None, ge=0)
    version: int = Field(default=1, ge=1)
    features: tuple[str, ...] = ()
    replay: RequestedReplay | None = None

    @property
    def is_completed(self) -> bool:
        """Whether the stream has read all that it was started for, and nothing has started it again since."""
        return self.completed_generation == self.restart_generation


class AppliedChange(Contract):
    """An applied change of the table, by which a repeated request is recognized.

    Attributes:
        key: The request's name (idempotency key), unique in the table.
        digest: Digest of the requested changes; None: an earlier version applied them.
        schema_id: The resulting schema.
    """

    key: str = Field(min_length=1)
    digest: str | None = None
    schema_id: int = Field(ge=0)


class PendingSchema(Contract):
    """A schema change in progress: the content of the document once the schema exists.

    It is written before the schema file, whose exclusive creation puts the change into effect. The change
    is in effect if and only if the file's content is the one recorded here; a different file of that id
    means that the change has lost a race.

    Attributes:
        schema_id: Id of the schema file.
        schema_file: Content of the file, byte for byte, as text.
        table: The declaration after the change.
        streams: The streams after the change.
        key: The request's name (idempotency key); None: the request has no name.
        digest: Digest of the requested changes; None: the request has no name.
    """

    schema_id: int = Field(ge=1)
    schema_file: str
    table: TableSpec
    streams: Mapping[str, StreamEntry]
    key: str | None = None
    digest: str | None = None


class TableDocument(Contract):
    """The declaration of one table and of all its streams.

    A single document, so that two changes of different streams cannot both start from the same
    version: a rule across streams holds in every version.

    Attributes:
        database: The first part of the table's identifier.
        name: The second part.
        table: The declaration.
        streams: The streams by name.
        created_ms: Creation time of the first version, milliseconds since the epoch, UTC.
        schema_id: Id of the table's schema at the last change of the declaration; a newer schema was
            created by a rescale, or without the registry.
        pending: A schema change in progress; None: there is none.
        applied: The newest changes of named requests, oldest first.
        features: Names of the features that a version of this software needs to change the document.
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
