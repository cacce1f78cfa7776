"""Dead letters, the messages with the records that a stream refuses: their writer and parser, and the list of reasons.

A dead letter has the record's key, value and headers; a value that is too long for the topic is cut. It has further headers
with the names that Kafka Connect uses, so that tools for Connect's dead letters can read Braid's, and headers `braid.…`.
Topic, partition and offset identify the record. `pipelines/sink/dead_letter_sender` sends dead letters at least once: a repeated
micro-batch sends its dead letters again.

A dead letter with the whole value has everything that is needed to read its record again (`parse_dead_letter`): the
record's timestamp, the id of its topic if the id was known, and the generation of the stream's order when the letter
was sent. It also names the attempt of the micro-batch that sent it, because an attempt that was never committed may
have sent dead letters. Dead letters of earlier versions of Braid have none of these headers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from braid.lake import LetterAttempt

_PREFIX: Final = "__connect.errors."
TOPIC_HEADER: Final = f"{_PREFIX}topic"
"""The first header after the record's own ones."""
PARTITION_HEADER: Final = f"{_PREFIX}partition"
OFFSET_HEADER: Final = f"{_PREFIX}offset"
MESSAGE_HEADER: Final = f"{_PREFIX}exception.message"
CONNECTOR_HEADER: Final = f"{_PREFIX}connector.name"
REASON_HEADER: Final = "braid.reason"
TOPIC_ID_HEADER: Final = "braid.topic.id"
GENERATION_HEADER: Final = "braid.generation"
TIMESTAMP_HEADER: Final = "braid.timestamp"
ATTEMPT_HEADER: Final = "braid.attempt"
NULL_HEADERS_HEADER: Final = "braid.headers.null"
CUT_HEADER: Final = "braid.value.cut"
_SENDER_CLASS = "pipelines.ingest.Ingest"
"""Stored in topics, where consumers may filter by it: it stays when the class that sends moves."""


class DeadLetterReason(StrEnum):
    """Why a record was refused."""

    MALFORMED = "malformed"
    WRONG_TYPE = "wrong_type"
    OUT_OF_RANGE = "out_of_range"
    EXPRESSION = "expression"
    MISSING_KEY = "missing_key"
    MALFORMED_KEY = "malformed_key"
    MALFORMED_HEADER = "malformed_header"
    NOT_NULL = "not_null"
    MISSING_FIELD = "missing_field"
    NULL_ORDERING = "null_ordering"
    TOMBSTONE = "tombstone"
    DELETE = "delete"
    TRUNCATE = "truncate"
    TOO_LARGE = "too_large"
    NEW_FIELD = "new_field"
    UNREADABLE = "unreadable"
    ROW_KIND = "row_kind"
    REFUSED_ROW = "refused_row"
    POISON = "poison"

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
        DeadLetterReason.EXPRESSION,
        DeadLetterReason.UNREADABLE,
        DeadLetterReason.POISON,
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
        topic_id: Kafka's id of the topic; empty when it is not known.
        generation: Generation of the stream's order when the record was refused; None: a letter of an earlier
            version, which names none.
        timestamp_ms: The record's Kafka timestamp, milliseconds since the epoch; None: likewise.
        attempt: The attempt at a batch that has sent the letter; None: likewise.
        value_bytes: Length of the record's value, where the letter has only its beginning; None: it is whole.
    """

    topic: str
    partition: int
    offset: int
    reason: DeadLetterReason
    message: str
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    topic_id: str = ""
    generation: int | None = None
    timestamp_ms: int | None = None
    attempt: LetterAttempt | None = None
    value_bytes: int | None = None

    def all_headers(self, *, connector: str) -> list[tuple[str, bytes]]:
        """Return the record's headers, followed by those that describe the refusal.

        Args:
            connector: The sender's name.
        """
        ours = {
            TOPIC_HEADER: self.topic,
            PARTITION_HEADER: str(self.partition),
            OFFSET_HEADER: str(self.offset),
            CONNECTOR_HEADER: connector,
            f"{_PREFIX}task.id": str(self.partition),
            f"{_PREFIX}stage": self.reason.stage,
            f"{_PREFIX}class.name": _SENDER_CLASS,
            f"{_PREFIX}exception.class.name": f"braid.{self.reason}",
            MESSAGE_HEADER: self.message,
            REASON_HEADER: self.reason.value,
        }
        known = {
            TOPIC_ID_HEADER: self.topic_id or None,
            GENERATION_HEADER: self.generation,
            TIMESTAMP_HEADER: self.timestamp_ms,
            ATTEMPT_HEADER: self.attempt,
            # Clients of Kafka send no header without a value.
            NULL_HEADERS_HEADER: self._null_headers or None,
            CUT_HEADER: self.value_bytes,
        }
        ours |= {name: str(value) for name, value in known.items() if value is not None}
        theirs = [(name, value or b"") for name, value in self.headers]
        return theirs + [(name, value.encode()) for name, value in ours.items()]

    @property
    def _null_headers(self) -> str:
        return ",".join(
            str(index) for index, (_, value) in enumerate(self.headers) if value is None
        )


def parse_dead_letter(
    *, key: bytes | None, value: bytes | None, headers: Sequence[tuple[str, bytes | None]]
) -> tuple[DeadLetter, str] | None:
    """Return a dead letter and the name of its sender, from a message of a dead-letter topic; None: it is none.

    Args:
        key: The message's key.
        value: Its value.
        headers: All of its headers, in their order.
    """
    names = [name for name, _ in headers]
    if TOPIC_HEADER not in names:
        return None
    # A record may itself come from a dead-letter topic: only the last block of these names is of this letter.
    first = len(names) - 1 - names[::-1].index(TOPIC_HEADER)
    try:
        ours = {name: (text or b"").decode() for name, text in headers[first:]}
        nulls = {int(part) for part in ours.get(NULL_HEADERS_HEADER, "").split(",") if part}
        letter = DeadLetter(
            topic=ours[TOPIC_HEADER],
            partition=int(ours[PARTITION_HEADER]),
            offset=int(ours[OFFSET_HEADER]),
            reason=DeadLetterReason(ours[REASON_HEADER]),
            message=ours[MESSAGE_HEADER],
            key=key,
            value=value,
            headers=tuple(
                (name, None if index in nulls else text)
                for index, (name, text) in enumerate(headers[:first])
            ),
            topic_id=ours.get(TOPIC_ID_HEADER, ""),
            generation=_number(ours.get(GENERATION_HEADER)),
            timestamp_ms=_number(ours.get(TIMESTAMP_HEADER)),
            attempt=LetterAttempt.parse(ours[ATTEMPT_HEADER]) if ATTEMPT_HEADER in ours else None,
            value_bytes=_number(ours.get(CUT_HEADER)),
        )
        return letter, ours[CONNECTOR_HEADER]
    except (ValueError, KeyError):
        return None


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)
