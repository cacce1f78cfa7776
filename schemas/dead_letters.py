"""Dead letters of a stream: their numbers, pages of them, and replays with their results.

The service sends a `LetterQuery` to a runner, which answers with a `LetterPage`. `DeadLetters` is the answer
over HTTP.
"""

from collections.abc import Mapping
from typing import Annotated, Final, TypeAlias

from pydantic import Field, model_validator

from braid.schemas.contract import Contract, at_most
from braid.schemas.offsets import PARTITIONS_MAX, Offset, PartitionName

REASONS_MAX: Final = 100

Reasons: TypeAlias = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=100)], ...], at_most(REASONS_MAX)
]


class OffsetSpan(Contract):
    """A range of offsets of one partition, as requested.

    Attributes:
        start: The first offset.
        end: The offset after the last.
    """

    start: Offset
    end: Offset

    @model_validator(mode="after")
    def _check(self) -> "OffsetSpan":
        if self.start >= self.end:
            message = f"expected `end` above `start`, found {self.start} and {self.end}"
            raise ValueError(message)
        return self


class LetterSelection(Contract):
    """Which dead letters of a stream are meant: those that fulfil both.

    Attributes:
        reasons: Their reasons; empty: any.
        offsets: Ranges of the records' offsets, by Kafka partition; empty: any.
    """

    reasons: Reasons = ()
    offsets: Annotated[Mapping[PartitionName, OffsetSpan], at_most(PARTITIONS_MAX)] = Field(
        default_factory=dict, examples=[{"0": {"start": 1200, "end": 1300}}]
    )


class ReplayResult(Contract):
    """The result of a replay.

    Attributes:
        finished_ms: When it ended, milliseconds since the epoch, UTC.
        accepted: Records that became a row of a file.
        folded: Records merged with a later one of the same key.
        ignored: Records left out, as the stream's declaration demands.
        failed_again: Records that are refused again, by their reason now; they stay dead letters.
        examples: Sentences about the first few of these.
        left: Dead letters that cannot be replayed, by cause.
        error: Why the replay ended early; None: all selected letters were replayed, failed again, or were left.
    """

    finished_ms: int
    accepted: int = 0
    folded: int = 0
    ignored: int = 0
    failed_again: Mapping[str, int] = Field(default_factory=dict)
    examples: tuple[str, ...] = ()
    left: Mapping[str, int] = Field(default_factory=dict)
    error: str | None = None


class RequestedReplay(Contract):
    """A replay of a stream's dead letters, which its runner carries out.

    Attributes:
        id: Unique to the request.
        selection: Which dead letters.
        requested_ms: When it was requested, milliseconds since the epoch, UTC.
        result: The result; None until it has ended.
    """

    id: str
    selection: LetterSelection
    requested_ms: int
    result: ReplayResult | None = None


class ListedLetter(Contract):
    """One dead letter. Keys, values and messages are shown up to a bound.

    Attributes:
        partition: Kafka partition of the record.
        offset: Kafka offset of the record.
        reason: Why it was refused.
        message: The reason in words.
        generation: Generation of the stream's order then; None: an earlier version has sent the letter.
        topic_id: Kafka's id of the record's topic; empty when it is not known.
        timestamp_ms: The record's Kafka timestamp, milliseconds since the epoch; None: not known.
        sent_ms: When the letter was sent, milliseconds since the epoch.
        key: The record's key as text; bytes that are no UTF-8 are replaced; None: it has none.
        value: The record's value, likewise.
        value_bytes: Length of the record's value.
        standing: `open`; `replayed`; or why it cannot be replayed.
    """

    partition: int
    offset: int
    reason: str
    message: str
    generation: int | None
    topic_id: str
    timestamp_ms: int | None
    sent_ms: int
    key: str | None
    value: str | None
    value_bytes: int
    standing: str


class LetterPage(Contract):
    """A page of dead letters, as a runner has read it.

    Attributes:
        letters: The letters in the order of their topic's partitions and offsets.
        next: Offset in the dead-letter topic to continue at, by partition; None: there are no more.
        error: Why nothing could be read; None: there is no error.
    """

    letters: tuple[ListedLetter, ...] = ()
    next: Mapping[int, int] | None = None
    error: str | None = None


class LetterQuery(Contract):
    """A question for a page of dead letters, which a runner of the stream answers.

    Attributes:
        id: Unique to the question.
        table: `<database>.<table>`.
        stream: The stream's name.
        selection: Which letters.
        limit: The largest number of letters.
        start: Offset in the dead-letter topic to read from, by partition; None: from the beginning.
        asked_ms: When it was asked, milliseconds since the epoch, UTC.
    """

    id: str
    table: str
    stream: str
    selection: LetterSelection
    limit: int
    start: Mapping[int, int] | None = None
    asked_ms: int


class DeadLetterCounts(Contract):
    """Numbers of a stream's dead letters since its first start on the topic, as its table has them.

    Attributes:
        total: All of them; a record that was read again counts each time.
        replayed: Those that were replayed.
        open: The others.
        by_reason: All of them by reason. The sum is lower where versions before counted some.
        replayed_by_reason: The replayed ones by reason.
    """

    total: int
    replayed: int
    open: int
    by_reason: Mapping[str, int]
    replayed_by_reason: Mapping[str, int]


class DeadLetters(Contract):
    """Dead letters of a stream: their numbers, and a page of them.

    Attributes:
        database: The table's database.
        table: The table's name.
        stream: The stream's name.
        dead_letter_topic: The topic on which they are.
        counts: Their numbers.
        replay: The newest replay; None: none was requested.
        letters: The page; empty with `limit=0`.
        next_page_token: Continues after the page; None: there are no more.
    """

    database: str
    table: str
    stream: str
    dead_letter_topic: str
    counts: DeadLetterCounts
    replay: RequestedReplay | None = None
    letters: tuple[ListedLetter, ...] = ()
    next_page_token: str | None = None
