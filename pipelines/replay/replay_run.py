"""Replay of selected dead letters: reads their topic twice, and makes one commit for every few thousand letters.

1. The first reading finds the open letters of the stream (`letter_standing`), so that the replayed offsets can be
   stored as few ranges (`offset_ranges`). It begins with the stream's position. The letters of all records before that
   position are on the topic by then; letters that are sent during the reading belong to later records. The first
   reading is repeated if the stream is claimed or its position is moved before the reading ends.
2. The second reading writes the selected letters in chunks, in the order in which they are on their topic. The order of
   writing does not matter, because the place of each record is stored with its row, or no column depends on it
   (`replay_rules`).

Each commit has rows together with the offsets of their letters, so after a crash the next run leaves out what was
committed. Just before the commit, each letter is judged again by the current position, so two simultaneous replays
replay no letter twice.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from braid.formats.dead_letter import DeadLetter
from braid.formats.schema_registry.schema_source import SchemaSource
from braid.lake import (
    CommitConflict,
    InvalidRequest,
    LimitExceeded,
    OffsetRanges,
    ReplayedLetters,
    StreamFenced,
    StreamPosition,
    Table,
    TableCommitter,
    commit_or_discard,
    with_offsets,
)
from braid.pipelines.replay.letter_standing import LetterJudge, Standing, is_selected, is_within
from braid.pipelines.replay.letter_topic import LetterSource
from braid.pipelines.replay.replay_writer import Place, WrittenLetters, write_letters
from braid.records.stream_plan import StreamPlan
from braid.schemas import LetterSelection, ReplayResult

_LOG = logging.getLogger(__name__)

CHUNK_LETTERS: Final = 5_000
CHUNK_BYTES: Final = 16 * 1024 * 1024
OPEN_MAX: Final = 1_000_000
"""Open letters of the selected ranges of offsets that a replay holds in memory, some tens of bytes each."""
_ATTEMPTS_MAX: Final = 10
"""Each failed one means that the table has changed, or other letters were replayed, while a chunk was written."""
_EXAMPLES_MAX: Final = 10


class ReplayWithdrawn(Exception):
    """The request was withdrawn, or the stream was deleted, while it was carried out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayTarget:
    """Where records are replayed to, read just now.

    Attributes:
        plan: The stream by its present declaration.
        table: Its table, opened for this use.
        counts_repetitions: Whether a record that is written twice counts twice in a column.
    """

    plan: StreamPlan
    table: Table
    counts_repetitions: bool


def judge_of(target: ReplayTarget) -> LetterJudge:
    """Return the judge of a stream's letters at its newest position.

    Raises:
        InvalidRequest: The stream has not been started yet.
    """
    position = target.table.committer().stream_positions().get(target.plan.stream)
    if position is None or not position.topic:
        message = (
            f"the stream {target.plan.key} has not been started yet, so it has no dead letters"
        )
        raise InvalidRequest(message)
    return LetterJudge(
        connector=target.plan.connector,
        position=position,
        counts_repetitions=target.counts_repetitions,
    )


class TargetSource(Protocol):
    """Source of the present declaration and table."""

    def target(self) -> ReplayTarget:
        """Return both, read anew.

        Raises:
            ReplayWithdrawn: The replay has to end.
            InvalidRequest: The stream does not fit its table.
            LakeError: Registry or table cannot be read.
        """
        ...


@dataclass(slots=True, kw_only=True)
class _Counts:
    accepted: int = 0
    folded: int = 0
    ignored: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)


