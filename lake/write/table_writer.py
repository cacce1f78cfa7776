"""The writer of one table: rows in, level-0 files and commit messages out."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

import pyarrow as pa

from lake.files.clock import Clock
from lake.files.file_io import FileIO
from lake.files.paths import TablePaths
from lake.format.commit_message import CommitMessage
from lake.format.schema import TableSchema
from lake.merge.fold import Machine

BUFFER_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteResult:
    """What a writer made since it was opened or last asked.

    Attributes:
        messages: One per (partition, bucket) with new files.
        rows_accepted: Rows that got a sequence number.
        rows_ignored: Rows that the table's options discard (`ignore-delete` and the like).
        rows_folded: Accepted rows that are not in a file because a row of the same key is.
        max_sequence_number: The largest number given out, of any file; None without rows.
        bytes_written: Bytes of the new files.
    """

    messages: tuple[CommitMessage, ...]
    rows_accepted: int
    rows_ignored: int
    rows_folded: int
    max_sequence_number: int | None
    bytes_written: int


class TableWriter:
    """Turns rows into level-0 files of one table."""

    def __init__(
        self,
        file_io: FileIO,
        paths: TablePaths,
        schema: TableSchema,
        *,
        first_sequence_number: int,
        clock: Clock,
        uuid_source: Callable[[], UUID],
        buffer_bytes: int = BUFFER_BYTES,
        machine: Machine = Machine.COLUMN,
    ) -> None:
        raise NotImplementedError

    def write(self, batch: pa.RecordBatch | pa.Table, *, kinds: pa.Array | None = None) -> None:
        """Take rows in arrival order.

        Args:
            batch: Table columns by name, in any order; missing ones become null.
            kinds: int8 row kinds (0 +I, 1 -U, 2 +U, 3 -D), one per row; None means all +I.
        """
        raise NotImplementedError

    def flush(self) -> None:
        """Write everything that is buffered to level-0 files."""
        raise NotImplementedError

    def prepare_commit(self) -> WriteResult:
        """Flush, and hand over what was written since the last call."""
        raise NotImplementedError

    def abort(self) -> None:
        """Delete the files that no `prepare_commit` has handed over, and forget the buffer."""
        raise NotImplementedError
