"""Dead letters of a stream: their numbers from its position in the table, and pages of them from a runner.

The service does not read Kafka. It writes a request for a page into the warehouse, and waits some seconds for a runner's answer.
"""

import time
from collections.abc import Callable, Mapping
from typing import Final
from uuid import uuid4

import orjson

from braid.lake import Clock, InvalidRequest, Problem, StorageUnavailable, StreamPosition
from braid.registry.errors import NoRunnerAnswers
from braid.registry.store.letter_questions import LetterQuestions
from braid.schemas import (
    DeadLetterCounts,
    LetterPage,
    LetterQuery,
    LetterSelection,
    OffsetSpan,
)
from braid.schemas.offsets import OFFSET_MAX, PARTITIONS_MAX
from braid.service.control.page_token import decode_token, encode_token

WAIT_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.1


def letter_counts(position: StreamPosition | None) -> DeadLetterCounts:
    """Return the numbers of a stream's dead letters; None: a stream that was never started."""
    if position is None:
        return DeadLetterCounts(total=0, replayed=0, open=0, by_reason={}, replayed_by_reason={})
    letters = position.letters
    return DeadLetterCounts(
        total=position.account.dead_lettered,
        replayed=letters.replayed_records,
        open=position.open_letters,
        by_reason=dict(letters.by_reason),
        replayed_by_reason=dict(letters.replayed_by_reason),
    )


def letter_selection(
    reasons: list[str] | None, partition: int | None, start: int | None, end: int | None
) -> LetterSelection:
    """Return the selection of the parameters of a request.

    Raises:
        InvalidRequest: A range has no partition, or is empty.
    """
    if partition is None and start is None and end is None:
        return LetterSelection(reasons=tuple(reasons or ()))
    first, last = start or 0, OFFSET_MAX if end is None else end
    if partition is None or first >= last:
        problem = Problem(
            field="partition" if partition is None else "offset_end",
            value=None if partition is None else str(end),
            message="a range of offsets needs a `partition`, and an end above its start",
            hint="set `partition`, `offset_start` and `offset_end`; the record at `offset_end` is not in the range",
        )
        message = "the range of offsets is not valid"
        raise InvalidRequest(message, problems=[problem])
    return LetterSelection(
        reasons=tuple(reasons or ()),
        offsets={str(partition): OffsetSpan(start=first, end=last)},
    )


class LetterReader:
    """Asks runners for pages of dead letters.

    Attributes:
        wait_seconds: How long an answer is waited for.
    """

    def __init__(
        self,
        questions: LetterQuestions,
        clock: Clock,
        *,
        wait_seconds: float = WAIT_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create a reader.

        Args:
            questions: The questions of the warehouse.
            clock: Dates the questions, which are answered in the order of their dates.
            wait_seconds: How long an answer is waited for.
            sleep: Blocks the thread for a number of seconds.
            monotonic_s: A clock for the wait, seconds.
        """
        self._questions = questions
        self._clock = clock
        self.wait_seconds = wait_seconds
        self._sleep = sleep
        self._monotonic_s = monotonic_s

    def page(
        self,
        identifier: str,
        stream: str,
        selection: LetterSelection,
        *,
        limit: int,
        page_token: str | None,
    ) -> tuple[LetterPage, str | None]:
        """Return a page, and the token of the next one, None at the end.

        Args:
            identifier: `<database>.<table>`.
            stream: The stream's name.
            selection: Which letters.
            limit: The largest number of letters.
            page_token: The token of the page; None: the first one.

        Raises:
            InvalidRequest: The token is not one of this stream.
            NoRunnerAnswers: No runner answers in time.
            StorageUnavailable: The runner cannot read the letters.
        """
        of = f"{identifier}/{stream}"
        query = LetterQuery(
            id=uuid4().hex,
            table=identifier,
            stream=stream,
            selection=selection,
            limit=limit,
            start=None if page_token is None else _parse_token(page_token, of=of),
            asked_ms=self._clock.now_ms(),
        )
        self._questions.ask(query)
        try:
            page = self._wait(query.id)
        finally:
            self._questions.forget(query.id)
        if page is None:
            message = (
                f"no runner of the stream {of} has answered within {self.wait_seconds:g} s\n"
                "hint: start a runner; or list the letters with `braid stream dead-letters`; their "
                "counts need no runner: `limit=0`"
            )
            raise NoRunnerAnswers(message)
        if page.error is not None:
            message = f"the runner cannot read the dead letters of {of}: {page.error}"
            raise StorageUnavailable(message)
        return page, None if page.next is None else _to_token(page.next, of=of)

    def _wait(self, query_id: str) -> LetterPage | None:
        deadline_s = self._monotonic_s() + self.wait_seconds
        while True:
            page = self._questions.answer_of(query_id)
            if page is not None or self._monotonic_s() >= deadline_s:
                return page
            self._sleep(_LOOK_SECONDS)


def _to_token(offsets: Mapping[int, int], *, of: str) -> str:
    return encode_token(orjson.dumps([of, sorted(offsets.items())]))


def _parse_token(token: str, *, of: str) -> dict[int, int]:
    try:
        fields = orjson.loads(decode_token(token))
    except ValueError:  # not base64, or not JSON
        fields = None
    match fields:
        case [str(name), list(pairs)] if name == of and len(pairs) <= PARTITIONS_MAX:
            # Tokens are not signed: a forged one must not become a path or a number out of bounds.
            offsets = {
                pair[0]: pair[1]
                for pair in pairs
                if isinstance(pair, list)
                and len(pair) == 2
                and all(isinstance(n, int) and 0 <= n <= OFFSET_MAX for n in pair)
            }
            if len(offsets) == len(pairs):
                return offsets
        case _:
            pass
    problem = Problem(
        field="page_token",
        value=token[:100],
        message="not a page token for dead letters of this stream",
        hint="use `next_page_token` of the page before, or leave it out",
    )
    message = "the page token is not valid"
    raise InvalidRequest(message, problems=[problem])
