"""Write and commit of one batch of rows, repeated when the schema changes or a rescale runs meanwhile."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from braid.lake.commit.commit_result import CommitResult
from braid.lake.commit.discard import commit_or_discard
from braid.lake.errors import CommitConflict, InvalidRequest, LakeError
from braid.lake.format.commit_message import CommitMessage
from braid.lake.write.table_writer import TableWriter, WriteResult

ATTEMPTS_MAX: Final = 100
"""Each attempt but the first follows a change of the schema or a rescale. Only for the end of a rescale is there a
wait between them, because an attempt needs a schema that is as new as possible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchWrite:
    """The operations of a table that a batch needs.

    Attributes:
        new_writer: Opens a writer at the newest schema seen.
        commit: Commits the files of a writer.
        delete: Deletes files that will never be committed.
        has_newer_schema: Reads the newest schema; returns whether its id is above the given one.
        follow_schema: Reads the newest schema and waits for the end of a rescale; returns whether
            there was a newer schema or a rescale.
    """

    new_writer: Callable[[], TableWriter]
    commit: Callable[[WriteResult], CommitResult]
    delete: Callable[[Sequence[CommitMessage]], None]
    has_newer_schema: Callable[[int], bool]
    follow_schema: Callable[[int], bool]

    def run(self, rows: pa.Table | pa.RecordBatch, kinds: pa.Array | None) -> CommitResult:
        """Write and commit (see `Table.write_and_commit`)."""
        last: LakeError | None = None
        for _ in range(ATTEMPTS_MAX):
            writer = self.new_writer()
            try:
                return self._attempt(writer, rows, kinds)
            except CommitConflict as error:
                if not self.follow_schema(writer.schema.id):
                    raise
                last = error
            except InvalidRequest as error:
                # The rows may fit a newer schema, which another process has made.
                if not self.has_newer_schema(writer.schema.id):
                    raise
                last = error
        message = (
            f"the schema changed during each of {ATTEMPTS_MAX} attempts: {last}\n"
            "hint: write again when the table is altered less often, or give fewer rows at a time"
        )
        raise CommitConflict(message) from last

    def _attempt(
        self, writer: TableWriter, rows: pa.Table | pa.RecordBatch, kinds: pa.Array | None
    ) -> CommitResult:
        try:
            writer.write(rows, kinds=kinds)
            result = writer.prepare_commit()
        except BaseException:
            writer.abort()
            raise
        return commit_or_discard(
            lambda: self.commit(result), discard=lambda: self.delete(result.messages)
        )
