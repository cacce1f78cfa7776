"""Writing of a backfill by others, under one claim: they write parts of the source side by side, and this process commits them in order.

    source ──► parts ──► a few at once are written elsewhere ──► committed here, one after the other

Each commit has the rows of one part, so the position of the backfill is always the end of a part. Parts that were
written behind one that fails are not committed; their files are deleted. Where the order of writing decides between rows,
the sequence numbers of parts do: each part has a range of its own, in the order of the parts.
"""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from braid.backfill.backfill_commits import CommitRequest
from braid.backfill.part_work import PartOutcome, PartPool, PartWork
from braid.backfill.position_commits import PositionCommits
from braid.backfill.read_chunk import Source, SourcePart
from braid.backfill.rejects import TooManyRejects
from braid.lake import StreamPosition

_SEQUENCE_NUMBERS: Final = 1 << 32
"""Sequence numbers of a part. A table has 2**62 of them."""

_Begun: TypeAlias = tuple[SourcePart, Future[PartOutcome]]


@dataclass(kw_only=True)
class PartCommits:
    """Has a source written to its end, from a claimed position on.

    Attributes:
        commits: Commits what is written.
        source: Where records come from.
        request: How commits are made.
        tries_rows: Whether rows go through a trial write.
        pool: Writes parts.
    """

    commits: PositionCommits
    source: Source
    request: CommitRequest
    tries_rows: bool
    pool: PartPool
    _begun: deque[_Begun] = field(default_factory=deque, init=False)

    def to_end(self) -> StreamPosition:
        """Commit what is left of the source, which is not at its end, and return the position there.

        Raises:
            LakeError: What reading, writing and committing raise; what was committed stays.
            OSError: The reject file cannot be written.
        """
        commits = self.commits
        commits.pace.start()
        works = self._works()
        try:
            self._begin(works)
            while self._begun:
                part, future = self._begun.popleft()
                outcome = future.result()
                self._commit(part, outcome)
                commits.pace.hold(outcome.records)
                self._begin(works)
        finally:
            for _, future in self._begun:
                if not future.cancel():
                    future.add_done_callback(self._discard)
        assert dict(commits.position.offsets) == dict(self.source.end), "sources end at their end"
        return commits.position

    def _begin(self, works: Iterator[PartWork]) -> None:
        """Let as many parts be written as the pool can at once."""
        while len(self._begun) < self.pool.parallel:
            work = next(works, None)
            if work is None:
                return
            what = f"backfill of {self.commits.table.identifier} to {work.part.done:.1%}"
            self._begun.append((work.part, self.pool.submit(work, what=what)))

    def _works(self) -> Iterator[PartWork]:
        commits, request = self.commits, self.request
        first = commits.committer.max_sequence_number() + 1
        for part in self.source.parts(commits.position.offsets, request.part):
            yield PartWork(
                part=part,
                table=commits.table,
                generation=commits.position.generation,
                first_sequence_number=first,
                rejects=request.rejects.path,
                rejects_max=request.rejects_max,
                rejected=commits.position.account.dead_lettered,
                tries_rows=self.tries_rows,
            )
            first += _SEQUENCE_NUMBERS

    def _commit(self, part: SourcePart, outcome: PartOutcome) -> None:
        commits, request = self.commits, self.request
        for notice in outcome.notices:
            commits.progress.show(notice)
        request.rejects.add_lines(outcome.rejects)
        refused = commits.position.account.dead_lettered + len(outcome.rejects)
        if refused > request.rejects_max:
            assert outcome.last_fault is not None, "those of earlier parts were few enough"
            request.rejects.flush()
            commits.table.delete_uncommitted(outcome.commit_messages())
            raise TooManyRejects(
                refused, request.rejects_max, outcome.last_fault, request.rejects.path
            )
        if outcome.error is not None:
            raise outcome.error
        commits.progress.read(outcome.records, part.done)
        commits.commit(
            outcome.commit_messages(),
            outcome.account,
            end=part.end,
            max_sequence_number=outcome.max_sequence_number,
        )

    def _discard(self, future: Future[PartOutcome]) -> None:
        """Delete the files of a part that is not committed."""
        if not future.cancelled() and future.exception() is None:
            self.commits.table.delete_uncommitted(future.result().commit_messages())
