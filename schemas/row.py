"""One wide row as the service answers it, and the status of the row per stream."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from schemas.contract import Contract


class SnapshotInfo(Contract):
    """The snapshot that an answer rests on.

    Attributes:
        id: Its number; None while the table has no snapshot.
        commit_time: ISO 8601, UTC.
        verified_at: When it was last seen to be the newest; staleness counts from here. Of an older
            state that was asked for: when it was last seen to be there.
    """

    id: int | None
    commit_time: str | None
    verified_at: str


class WideRow(Contract):
    """A row and the snapshot that it was read from.

    Attributes:
        row: Values by column in the table's order. DECIMAL is text (no digit is lost), BINARY
            base64, TIMESTAMP ISO 8601 (with `Z` WITH LOCAL TIME ZONE), DATE and TIME ISO 8601,
            BIGINT a JSON number, FLOAT and DOUBLE that are not finite text.
        snapshot: Where it was read.
    """

    row: Mapping[str, Any]
    snapshot: SnapshotInfo


class GroupState(StrEnum):
    """What a stream has delivered of a row."""

    ABSENT = "absent"
    PRESENT = "present"
    STALE = "stale"
    DELETED = "deleted"


class Arrival(Contract):
    """Where a record came from, and its place in the order of arrival.

    Attributes:
        generation: Of the group's order; it rises when another stream or topic feeds the group, or
            the topic gets more partitions.
        partition: Kafka's partition.
        offset: Kafka's offset in it.
    """

    generation: int
    partition: int
    offset: int


class GroupStatus(Contract):
    """A sequence group's part of one row.

    Attributes:
        state: `deleted` when the stream's last touch cleared the group.
        stream: The stream that owns the group; None while none is registered.
        ordering: The declared ordering columns' values, as in the row; those of arrival where none is
            declared.
        arrival: The newest record; None when absent, or when an earlier version has written it.
        last_touched: The Kafka time of the newest record in it, ISO 8601; None when absent or
            when the table declines tracking.
        age_seconds: Time since then.
        stale_after_seconds: The age at which the table calls it stale; None: never.
    """

    state: GroupState
    stream: str | None
    ordering: Mapping[str, Any]
    arrival: Arrival | None
    last_touched: str | None
    age_seconds: float | None
    stale_after_seconds: int | None


class RowStatus(Contract):
    """Which stream has delivered what of one row.

    Attributes:
        key: The key as it was understood.
        exists: Whether there is such a row; every group is absent when there is none.
        complete: Whether every group of `complete_when` is present or stale.
        complete_when: Names of the groups that make a row complete, from the table's rule.
        groups: Status by group name.
        snapshot: Where it was read.
    """

    key: Mapping[str, Any]
    exists: bool
    complete: bool
    complete_when: tuple[str, ...]
    groups: Mapping[str, GroupStatus]
    snapshot: SnapshotInfo
