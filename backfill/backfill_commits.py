"""Writing of a backfill by this process, under one claim: the loop over the chunks of its source.

Each commit makes one snapshot with the rows of some chunks, the new position and the account. With `is_bulk`, one
commit has the rows of all chunks.
"""

from dataclasses import dataclass, field
from typing import Final

from braid.backfill.position_commits import PositionCommits
from braid.backfill.read_chunk import PartBound, ReadChunk, Source
from braid.backfill.record_writer import RecordWriter
from braid.backfill.rejects import RejectFile
from braid.lake import BatchAccount, Clock, StreamPosition, TableWriter

BUFFER_BYTES: Final = 128 << 20
"""Rows that a writer of a backfill holds in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRequest:
    """How commits are made.

    Attributes:
        rejects: The file of refused records.
        rejects_max: The largest number of refused records.
        rows: Number of rows after which a commit is due.
        interval_ms: Time after which a commit is due, milliseconds.
        is_bulk: Whether one commit fills the table with sorted runs.
        part: What a task of others gets, and one commit has.
    """

    rejects: RejectFile
    rejects_max: int = 1_000
    rows: int = 1_000_000
    interval_ms: int = 30_000
    is_bulk: bool = False
    part: PartBound = field(default_factory=PartBound)


@dataclass(kw_only=True)
class BackfillCommits:
    """Writes a source to its end, from a claimed position on.

    Attributes:
        commits: Commits what is written.
        source: Where records come from.
        request: How commits are made.
        tries_rows: Whether rows go through a trial write.
        clock: The clock.
    """

    commits: PositionCommits
    source: Source
    request: CommitRequest
    tries_rows: bool
    clock: Clock

    def to_end(self) -> StreamPosition:
        """Commit what is left of the source, which is not at its end, and return the position there.

        Raises:
            LakeError: What reading, writing and committing raise; what was committed stays.
            OSError: The reject file cannot be written.
        """
        commits = self.commits
        commits.pace.start()
        work = self._begin()
        try:
            for chunk in self.source.chunks(commits.position.offsets):
                work.add(chunk)
                commits.progress.read(chunk.records, chunk.done)
                if not self.request.is_bulk and work.is_due(self.clock.now_ms()):
                    self._commit(work)
                    work = self._begin()
                commits.pace.hold(chunk.records)
            if work.end:
                self._commit(work)
        finally:
            work.writer.abort()  # of what was committed, nothing is left to abort
        assert dict(commits.position.offsets) == dict(self.source.end), "sources end at their end"
        return commits.position

    def _begin(self) -> "_Work":
        table, position = self.commits.table, self.commits.position
        writer = (
            table.bulk_writer(buffer_bytes=BUFFER_BYTES)
            if self.request.is_bulk
            else table.writer(buffer_bytes=BUFFER_BYTES)
        )
        records = RecordWriter(
            table=table,
            source=self.source,
            generation=position.generation,
            rejects=self.request.rejects,
            rejects_max=self.request.rejects_max,
            rejected=position.account.dead_lettered,
            tries_rows=self.tries_rows,
            write_rows=lambda rows, kinds: writer.write(rows, kinds=kinds),
        )
        return _Work(
            writer=writer,
            records=records,
            rows_due=self.request.rows,
            due_ms=self.clock.now_ms() + self.request.interval_ms,
        )

    def _commit(self, work: "_Work") -> None:
        result = work.writer.prepare_commit()
        self.commits.commit(
            result.messages,
            BatchAccount(
                accepted=result.rows_accepted,
                folded=result.rows_folded,
                ignored=result.rows_ignored + work.records.ignored,
                dead_lettered=work.records.reasons.total(),
            ),
            end=work.end,
            max_sequence_number=result.max_sequence_number,
        )


@dataclass(kw_only=True)
class _Work:
    """What the next commit gets."""

    writer: TableWriter
    records: RecordWriter
    rows_due: int
    due_ms: int
    end: dict[int, int] = field(default_factory=dict)
    rows: int = 0

    def add(self, chunk: ReadChunk) -> None:
        self.records.write(chunk)
        self.end |= chunk.end
        self.rows += chunk.records

    def is_due(self, now_ms: int) -> bool:
        return self.rows >= self.rows_due or now_ms >= self.due_ms
