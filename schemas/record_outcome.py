"""Answers of the service about pushed records: what has become of each in its row."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import Field

from braid.schemas.contract import Contract
from braid.schemas.explanation import Winner
from braid.schemas.row import SnapshotInfo


class RecordOutcome(StrEnum):
    """What has become of a record, or of its values in some columns."""

    WON = "won"  # it gives the value
    LOST = "lost"  # another record gives the value
    AGGREGATED = "aggregated"  # its value went into the column's value
    IGNORED = "ignored"  # it has changed nothing
    DEAD_LETTER = "dead_letter"  # it was refused
    UNKNOWN = "unknown"


class ColumnsOutcome(Contract):
    """What has become of a record's values in some columns.

    Attributes:
        columns: The columns, in the table's order.
        outcome: `won`, `lost`, `aggregated` or `unknown`.
        reason: Why, as in an explanation; or `folded`: a newer record of the same micro-batch has replaced the record before it
            was written.
        winner: The version, and the record in it, that gives the values; None: no single one does.
    """

    columns: tuple[str, ...]
    outcome: RecordOutcome
    reason: str = Field(examples=["newer-sequence"])
    winner: Winner | None


class PushedRecordOutcome(Contract):
    """What has become of one record.

    Attributes:
        partition: The Kafka partition of the record.
        offset: The offset in it.
        outcome: `won` if it gives the value of a column; else `aggregated` if a value went into one; else `unknown`, `lost` or `ignored`.
            `dead_letter`: it was refused.
        reason: That of a dead letter; why the outcome is not known (`unknown: …`); or that of all columns with this outcome,
            None if they have several.
        message: The reason of a dead letter in words.
        columns: The columns that the record has a part in.
    """

    partition: int
    offset: int
    outcome: RecordOutcome
    reason: str | None = None
    message: str | None = None
    columns: tuple[ColumnsOutcome, ...] = ()


class RowOutcomes(Contract):
    """What has become of the pushed records of a row.

    Attributes:
        key: The parsed key.
        exists: Whether the row exists.
        stream: The stream that the records were pushed to.
        records: The records of the token that are of the row, in the order of partition and offset; the newest ones, if they are
            many.
        left_out: Number of older ones that are left out.
        snapshot: The snapshot that has taken in the records.
    """

    key: Mapping[str, Any]
    exists: bool
    stream: str
    records: tuple[PushedRecordOutcome, ...]
    left_out: int
    snapshot: SnapshotInfo
