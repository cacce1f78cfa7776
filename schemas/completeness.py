"""Response of the service about all rows of a table: what each stream has delivered, and how far it is behind."""

from collections.abc import Mapping

from braid.schemas.contract import Contract
from braid.schemas.progress import StreamState
from braid.schemas.row import SnapshotInfo


class GroupCounts(Contract):
    """Number of rows by the state of one sequence group; together all rows.

    Attributes:
        absent: Rows without a record of the group.
        present: Rows whose part of the group is fresh enough.
        stale: Rows whose part of the group is older than the staleness allows.
        deleted: Rows whose newest record of the group cleared it.
    """

    absent: int
    present: int
    stale: int
    deleted: int


class GroupCompleteness(Contract):
    """A sequence group's part of the rows of a table.

    Attributes:
        stream: The stream that owns the group; None while none is registered.
        rows: Number of rows by state; None while they are counted for the first time.
    """

    stream: str | None
    rows: GroupCounts | None


class StreamLag(Contract):
    """How far a stream is behind its topic.

    Attributes:
        state: The stream's state.
        lag_records: Records of the topic that are not in the table yet; None: not known, as no runner has the stream.
        lag_seconds: The time for which the oldest of them has waited, in seconds; None: not known.
        last_commit: Time of the stream's newest commit, ISO 8601, UTC; None: none is known.
    """

    state: StreamState
    lag_records: int | None
    lag_seconds: float | None
    last_commit: str | None


class CountProgressInfo(Contract):
    """The count of a snapshot that runs or waits.

    Attributes:
        snapshot_id: The snapshot; None: the table has none.
        done: The part that is done, from 0 to 1.
    """

    snapshot_id: int | None
    done: float


class TableCompleteness(Contract):
    """The rows of a table by what each stream has delivered.

    Attributes:
        rows: Number of rows; None while they are counted for the first time.
        complete: Number of rows in which every group of `complete_when` is present or stale; None as above.
        complete_when: Names of the groups that make a row complete, as the table declares.
        groups: By sequence group.
        measured_at: The time at which the ages of the parts were measured, ISO 8601, UTC; None as above.
        snapshot: The snapshot whose rows were counted; None as above.
        counting: The count that is going to replace these counts; None: they are those of the requested state.
        streams: By stream.
    """

    rows: int | None
    complete: int | None
    complete_when: tuple[str, ...]
    groups: Mapping[str, GroupCompleteness]
    measured_at: str | None
    snapshot: SnapshotInfo | None
    counting: CountProgressInfo | None
    streams: Mapping[str, StreamLag]
