"""Check of the dead letters: those of every account are there, and each has the bytes of its record. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.support.chaos.commits import Batch
from tests.support.chaos.records import Fate, Placed, Record

_TOPIC = "__connect.errors.topic"
_PARTITION = "__connect.errors.partition"
_OFFSET = "__connect.errors.offset"
_REASON = "braid.reason"
_ATTEMPT = "braid.attempt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A message of a dead-letter topic.

    Attributes:
        key: Its key.
        value: Its value.
        headers: The headers of the record.
        added: The headers that tell where it comes from, and why.
    """

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    added: Mapping[str, str]

    @classmethod
    def of(
        cls,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]],
    ) -> "Letter":
        """Return the letter of a message: its own headers come last."""
        names = [name for name, _ in headers]
        first = len(names) - 1 - names[::-1].index(_TOPIC)
        added = {name: (text or b"").decode() for name, text in headers[first:]}
        return cls(key=key, value=value, headers=tuple(headers[:first]), added=added)

    @property
    def place(self) -> tuple[int, int]:
        """Partition and offset of its record."""
        return int(self.added[_PARTITION]), int(self.added[_OFFSET])


def letter_faults(
    letters: Iterable[Letter], *, topic: str, records: Iterable[Placed], batches: Sequence[Batch]
) -> list[str]:
    """Return what is wrong with the dead letters of a stream.

    Args:
        letters: All messages of its dead-letter topic.
        topic: The name of its topic.
        records: All records of its topic.
        batches: Its micro-batches that were committed.
    """
    by_place = {(one.partition, one.offset): one.record for one in records}
    wrong: list[str] = []
    of_attempt: dict[str, dict[tuple[int, int], str]] = defaultdict(dict)
    for letter in letters:
        wrong += _differences(letter, topic, by_place)
        of_attempt[letter.added[_ATTEMPT]][letter.place] = letter.added[_REASON]
    for batch in batches:
        found = of_attempt.get(batch.attempt, {})
        wrong += _missing(batch, found, by_place)
    return wrong


def _differences(
    letter: Letter, topic: str, records: Mapping[tuple[int, int], Record]
) -> Iterator[str]:
    """Yield how a letter differs from its record; letters of attempts that were not committed are letters, too."""
    record = records.get(letter.place)
    if record is None or letter.added[_TOPIC] != topic:
        yield f"letter {letter.added}: there is no such record"
        return
    if record.reason != letter.added[_REASON]:
        yield f"letter {letter.added}: its record is a {record.fate}, reason {record.reason}"
    found = letter.key, letter.value, letter.headers
    if found != record.bytes:
        yield f"letter {letter.added}: found {found}, its record has {record.bytes}"


def _missing(
    batch: Batch, found: Mapping[tuple[int, int], str], records: Mapping[tuple[int, int], Record]
) -> Iterator[str]:
    """Yield what a committed micro-batch counts and the topic does not have, or the other way round."""
    if Counter(found.values()) != Counter(batch.letters):
        yield (
            f"batch {batch.attempt} of {batch.stream}: {dict(Counter(found.values()))} are on the topic, "
            f"its account has {dict(batch.letters)}"
        )
    for partition, read in batch.ranges.items():
        for offset in range(read.start, read.end):
            place = partition, offset
            is_refused = records[place].fate is Fate.LETTER
            if is_refused and place not in found:
                yield f"batch {batch.attempt} of {batch.stream}: no letter of {place}, {records[place]}"
    outside = [
        place
        for place in found
        if not (
            place[0] in batch.ranges
            and batch.ranges[place[0]].start <= place[1] < batch.ranges[place[0]].end
        )
    ]
    if outside:
        yield f"batch {batch.attempt} of {batch.stream}: letters of offsets that are not its own: {outside}"
