"""The mark of a table that is being taken back, or was not long ago.

A rollback deletes snapshots one by one, so for as long as it takes, and for good where it breaks off,
the chain has a gap: a writer that was planned on the target could publish right behind it, where nobody
finds its commit. Whoever publishes therefore looks for this mark, which lies there from before the first
deletion on, and where it is there looks at the whole chain (`lake.commit.publisher`).

No rollback removes the mark, as another one may be under way. Expiry does, when it is a day old and the
chain has no gap.
"""

from collections.abc import Sequence
from typing import Final

from lake.files.file_io import FileIO
from lake.files.paths import TablePaths

_LONGEST_RUN_MS: Final = 86_400_000


class RollbackMark:
    """Puts, sees and removes the mark of one table."""

    def __init__(self, file_io: FileIO, paths: TablePaths) -> None:
        self._file_io = file_io
        self._paths = paths

    def put(self) -> None:
        """Mark the table from now on; the mark is durable."""
        if not self._file_io.create_exclusive(self._paths.rollback_mark, b"\n"):
            # Its time says until when somebody was at work.
            self._file_io.overwrite(self._paths.rollback_mark, b"\n")

    def is_there(self) -> bool:
        """Return whether the chain may have a gap in its midst, or had one not long ago."""
        return self._file_io.exists(self._paths.rollback_mark)

    def forget(self, ids: Sequence[int], *, now_ms: int) -> None:
        """Remove the mark if it is old, unless a rollback broke off.

        Args:
            ids: All snapshots, ascending.
            now_ms: Milliseconds since 1970 UTC.
        """
        if not ids or len(ids) <= ids[-1] - ids[0]:
            return
        path = self._paths.rollback_mark
        for status in self._file_io.list(path.rpartition("/")[0]):
            if status.path == path and status.modified_ms < now_ms - _LONGEST_RUN_MS:
                self._file_io.delete(path)
