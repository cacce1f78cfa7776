"""Pages of a stream's dead letters, bounded in number, characters and time."""

from collections.abc import Callable, Mapping
from typing import Final

from braid.pipelines.replay.letter_standing import LetterJudge, Standing, is_selected
from braid.pipelines.replay.letter_topic import LetterSource, TopicLetter
from braid.schemas import LetterPage, LetterSelection, ListedLetter

LETTERS_MAX: Final = 1_000
PAGE_BYTES: Final = 1024 * 1024
SECONDS_MAX: Final = 4.0
SHOWN_CHARACTERS: Final = 1_000


def read_page(
    source: LetterSource,
    judge: LetterJudge,
    selection: LetterSelection,
    *,
    limit: int,
    start: Mapping[int, int] | None,
    monotonic_s: Callable[[], float],
) -> LetterPage:
    """Return the next letters of a stream, in the order in which they are on their topic.

    The page ends early where it has enough characters, or reading has taken long: it may then be short, or even empty,
    and names where to continue.

    Args:
        source: The dead-letter topic.
        judge: Tells the letters of the stream, and their standing.
        selection: Which letters.
        limit: The largest number of letters, 1 to `LETTERS_MAX`.
        start: Offset to read from by partition; None: from the oldest letter.
        monotonic_s: A clock, seconds.

    Raises:
        StorageUnavailable: Kafka does not answer.
    """
    assert 1 <= limit <= LETTERS_MAX, limit
    deadline_s = monotonic_s() + SECONDS_MAX
    first, end = source.bounds()
    # Letters may have expired since the page before, and partitions may have been added.
    following = {
        partition: min(max(offset, (start or {}).get(partition, offset)), end[partition])
        for partition, offset in first.items()
    }
    letters: list[ListedLetter] = []
    size = 0
    for found, after in source.read(following, end) if following else ():
        for one in found:
            if len(letters) == limit or size >= PAGE_BYTES:
                return LetterPage(letters=tuple(letters), next=following)
            following[one.partition] = one.offset + 1
            standing = judge.standing(one.letter, one.connector)
            if standing is Standing.OTHER_STREAM or not is_selected(selection, one.letter):
                continue
            listed = _listed(one, standing)
            letters.append(listed)
            size += len(listed.message) + len(listed.value or "") + len(listed.key or "")
        following |= after
        if monotonic_s() >= deadline_s and following != dict(end):
            return LetterPage(letters=tuple(letters), next=following)
    return LetterPage(letters=tuple(letters))


def _listed(one: TopicLetter, standing: Standing) -> ListedLetter:
    letter = one.letter
    whole = len(letter.value or b"") if letter.value_bytes is None else letter.value_bytes
    return ListedLetter(
        partition=letter.partition,
        offset=letter.offset,
        reason=letter.reason.value,
        message=letter.message[:SHOWN_CHARACTERS],
        generation=letter.generation,
        topic_id=letter.topic_id,
        timestamp_ms=letter.timestamp_ms,
        sent_ms=one.sent_ms,
        key=_shown(letter.key),
        value=_shown(letter.value),
        value_bytes=whole,
        standing=standing.value,
    )


def _shown(data: bytes | None) -> str | None:
    if data is None:
        return None
    # A character has at most four bytes.
    return data[: 4 * SHOWN_CHARACTERS].decode(errors="replace")[:SHOWN_CHARACTERS]
