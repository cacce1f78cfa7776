"""Dead letters: the records that a stream refuses, with the reason, as they are sent to a topic of their own.

A dead letter has the record's key, value and headers. It also has headers under the names that Kafka Connect
uses, so that tools for Connect's dead letters work on ours. Topic, partition and offset identify the
record. Sending is at least once: a repeated micro-batch sends its dead letters again.
"""

from dataclasses import dataclass
from enum import StrEnum

_PREFIX = "__connect.errors."
REASON_HEADER = "braid.reason"
CUT_HEADER = "braid.value.cut"
_SENDER_CLASS = "pipelines.ingest.Ingest"
"""Stored in topics, where consumers may filter by it: it stays when the class that sends moves."""


class DeadLetterReason(StrEnum):
    """Why a record was refused."""

    MALFORMED = "malformed"
    WRONG_TYPE = "wrong_type"
    OUT_OF_RANGE = "out_of_range"
    MISSING_KEY = "missing_key"
    MALFORMED_KEY = "malformed_key"
    MALFORMED_HEADER = "malformed_header"
    NOT_NULL = "not_null"
    MISSING_FIELD = "missing_field"
    NULL_ORDERING = "null_ordering"
    TOMBSTONE = "tombstone"
    DELETE = "delete"
    TOO_LARGE = "too_large"
    NEW_FIELD = "new_field"
    UNREADABLE = "unreadable"
    ROW_KIND = "row_kind"
    REFUSED_ROW = "refused_row"

    @property
    def stage(self) -> str:
        """The stage of processing that refused the record, in Connect's terms."""
        if self is DeadLetterReason.MALFORMED_KEY:
            return "KEY_CONVERTER"
        if self is DeadLetterReason.MALFORMED_HEADER:
            return "HEADER_CONVERTER"
        return "VALUE_CONVERTER" if self in _CONVERSION else "TASK_PUT"


_CONVERSION = frozenset(
    {
        DeadLetterReason.MALFORMED,
        DeadLetterReason.WRONG_TYPE,
        DeadLetterReason.OUT_OF_RANGE,
        DeadLetterReason.UNREADABLE,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """One refused record.

    Attributes:
        topic: The topic of the record.
        partition: The record's Kafka partition.
        offset: The record's Kafka offset.
        reason: Why the record was refused.
        message: The reason in words: which column, what was found, what was expected.
        key: The key as received.
        value: The value as received.
        headers: The headers as received.
    """

    topic: str
    partition: int
    offset: int
    reason: DeadLetterReason
    message: str
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    def all_headers(self, *, connector: str) -> list[tuple[str, bytes]]:
        """Return the record's headers, followed by those that describe the refusal.

        Args:
            connector: The sender's name.
        """
        ours = {
            f"{_PREFIX}topic": self.topic,
            f"{_PREFIX}partition": str(self.partition),
            f"{_PREFIX}offset": str(self.offset),
            f"{_PREFIX}connector.name": connector,
            f"{_PREFIX}task.id": str(self.partition),
            f"{_PREFIX}stage": self.reason.stage,
            f"{_PREFIX}class.name": _SENDER_CLASS,
            f"{_PREFIX}exception.class.name": f"braid.{self.reason}",
            f"{_PREFIX}exception.message": self.message,
            REASON_HEADER: self.reason.value,
        }
        theirs = [(name, value or b"") for name, value in self.headers]
        return theirs + [(name, value.encode()) for name, value in ours.items()]
