"""Responses of the service about one row: its values, its status by sequence group, and what feature views answer."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import Field

from braid.schemas.contract import Contract


class HiddenInfo(Contract):
    """Records that are committed, and become visible by a compaction.

    Attributes:
        records: Number of the records.
        files: Number of their files.
    """

    records: int
    files: int


class SnapshotInfo(Contract):
    """The snapshot that an answer was read from.

    Attributes:
        id: The snapshot's id; None while the table has no snapshot.
        commit_time: Time of the commit, ISO 8601, UTC.
        verified_at: Time when the snapshot was last verified to be the newest, from which staleness is
            measured. If an older state was requested: time when the snapshot was last verified to exist.
        hidden: Records of the snapshot that the answer does not have, because the table hides new records until a
            compaction; absent if it hides none, or `visibility=merged` was requested.
    """

    id: int | None
    commit_time: str | None
    verified_at: str
    hidden: HiddenInfo | None = Field(default=None, exclude_if=lambda hidden: hidden is None)


class WideRow(Contract):
    """A row and the snapshot that it was read from.

    Attributes:
        row: Values by column in the table's order. DECIMAL is text (no digit is lost), BINARY
            base64, TIMESTAMP ISO 8601 (ending in `Z` if WITH LOCAL TIME ZONE), DATE and TIME ISO 8601,
            BIGINT a JSON number, FLOAT and DOUBLE that are not finite text.
        snapshot: The snapshot that the row was read from.
    """

    row: Mapping[str, Any]
    snapshot: SnapshotInfo


class GroupState(StrEnum):
    """State of a stream's part of a row."""

    ABSENT = "absent"
    PRESENT = "present"
    STALE = "stale"
    DELETED = "deleted"


class Arrival(Contract):
    """A record's position in the order of arrival.

    Attributes:
        generation: Generation of the group's order, a number that rises when another stream or topic feeds
            the group, or when the topic gets more partitions.
        partition: The Kafka partition.
        offset: The offset in the partition.
    """

    generation: int
    partition: int
    offset: int


class GroupStatus(Contract):
    """A sequence group's part of one row.

    Attributes:
        state: The group's state; `deleted` when the newest record cleared the group.
        stream: The stream that owns the group; None while none is registered.
        ordering: Values of the declared ordering columns, as in the row; where none are declared, values
            of the arrival columns.
        arrival: Position of the newest record; None when absent, or written by an earlier version.
        last_touched: Kafka's timestamp of the newest record, ISO 8601; None when absent or when the
            table declines tracking.
        age_seconds: Time since `last_touched`, in seconds.
        stale_after_seconds: The age from which the group's part counts as stale; None: never stale.
    """

    state: GroupState
    stream: str | None
    ordering: Mapping[str, Any]
    arrival: Arrival | None
    last_touched: str | None
    age_seconds: float | None
    stale_after_seconds: int | None


class RowStatus(Contract):
    """The status of one row: what each stream has delivered for it.

    Attributes:
        key: The parsed key.
        exists: Whether the row exists; if not, every group is absent.
        complete: Whether every group of `complete_when` is present or stale.
        complete_when: Names of the groups that make a row complete, as the table declares.
        groups: Status by group name.
        snapshot: The snapshot that the row was read from.
    """

    key: Mapping[str, Any]
    exists: bool
    complete: bool
    complete_when: tuple[str, ...]
    groups: Mapping[str, GroupStatus]
    snapshot: SnapshotInfo


class ViewedRow(Contract):
    """A row as a feature view answers it.

    Attributes:
        row: Values of the view's columns by their names in the view, as in `WideRow`; None if the view answers null
            for a row that is incomplete or stale.
        complete: Whether every group of the view's completeness is present or stale.
        stale: Whether a group of the view's completeness is stale.
        groups: Status by group name, of the groups of the view.
    """

    row: Mapping[str, Any] | None
    complete: bool
    stale: bool
    groups: Mapping[str, GroupStatus]


class ViewRow(ViewedRow):
    """The answer of a feature view for one row.

    Attributes:
        snapshot: The snapshot that the row was read from.
    """

    snapshot: SnapshotInfo


class ViewRows(Contract):
    """The answers of a feature view for several rows, all of one snapshot.

    Attributes:
        rows: One answer per key, in the order of the keys; None where a single row is not found.
        snapshot: The snapshot that the rows were read from.
    """

    rows: tuple[ViewedRow | None, ...]
    snapshot: SnapshotInfo
