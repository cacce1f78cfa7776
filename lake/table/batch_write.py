"""One batch of rows, written and committed; written again where a rescale moved its buckets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from lake.commit.commit_result import CommitResult
from lake.errors import CommitConflict, InvalidRequest, StorageUnavailable
from lake.format.commit_message import CommitMessage
from lake.write.table_writer import TableWriter, WriteResult

_ATTEMPTS_MAX: Final = 5
"""Each but the first follows a change of the schema, of which there are few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchWrite:
    """What a batch needs of its table.

    Attributes:
        new_writer: Opens a writer at the newest schema seen.
        commit: Commits what a writer made.
        delete: Deletes files that will never be committed.
        follow_schema: Looks for a newer schema and waits for the end of a rescale; whether there
            was either.
    """

    new_writer: Callable[[], TableWriter]
    commit: Callable[[WriteResult], CommitResult]
    delete: Callable[[Sequence[CommitMessage]], None]
    follow_schema: Callable[[], bool]

    def run(self, rows: pa.Table | pa.RecordBatch, kinds: pa.Array | None) -> CommitResult:
        """Write and commit (see `Table.write_and_commit`)."""
        for _ in range(_ATTEMPTS_MAX - 1):
            try:
                return self._attempt(rows, kinds)
            except CommitConflict:
                if not self.follow_schema():
                    raise
        return self._attempt(rows, kinds)

    def _attempt(self, rows: pa.Table | pa.RecordBatch, kinds: pa.Array | None) -> CommitResult:
        writer = self.new_writer()
        try:
            writer.write(rows, kinds=kinds)
            result = writer.prepare_commit()
        except BaseException:
            writer.abort()
            raise
        try:
            return self.commit(result)
        except (CommitConflict, InvalidRequest, StorageUnavailable):
            # Nothing was committed.
            self.delete(result.messages)
            raise
