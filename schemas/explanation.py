"""Answers of the service about the origin of a row's values: its versions, and why one of them gives each value."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import Field, model_validator

from braid.schemas.contract import Contract
from braid.schemas.row import Arrival, RowStatus, SnapshotInfo
from braid.schemas.sample_record import SampleRecord
from braid.schemas.stream_trial import SampleResult

_OFFSET_MAX: Final = 2**63 - 1
_PARTITION_MAX: Final = 2**31 - 1

KEPT: Final = "kept"
"""The reason of a version that leaves a kept column as it is; to the engine, it is a value without an order."""


class RecordPlace(Contract):
    """The record of a stream that a sequence group of a version comes from.

    Attributes:
        stream: The stream; None: it is not known any more.
        topic: The Kafka topic; None: it is not known any more.
        arrival: Generation, partition and offset; None: the version does not have them.
        ordering: Values of the declared ordering columns; where none are declared, of the arrival columns.
        arrived_at: Kafka's timestamp of the record, ISO 8601, UTC; None: the version does not have it.
    """

    stream: str | None
    topic: str | None
    arrival: Arrival | None
    ordering: Mapping[str, Any]
    arrived_at: str | None


class RowVersion(Contract):
    """A stored version of a row: what a commit has written for its key, or a compaction has merged.

    Attributes:
        version: Its number, from 0: the oldest one that is merged first.
        stream: The stream that has written it; None: it is not known, or a compaction has merged several.
        snapshot_id: The snapshot that has written it; None: it has expired, or the version is compacted.
        commit_time: When that was, ISO 8601, UTC.
        compacted: Whether a compaction has merged it from versions that do not exist any more.
        kind: The row kind: `+I`, `-U`, `+U` or `-D`.
        sequence_number: The number that orders versions.
        file: The data file that has it; None: it is not stored.
        level: The level of the file.
        groups: By sequence group that the version takes part in, the newest record that it has of the group.
        values: Its values without the key and without nulls.
    """

    version: int
    stream: str | None
    snapshot_id: int | None
    commit_time: str | None
    compacted: bool
    kind: str
    sequence_number: int
    file: str | None
    level: int | None
    groups: Mapping[str, RecordPlace]
    values: Mapping[str, Any]


class Winner(RecordPlace):
    """The version, and the record in it, that gives a column's value.

    Attributes:
        version: The number of the version.
    """

    version: int


class OtherVersion(Contract):
    """A version that does not give a column's value alone.

    Attributes:
        version: The number of the version.
        reason: Why: `newer-sequence`, `late`, `null-skipped`, `kept`, `aggregated`, `retracted`, `first-row`,
            `ignored` or `unknown: compacted`.
    """

    version: int
    reason: str


class ColumnOrigin(Contract):
    """Why a column has its value.

    Attributes:
        value: The value in the row; null if there is no row.
        group: The column's sequence group; None: it is in none.
        reason: Why the winner gives the value: `only-version`, `newer-sequence`, `retracted`, `first-row` or
            `unknown: compacted`. Without a winner `aggregated`, or None if no version has a part in the column.
        winner: The version that gives the value; None: no single one does.
        others: The other versions, newest first.
    """

    value: Any
    group: str | None
    reason: str | None
    winner: Winner | None
    others: tuple[OtherVersion, ...]


class RawRecordState(StrEnum):
    """Whether a record can be shown as its topic has it."""

    PRESENT = "present"
    EXPIRED = "unknown: expired"
    NOT_ALLOWED = "unknown: not allowed"
    UNAVAILABLE = "unknown: unavailable"


class RawBytes(Contract):
    """Bytes of a record: as a text if they are UTF-8, else in base64; with neither, they are too many to be shown.

    Attributes:
        size_bytes: Their number.
        text: The text.
        base64: The bytes in base64.
    """

    size_bytes: int
    text: str | None = None
    base64: str | None = None


class RawHeader(Contract):
    """A header of a record; `value` is null if it has none.

    Attributes:
        name: The header's name.
        value: The header's value; None: it has none.
    """

    name: str
    value: RawBytes | None


class RawRecord(Contract):
    """A record of a topic that a version of a row comes from.

    Attributes:
        group: The sequence group whose newest record of a version it is, or whose kept column it gives.
        stream: The stream; None: it is not known any more.
        topic: The Kafka topic, likewise.
        arrival: Generation, partition and offset.
        state: Whether the topic has it.
        message: Why it is not shown; None if it is.
        timestamp: Kafka's timestamp of the record, ISO 8601, UTC; None unless it is present.
        key: The Kafka key; None: it has none, or is not present.
        value: The value; None for a tombstone, too.
        headers: The first 100 headers, in order.
        result: What the stream makes of it, as it is declared now; None unless it is present, and for streams whose
            messages name their schemas by id.
    """

    group: str
    stream: str | None
    topic: str | None
    arrival: Arrival
    state: RawRecordState
    message: str | None = None
    timestamp: str | None = None
    key: RawBytes | None = None
    value: RawBytes | None = None
    headers: tuple[RawHeader, ...] = ()
    result: SampleResult | None = None


class RowExplanation(Contract):
    """Why a row has its values.

    Attributes:
        key: The parsed key.
        exists: Whether the row exists.
        columns: By column without the key, why it has its value; empty if the key has no version.
        versions: The versions that the row is merged from, newest first.
        records: The records of topics that give its values, then those of its versions, the newest first, 20 at most;
            None unless they are requested.
        snapshot: The snapshot that the row was read from.
    """

    key: Mapping[str, Any]
    exists: bool
    columns: Mapping[str, ColumnOrigin]
    versions: tuple[RowVersion, ...]
    records: tuple[RawRecord, ...] | None = None
    snapshot: SnapshotInfo


class ArrivingRecord(Contract):
    """A record that arrives now.

    Attributes:
        stream: The stream that reads it.
        record: The Kafka record; without an offset, it comes after all records that the stream has read.
    """

    stream: str
    record: SampleRecord


class LeftOutRecords(Contract):
    """Records that are left out.

    Attributes:
        stream: The stream whose records are left out.
        from_offset: Only records from this offset on; None: all.
        partition: Only records of this partition; None: of all.
    """

    stream: str
    from_offset: Annotated[int, Field(strict=True, ge=0, le=_OFFSET_MAX)] | None = None
    partition: Annotated[int, Field(strict=True, ge=0, le=_PARTITION_MAX)] | None = None


class ColumnChange(Contract):
    """A column whose value would be another one.

    Attributes:
        before: The value in the row; null if there is no row.
        after: The value that it would have.
    """

    before: Any
    after: Any


class HypotheticalRow(Contract):
    """A row as it would be with one more record, or without some records.

    Attributes:
        result: What would become of the arriving record; None if records are left out.
        exists: Whether the row would exist.
        row: The row; None: there would be none. Without the columns of `unknown`.
        changed: The columns that would have other values.
        unknown: Columns whose values are not known, because a compaction has merged the records that are left out
            with others.
        status: The status; None if `unknown` names columns that it depends on.
        columns: By column, why it would have its value; without the columns of `unknown`.
        versions: The versions that the row would be merged from, newest first.
        snapshot: The snapshot that the versions were read from.
    """

    result: SampleResult | None
    exists: bool
    row: Mapping[str, Any] | None
    changed: Mapping[str, ColumnChange]
    unknown: tuple[str, ...]
    status: RowStatus | None
    columns: Mapping[str, ColumnOrigin]
    versions: tuple[RowVersion, ...]
    snapshot: SnapshotInfo


class Hypothesis(Contract):
    """A change of the records that a row is merged from; exactly one of the two.

    Attributes:
        what_if: One more record.
        without: Records that are left out.
    """

    what_if: ArrivingRecord | None = None
    without: LeftOutRecords | None = None

    @model_validator(mode="after")
    def _is_one(self) -> "Hypothesis":
        if (self.what_if is None) == (self.without is None):
            message = "give one of `what_if` and `without`"
            raise ValueError(message)
        return self
