"""Interfaces (protocols) of a running query and of its starter, as the supervisor uses them.

`RegisteredStream` is the registration with which a query was started; its `differs` says whether it may be outdated.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from braid.pipelines.sink.sink_progress import SinkProgress
from braid.pipelines.stream.group_mirror import MirrorState
from braid.schemas import StreamEntry, TableDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredStream:
    """A stream as it is registered: the entry, and the document of its table."""

    document: TableDocument
    entry: StreamEntry

    def differs(self, other: "RegisteredStream") -> bool:
        """Return whether a query, or a failed start, of the other registration may be outdated."""
        return (
            self.entry.spec != other.entry.spec
            or self.entry.version != other.entry.version
            or self.entry.restart_generation != other.entry.restart_generation
            or self.document.table != other.document.table
            or self.document.schema_id != other.document.schema_id
        )


class StreamQuery(Protocol):
    """A running query, such as `Ingest`."""

    @property
    def is_active(self) -> bool:
        """Whether the query still runs."""
        ...

    @property
    def is_finished(self) -> bool:
        """Whether the query has ended as planned, and another one has to continue."""
        ...

    @property
    def is_completed(self) -> bool:
        """Whether the query has read all that its stream was started for, and no other one follows."""
        ...

    @property
    def failure(self) -> BaseException | None:
        """The error that ended the query; None while there is none."""
        ...

    @property
    def progress(self) -> SinkProgress | None:
        """What the query has committed."""
        ...

    def refresh_plan(self) -> None:
        """Apply changes of the declaration or the table; raises only errors that end the query."""
        ...

    def finish_step(self) -> None:
        """End the query if another one has to continue now, with more partitions; raises only errors that end it."""
        ...

    def apply_back_pressure(self) -> None:
        """Apply the bound of micro-batches that is due, by back-pressure or by the size of records.

        Raises only errors that end the query.
        """
        ...

    @property
    def mirror(self) -> MirrorState | None:
        """What was mirrored in a consumer group; None: no mirror is declared."""
        ...

    @property
    def beginning_offsets(self) -> Mapping[int, int]:
        """First offset that the topic had at the start, by partition."""
        ...

    def end_offsets(self) -> Mapping[int, int]:
        """Return the topic's end by partition."""
        ...

    def stop(self) -> None:
        """Stop the query."""
        ...


class QueryStarter(Protocol):
    """Starts queries."""

    def start(self, document: TableDocument, entry: StreamEntry) -> StreamQuery:
        """Return the started query of a stream."""
        ...

    def record_completion(self, table: str, stream: str, *, generation: int) -> None:
        """Record that a stream has read all that it was started for.

        Args:
            table: `<database>.<table>`.
            stream: The stream's name.
            generation: `restart_generation` of the entry that was started.
        """
        ...
