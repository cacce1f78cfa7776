"""Committer of micro-batches: the check for replays, the checks before a commit, the commit, and the clean-up.

A micro-batch is a replay if it was committed before. This is checked before anything is written, to save
the work. The commit checks it again, because another runner may have been faster. The budget of dead
letters and the identity of the topic are checked after writing and before the commit. Files are deleted
only if it is certain that no snapshot names them or ever will.
"""

from collections.abc import Sequence
from dataclasses import replace

from braid.lake import (
    BatchDecision,
    CommitMessage,
    CommitResult,
    LakeError,
    LimitExceeded,
    StreamBatch,
    StreamPosition,
    Table,
    commit_or_discard,
    decide_batch,
    parse_messages,
)
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.kafka.source import check_topic
from braid.pipelines.kafka.topic import TopicReader
from braid.pipelines.settings import DeadLetterBudget
from braid.pipelines.sink.letter_budget import AllowedLetters, allowed_letters
from braid.pipelines.sink.task_report import TaskReport
from braid.schemas import DeadLetterBudgetSpec


class BatchCommitter:
    """Commits micro-batches of one claim. Use it from one thread only, except `close`."""

    def __init__(
        self,
        key: str,
        *,
        table: Table,
        cluster: KafkaCluster,
        claimed: StreamPosition,
        budget: DeadLetterBudget,
    ) -> None:
        """Prepare to commit.

        Args:
            key: `<database>.<table>/<stream>`, for messages.
            table: The query's own table object, because it caches manifests.
            cluster: The cluster of the topic.
            claimed: The stream's position as claimed.
            budget: Dead letters of a micro-batch, for streams that declare no budget.
        """
        self._key = key
        self._table = table
        self._committer = table.committer()
        self._topics = TopicReader(cluster)
        self._claimed = claimed
        self._budget = budget

    @property
    def position(self) -> StreamPosition:
        """The stream's position in the newest snapshot."""
        return self._committer.stream_positions()[self._claimed.stream]

    @property
    def next_sequence_number(self) -> int:
        """The smallest sequence number that is greater than all in the table."""
        return self._committer.max_sequence_number() + 1

    def is_replay(self, batch: StreamBatch) -> bool:
        """Return whether a micro-batch is in the table already.

        Raises:
            StreamFenced: Another runner has claimed the stream.
            OffsetMismatch: The batch does not continue the table's offsets.
        """
        position = self._committer.stream_positions().get(batch.stream)
        return decide_batch(position, batch) is BatchDecision.REPLAY

    def allowed_letters(
        self, declared: DeadLetterBudgetSpec | None, *, records: int
    ) -> AllowedLetters:
        """Return how many dead letters the next micro-batch may have.

        Args:
            declared: The stream's own budget.
            records: Records of the micro-batch.
        """
        return allowed_letters(declared, self._budget, self.position, records=records)

    def commit(
        self,
        batch: StreamBatch,
        report: TaskReport,
        *,
        allowed: AllowedLetters,
        declared_budget: DeadLetterBudgetSpec | None = None,
    ) -> CommitResult:
        """Publish files, offsets and account of a micro-batch in one snapshot.

        Args:
            batch: The micro-batch.
            report: What its tasks wrote, which covers all of its records.
            allowed: What the tasks were allowed: beyond it they have not sent their dead letters.
            declared_budget: The stream's own budget of dead letters.

        Raises:
            LimitExceeded: More dead letters than the budget allows; nothing is committed.
            OffsetMismatch: The topic is another one than the one claimed.
            CommitConflict: The schema has changed, the table is rescaled, or other commits were always faster: the rows
                have to be written again.
            LakeError: What `TableCommitter.commit_stream_batch` raises.
        """
        assert not report.is_incomplete, "an incomplete attempt is written again, never committed"
        messages = commit_messages(report)
        # The topic may have been deleted and made again since the claim: its offsets would then belong to
        # other records. Checked as late as possible.
        try:
            # A replay may have made room since the tasks began, which helps no letter that was not sent.
            now = self.allowed_letters(declared_budget, records=report.account.records)
            self._check_budget(report, min(now, allowed, key=lambda one: one.number))
            check_topic(self._claimed, self._topics.require(batch.topic))
        except LakeError:
            self._table.delete_uncommitted(messages)
            raise
        # After an unknown outcome the files stay: a snapshot may name them.
        return commit_or_discard(
            lambda: self._committer.commit_stream_batch(
                messages,
                replace(batch, account=report.account, dead_letters=dict(report.dead_letters)),
                max_sequence_number=report.max_sequence_number,
            ),
            discard=lambda: self._table.delete_uncommitted(messages),
        )

    def discard(self, report: TaskReport) -> None:
        """Delete the files of an attempt that is not committed."""
        self._table.delete_uncommitted(commit_messages(report))

    def close(self) -> None:
        """Close the connection to Kafka."""
        self._topics.close()

    def _check_budget(self, report: TaskReport, allowed: AllowedLetters) -> None:
        refused = report.account.dead_lettered
        if refused <= allowed.number:
            return
        reasons = ", ".join(f"{count} {reason}" for reason, count in report.dead_letters.items())
        message = (
            f"stream {self._key}: {refused} of {report.account.records} records of a "
            f"micro-batch are dead letters ({reasons}), {allowed.why}; "
            f"nothing of the micro-batch was committed; for example {'; '.join(report.examples)}\n"
            f"hint: {allowed.hint}"
        )
        raise LimitExceeded(message)


def commit_messages(report: TaskReport) -> Sequence[CommitMessage]:
    """Return the commit messages of all tasks of a micro-batch."""
    return [message for data in report.messages for message in parse_messages(data)]
