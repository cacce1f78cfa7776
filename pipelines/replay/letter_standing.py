"""Standing of a dead letter (open, replayed, or the reason why it cannot be replayed), and the selection of letters. Pure.

The position of the stream in its table decides whether a letter is open or replayed. The letter alone cannot decide it, because
letters are sent before the commit that counts them, and may be sent more than once. Some letters show by themselves that
they cannot be replayed: letters of another stream, letters that were cut, and letters of a version with too few headers.
"""

from dataclasses import dataclass
from enum import StrEnum

from braid.formats.dead_letter import DeadLetter
from braid.lake import StreamPosition, holds_offset
from braid.schemas import LetterSelection


class Standing(StrEnum):
    """The standing of a dead letter of a stream."""

    OPEN = "open"
    REPLAYED = "replayed"
    OTHER_STREAM = "other_stream"
    NOT_COMMITTED = "not_committed"
    READ_AGAIN = "read_again"
    EARLIER_VERSION = "earlier_version"
    OTHER_TOPIC = "other_topic"
    FORMER_STREAM = "former_stream"
    UNKNOWN_GENERATION = "unknown_generation"
    UNKNOWN_ATTEMPT = "unknown_attempt"
    CUT = "cut"

    @property
    def is_left(self) -> bool:
        """Whether no replay will write the letter's record, and a person has to look after it; such have `words`."""
        return self in _WORDS

    @property
    def words(self) -> str:
        """Why a letter that is left (`is_left`) cannot be replayed."""
        return _WORDS[self]


_WORDS = {
    Standing.EARLIER_VERSION: "an older version of Braid sent the letter, without generation and timestamp of the record",
    Standing.OTHER_TOPIC: "the record is of another topic, or of an earlier topic of the same name",
    Standing.FORMER_STREAM: "a former stream of this name sent the letter; it was deleted, and its position was not "
    "continued",
    Standing.UNKNOWN_GENERATION: "the record's generation is above that of the table, which was rolled back or "
    "created again",
    Standing.UNKNOWN_ATTEMPT: "the table does not know any more whether the letter's batch was committed, and "
    "a column would count the record twice",
    Standing.CUT: "the letter has only the beginning of the record's value",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterJudge:
    """Decides the standing of letters at one position of a stream.

    Attributes:
        connector: Name under which the stream sends letters.
        position: The stream's position.
        counts_repetitions: Whether a record that is written twice counts twice in a column.
    """

    connector: str
    position: StreamPosition
    counts_repetitions: bool

    def standing(self, letter: DeadLetter, connector: str) -> Standing:
        """Return the standing of a letter that this sender has sent."""
        position = self.position
        if connector != self.connector:
            return Standing.OTHER_STREAM
        if letter.generation is None or letter.timestamp_ms is None or letter.attempt is None:
            return Standing.EARLIER_VERSION
        if (letter.topic, letter.topic_id) != (position.topic, position.topic_id):
            return Standing.OTHER_TOPIC
        if letter.attempt.epoch < position.letters.first_epoch:
            return Standing.FORMER_STREAM
        if letter.generation > position.generation:
            return Standing.UNKNOWN_GENERATION
        if holds_offset(position.letters.replayed, letter.partition, letter.offset):
            return Standing.REPLAYED
        is_committed = position.letters.attempts.is_committed(letter.attempt)
        if is_committed is False:
            return Standing.NOT_COMMITTED
        if letter.offset >= position.offsets.get(letter.partition, 0):
            return Standing.READ_AGAIN
        if is_committed is None and self.counts_repetitions:
            return Standing.UNKNOWN_ATTEMPT
        return Standing.OPEN if letter.value_bytes is None else Standing.CUT


def is_selected(selection: LetterSelection, letter: DeadLetter) -> bool:
    """Return whether a selection means a letter."""
    if selection.reasons and letter.reason.value not in selection.reasons:
        return False
    return is_within(selection, letter)


def is_within(selection: LetterSelection, letter: DeadLetter) -> bool:
    """Return whether the offset of a letter's record is in the ranges of a selection."""
    if not selection.offsets:
        return True
    span = selection.offsets.get(str(letter.partition))
    return span is not None and span.start <= letter.offset < span.end