class ReplayRun:
    """One replay. Used once, from one thread."""

    def __init__(
        self,
        selection: LetterSelection,
        *,
        source: LetterSource,
        targets: TargetSource,
        schemas: SchemaSource | None = None,
        on_commit: Callable[[int], None] = lambda _: None,
        chunk_letters: int = CHUNK_LETTERS,
    ) -> None:
        """Prepare a replay.

        Args:
            selection: Which letters.
            source: The stream's dead-letter topic.
            targets: Declaration and table.
            schemas: The schemas that messages name; None where the stream's format names no registry.
            on_commit: Called after each chunk of letters with the number of those replayed so far.
            chunk_letters: Letters of one commit.
        """
        self._selection = selection
        self._source = source
        self._targets = targets
        self._schemas = schemas
        self._on_commit = on_commit
        self._chunk_letters = chunk_letters
        self._counts = _Counts()
        # The position of the first reading, the open letters before it that are not replayed, by partition, and
        # those that have failed in this run.
        self._known_at: StreamPosition | None = None
        self._open: dict[int, list[int]] = {}
        self._failed: set[Place] = set()

    def run(self, *, finished_ms: Callable[[], int]) -> ReplayResult:
        """Replay all selected letters that are on the topic now, and return the result.

        Args:
            finished_ms: Returns the time, milliseconds since the epoch.

        Raises:
            ReplayWithdrawn: The request was withdrawn; what was committed stays.
            InvalidRequest: The table has no position of the stream, or the stream does not fit its table.
            LimitExceeded: Too many letters are open, or too many ranges would have to be remembered.
            StorageUnavailable: Kafka, storage or a registry does not answer; run again.
            LakeError: What `TableCommitter.replay_letters` raises; run again.
        """
        start, end = self._find_open()
        chunk: dict[Place, DeadLetter] = {}
        held = 0
        judge = judge_of(self._targets.target())
        for found, _ in self._source.read(start, end):
            for one in found:
                letter = one.letter
                place = (letter.partition, letter.offset)
                is_done = place in chunk or place in self._failed
                if is_done or not is_selected(self._selection, letter):
                    continue
                if judge.standing(letter, one.connector) is not Standing.OPEN:
                    continue
                chunk[place] = letter
                held += len(letter.value or b"") + len(letter.key or b"")
                if len(chunk) >= self._chunk_letters or held >= CHUNK_BYTES:
                    judge = self._replay(list(chunk.values()))
                    chunk, held = {}, 0
        if chunk:
            self._replay(list(chunk.values()))
        return self._result(finished_ms=finished_ms())

    def _find_open(self) -> tuple[Mapping[int, int], Mapping[int, int]]:
        """Find the open letters; return the bounds of the topic."""
        # Before the bounds: the letters of a micro-batch are sent by several tasks, and committed after the last one.
        judge = judge_of(self._targets.target())
        start, end = self._source.bounds()
        open_offsets: dict[int, set[int]] = {}
        left: dict[Place, Standing] = {}
        count = 0
        for found, _ in self._source.read(start, end):
            for one in found:
                letter = one.letter
                if not is_within(self._selection, letter):
                    continue
                standing = judge.standing(letter, one.connector)
                place = (letter.partition, letter.offset)
                if standing.is_left and is_selected(self._selection, letter):
                    left[place] = standing
                if standing is Standing.OPEN:
                    left.pop(place, None)
                if standing in (Standing.OPEN, Standing.CUT, Standing.UNKNOWN_ATTEMPT):
                    offsets = open_offsets.setdefault(letter.partition, set())
                    offsets.add(letter.offset)
            count = sum(map(len, open_offsets.values())) + len(left)
            if count > OPEN_MAX:
                raise self._too_many()
        self._known_at = judge.position
        self._open = {partition: sorted(some) for partition, some in open_offsets.items()}
        self._counts.left = Counter(standing.value for standing in left.values())
        return start, end

    def _too_many(self) -> LimitExceeded:
        message = (
            f"there are more than {OPEN_MAX} dead letters to replay\n"
            "hint: replay a range of offsets of some partitions at a time"
        )
        return LimitExceeded(message)

    def _replay(self, letters: Sequence[DeadLetter]) -> LetterJudge:
        """Write and commit letters that were open a moment ago; return the judge of the position after it."""
        for attempt in range(_ATTEMPTS_MAX):
            target = self._targets.target()
            judge = judge_of(target)
            if self._known_at is None or judge.position.epoch != self._known_at.epoch:
                # Its position may have been moved back, and records refused that were accepted before.
                self._find_open()
            committer = target.table.committer()
            connector = target.plan.connector
            still = [one for one in letters if judge.standing(one, connector) is Standing.OPEN]
            if not still:
                return judge
            written = write_letters(
                still,
                plan=target.plan,
                table=target.table,
                schemas=self._schemas,
                first_sequence_number=committer.max_sequence_number() + 1,
            )
            done = [one for one in still if (one.partition, one.offset) not in written.failed]
            try:
                if done:
                    self._commit(done, written, judge.position, target.table, committer)
            except (CommitConflict, StreamFenced) as error:
                if attempt == _ATTEMPTS_MAX - 1:
                    raise
                _LOG.info("replay is attempted again stream=%s cause=%s", target.plan.key, error)
                continue
            self._note(written)
            self._on_commit(self._counts.accepted + self._counts.folded + self._counts.ignored)
            return judge_of(target)
        message = "the last attempt returns or raises"
        raise AssertionError(message)

    def _commit(
        self,
        done: Sequence[DeadLetter],
        written: WrittenLetters,
        position: StreamPosition,
        table: Table,
        committer: TableCommitter,
    ) -> None:
        added: dict[int, set[int]] = {}
        for letter in done:
            added.setdefault(letter.partition, set()).add(letter.offset)
        still_open = dict(self._open)
        for partition, replayed in added.items():
            offsets = still_open.get(partition, [])
            still_open[partition] = [offset for offset in offsets if offset not in replayed]
        letters = ReplayedLetters(
            replayed=with_offsets(
                position.letters.replayed, added, still_open=still_open, known=self._known()
            ),
            accepted=written.accepted,
            folded=written.folded,
            ignored=written.ignored,
            by_reason=dict(Counter(letter.reason.value for letter in done)),
        )
        commit_or_discard(
            lambda: committer.replay_letters(
                written.messages,
                letters,
                expected=position,
                max_sequence_number=written.max_sequence_number,
            ),
            discard=lambda: table.delete_uncommitted(written.messages),
        )
        self._open = still_open

    def _known(self) -> OffsetRanges:
        """Return the offsets whose open letters the first reading has seen, all of them."""
        assert self._known_at is not None, "letters are replayed after the first reading"
        spans = {int(partition): one for partition, one in self._selection.offsets.items()}
        known = {}
        for partition, end in self._known_at.offsets.items():
            span = spans.get(partition)
            if span is not None:
                known[partition] = ((span.start, min(span.end, end)),)
            elif not spans:
                known[partition] = ((0, end),)
        return known

    def _note(self, written: WrittenLetters) -> None:
        counts = self._counts
        counts.accepted += written.accepted
        counts.folded += written.folded
        counts.ignored += written.ignored
        for (partition, offset), fault in sorted(written.failed.items()):
            self._failed.add((partition, offset))
            counts.failed[fault.reason.value] += 1
            if len(counts.examples) < _EXAMPLES_MAX:
                place = f"partition {partition}, offset {offset}"
                counts.examples.append(f"{place}: {fault.reason}: {fault.message[:300]}")

    def _result(self, *, finished_ms: int) -> ReplayResult:
        counts = self._counts
        return ReplayResult(
            finished_ms=finished_ms,
            accepted=counts.accepted,
            folded=counts.folded,
            ignored=counts.ignored,
            failed_again=dict(sorted(counts.failed.items())),
            examples=tuple(counts.examples),
            left=dict(sorted(counts.left.items())),
        )
