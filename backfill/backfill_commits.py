"""Commits of a backfill under one claim: the loop over the chunks of its source.

Each commit makes one snapshot with the rows of some chunks, the new position and the account. With `is_bulk`, one
commit has the rows of all chunks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from braid.backfill.pace import Pace
from braid.backfill.progress import Progress
from braid.backfill.read_chunk import ReadChunk, Source
from braid.backfill.record_writer import RecordWriter
from braid.backfill.rejects import RejectFile
from braid.lake import (
    BatchAccount,
    Clock,
    StreamBatch,
    StreamPosition,
    Table,
    TableCommitter,
    TableWriter,
    commit_or_discard,
)

_BUFFER_BYTES: Final = 128 << 20
_RUNS_LEFT: Final = 2
"""Runs that a bucket may still get before a commit: one of the backfill, and one of the stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRequest:
    """How commits are made.

    Attributes:
        rejects: The file of refused records.
        rejects_max: The largest number of refused records.
        rows: Number of rows after which a commit is due.
        interval_ms: Time after which a commit is due, milliseconds.
        is_bulk: Whether one commit fills the table with sorted runs.
    """

    rejects: RejectFile
    rejects_max: int = 1_000
    rows: int = 1_000_000
    interval_ms: int = 30_000
    is_bulk: bool = False


@dataclass(kw_only=True)
class BackfillCommits:
    """Writes a source to its end, from a claimed position on.

    Attributes:
        table: The table.
        source: Where records come from.
        position: The position of the backfill, which each commit advances.
        idle_epochs: By stream without a record, the epoch that it must still have at each commit.
        request: How commits are made.
        tries_rows: Whether rows go through a trial write.
        clock: The clock.
        pace: Holds the backfill back.
        progress: Is told how far it is.
    """

    table: Table
    source: Source
    position: StreamPosition
    idle_epochs: Mapping[str, int]
    request: CommitRequest
    tries_rows: bool
    clock: Clock
    pace: Pace
    progress: Progress
    _batch_id: int = field(default=0, init=False)

    @cached_property
    def _committer(self) -> TableCommitter:
        return self.table.committer()

    def to_end(self) -> StreamPosition:
        """Commit what is left of the source, and return the position at its end.

        Raises:
            LakeError: What reading, writing and committing raise; what was committed stays.
            OSError: The reject file cannot be written.
        """
        self.pace.start()
        if dict(self.position.offsets) == dict(self.source.end):
            return self.position
        work = self._begin()
        try:
            for chunk in self.source.chunks(self.position.offsets):
                work.add(chunk)
                self.progress.read(chunk.records, chunk.done)
                if not self.request.is_bulk and work.is_due(self.clock.now_ms()):
                    self._commit(work)
                    work = self._begin()
                self.pace.hold(chunk.records)
            if work.end:
                self._commit(work)
        finally:
            work.writer.abort()  # of what was committed, nothing is left to abort
        assert dict(self.position.offsets) == dict(self.source.end), "sources end at their end"
        return self.position

    def _begin(self) -> "_Work":
        writer = (
            self.table.bulk_writer(buffer_bytes=_BUFFER_BYTES)
            if self.request.is_bulk
            else self.table.writer(buffer_bytes=_BUFFER_BYTES)
        )
        records = RecordWriter(
            table=self.table,
            source=self.source,
            generation=self.position.generation,
            rejects=self.request.rejects,
            rejects_max=self.request.rejects_max,
            rejected=self.position.account.dead_lettered,
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
        self.pace.yield_to_compaction(self._is_compaction_behind)
        # Before the commit: the account that counts them must not be in the table without them.
        self.request.rejects.flush()
        start = self.position.offsets
        batch = StreamBatch(
            stream=self.position.stream,
            epoch=self.position.epoch,
            batch_id=self._batch_id,
            topic=self.position.topic,
            topic_id=self.position.topic_id,
            start={partition: start[partition] for partition in work.end},
            end=work.end,
            account=BatchAccount(
                accepted=result.rows_accepted,
                folded=result.rows_folded,
                ignored=result.rows_ignored + work.records.ignored,
                dead_lettered=work.records.reasons.total(),
            ),
        )
        # After an unknown outcome the files stay: a snapshot may name them.
        commit_or_discard(
            lambda: self._committer.commit_stream_batch(
                result.messages,
                batch,
                max_sequence_number=result.max_sequence_number,
                idle_epochs=self.idle_epochs,
            ),
            discard=lambda: self.table.delete_uncommitted(result.messages),
        )
        self._batch_id += 1
        self.position = replace(
            self.position,
            offsets={**start, **work.end},
            account=self.position.account + batch.account,
        )
        self.progress.committed(self.position.account)

    def _is_compaction_behind(self) -> bool:
        """Return whether some bucket has no room for the backfill's next run and one of the stream below the stop trigger."""
        stop = self.table.schema.table_options.num_sorted_run_stop_trigger
        runs = self.table.runs_per_bucket().values()
        return max(runs, default=0) > stop - _RUNS_LEFT


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
