"""Operations on single rows of a table: the status, the explanation, the outcomes of pushed records, the certificate, and the row as it would be."""

from collections.abc import Mapping
from typing import Any

from braid.client.answers import as_model
from braid.client.keys import Key, json_value
from braid.client.operation import Call, Resource, operation
from braid.client.row_operations import ROWS, Timestamp, key_query, time_text
from braid.schemas import (
    ArrivingRecord,
    HypotheticalRow,
    LeftOutRecords,
    RowCertificate,
    RowExplanation,
    RowStatus,
)
from braid.schemas.api import RowHypothesis
from braid.schemas.record_outcome import RowOutcomes


class ExplanationOperations(Resource):
    """Why rows have their values. The state to read is named as for `row`."""

    @operation("GET", f"{ROWS}/status")
    def row_status(
        self,
        key: Key,
        *,
        snapshot_id: int | None = None,
        tag: str | None = None,
        timestamp: Timestamp | None = None,
        min_snapshot: int | None = None,
        max_staleness_ms: int | None = None,
        read_after: str | None = None,
        visibility: str | None = None,
    ) -> Call[RowStatus]:
        """Return the status of a row by sequence group, whether the row exists or not."""
        state = _state(
            snapshot_id, tag, timestamp, min_snapshot, max_staleness_ms, read_after, visibility
        )
        return Call(decode=as_model(RowStatus), query=key_query(key, **state))

    @operation("GET", f"{ROWS}/explain")
    def explain(
        self,
        key: Key,
        *,
        raw: bool = False,
        snapshot_id: int | None = None,
        tag: str | None = None,
        timestamp: Timestamp | None = None,
        min_snapshot: int | None = None,
        max_staleness_ms: int | None = None,
        read_after: str | None = None,
        visibility: str | None = None,
    ) -> Call[RowExplanation]:
        """Return why a row has its values, whether it exists or not; with `raw` also the records of topics that it comes from."""
        state = _state(
            snapshot_id, tag, timestamp, min_snapshot, max_staleness_ms, read_after, visibility
        )
        query = key_query(key, raw="true" if raw else None, **state)
        return Call(decode=as_model(RowExplanation), query=query)

    @operation("GET", f"{ROWS}/outcomes")
    def outcomes(self, key: Key, *, read_after: str) -> Call[RowOutcomes]:
        """Return what has become of pushed records in their row: those of the key among the records of a push.

        Args:
            key: A value for each column of the primary key.
            read_after: Token of the push (`StreamOperations.push`).

        Raises:
            SnapshotNotReached: No snapshot has taken in the records yet.
        """
        query = key_query(key, read_after=read_after)
        return Call(decode=as_model(RowOutcomes), query=query)

    @operation("GET", f"{ROWS}/certificate")
    def certificate(
        self,
        key: Key,
        *,
        snapshot_id: int | None = None,
        tag: str | None = None,
        timestamp: Timestamp | None = None,
        min_snapshot: int | None = None,
        max_staleness_ms: int | None = None,
        read_after: str | None = None,
        visibility: str | None = None,
    ) -> Call[RowCertificate]:
        """Return a row with its versions and the rules of merging, for `braid explain verify`."""
        state = _state(
            snapshot_id, tag, timestamp, min_snapshot, max_staleness_ms, read_after, visibility
        )
        return Call(decode=as_model(RowCertificate), query=key_query(key, **state))

    @operation("POST", f"{ROWS}/explain")
    def suppose(
        self,
        key: Key,
        *,
        what_if: ArrivingRecord | None = None,
        without: LeftOutRecords | None = None,
        snapshot_id: int | None = None,
        tag: str | None = None,
        timestamp: Timestamp | None = None,
        min_snapshot: int | None = None,
        max_staleness_ms: int | None = None,
        read_after: str | None = None,
        visibility: str | None = None,
    ) -> Call[HypotheticalRow]:
        """Return a row as it would be, if a record arrived now, or without some records.

        Args:
            key: A value for each column of the primary key.
            what_if: The record that arrives.
            without: The records that are left out; one of the two is given.
            snapshot_id: The snapshot to read; None: the newest.
            tag: The tag whose snapshot is read.
            timestamp: The newest snapshot committed then or before is read.
            min_snapshot: Id of the oldest snapshot that may answer.
            max_staleness_ms: How long ago the snapshot may have been verified to be the newest.
            read_after: Token of a push, whose records the snapshot must have taken in.
            visibility: As for `row`.
        """
        state = _state(
            snapshot_id, tag, timestamp, min_snapshot, max_staleness_ms, read_after, visibility
        )
        given = {name: value for name, value in state.items() if value is not None}
        body = RowHypothesis(
            key={name: json_value(value) for name, value in key.items()},
            what_if=what_if,
            without=without,
            **given,
        )
        return Call(decode=as_model(HypotheticalRow), body=body, is_repeatable=True)


def _state(
    snapshot_id: int | None,
    tag: str | None,
    timestamp: Timestamp | None,
    min_snapshot: int | None,
    max_staleness_ms: int | None,
    read_after: str | None,
    visibility: str | None,
) -> Mapping[str, Any]:
    """Return the fields that name a state."""
    return {
        "snapshot_id": snapshot_id,
        "tag": tag,
        "timestamp": time_text(timestamp),
        "min_snapshot": min_snapshot,
        "max_staleness_ms": max_staleness_ms,
        "read_after": read_after,
        "visibility": visibility,
    }
