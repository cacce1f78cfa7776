"""Commits of a backfill under one claim: rows, the new position and the account in one snapshot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from braid.backfill.pace import Pace
from braid.backfill.progress import Progress
from braid.backfill.rejects import RejectFile
from braid.lake import (
    BatchAccount,
    CommitMessage,
    StreamBatch,
    StreamPosition,
    Table,
    TableCommitter,
    commit_or_discard,
)

_RUNS_LEFT: Final = 2
"""Runs that a bucket may still get before a commit: one of the backfill, and one of the stream."""


@dataclass(kw_only=True)
class PositionCommits:
    """Commits rows behind the position of a backfill.

    Attributes:
        table: The table.
        position: The position of the backfill, which each commit advances.
        idle_epochs: By stream without a record, the epoch that it must still have at each commit.
        rejects: The file of refused records.
        pace: Waits for compaction.
        progress: Is told of commits.
    """

    table: Table
    position: StreamPosition
    idle_epochs: Mapping[str, int]
    rejects: RejectFile
    pace: Pace
    progress: Progress
    _batch_id: int = field(default=0, init=False)

    @cached_property
    def committer(self) -> TableCommitter:
        """The table's committer."""
        return self.table.committer()

    def commit(
        self,
        messages: Sequence[CommitMessage],
        account: BatchAccount,
        *,
        end: Mapping[int, int],
        max_sequence_number: int | None,
    ) -> None:
        """Commit what was written, and advance the position.

        Args:
            messages: The commit messages.
            account: Account of the records that were read.
            end: The offsets that are read next, of those partitions whose records were read.
            max_sequence_number: The largest one that was assigned; None without rows.

        Raises:
            LakeError: What `TableCommitter.commit_stream_batch` raises.
            OSError: The reject file cannot be written.
        """
        self.pace.yield_to_compaction(self._is_compaction_behind)
        # Before the commit: the account that counts them must not be in the table without them.
        self.rejects.flush()
        start = self.position.offsets
        batch = StreamBatch(
            stream=self.position.stream,
            epoch=self.position.epoch,
            batch_id=self._batch_id,
            topic=self.position.topic,
            topic_id=self.position.topic_id,
            start={partition: start[partition] for partition in end},
            end=end,
            account=account,
        )
        # After an unknown outcome the files stay: a snapshot may name them.
        commit_or_discard(
            lambda: self.committer.commit_stream_batch(
                messages,
                batch,
                max_sequence_number=max_sequence_number,
                idle_epochs=self.idle_epochs,
            ),
            discard=lambda: self.table.delete_uncommitted(messages),
        )
        self._batch_id += 1
        self.position = replace(
            self.position,
            offsets={**start, **end},
            account=self.position.account + batch.account,
        )
        self.progress.committed(self.position.account)

    def _is_compaction_behind(self) -> bool:
        """Return whether some bucket has no room for the backfill's next run and one of the stream below the stop trigger."""
        stop = self.table.schema.table_options.num_sorted_run_stop_trigger
        runs = self.table.runs_per_bucket().values()
        return max(runs, default=0) > stop - _RUNS_LEFT
