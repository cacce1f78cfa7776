"""The comparison of a committer's clock with storage's.

The times of snapshots decide what has expired and what a time in the past means, and they never go back:
one commit from a clock that is a year ahead would make all commits after it a year young. Storage stamps
what is written to it, so a file that a commit has just written tells whether the clock is right, for the
price of one look, and it is looked at once in a while.
"""

from datetime import UTC, datetime
from typing import Final

from lake.errors import InvalidRequest, Problem
from lake.files.paths import TablePaths
from lake.files.storage.file_io import FileIO
from lake.snapshots.snapshot_store import CLOCK_AHEAD_MAX_MS

_INTERVAL_MS: Final = 60_000


class ClockCheck:
    """Compares a clock with storage's, for the committers of one process to one table."""

    def __init__(self, file_io: FileIO, paths: TablePaths) -> None:
        self._file_io = file_io
        self._paths = paths
        self._compared_ms: int | None = None

    def compare(self, now_ms: int, *, written: str) -> None:
        """Compare a time with storage's, unless this was done a moment ago.

        Args:
            now_ms: What the clock said before a file was written.
            written: The name of that file among the manifests.

        Raises:
            InvalidRequest: The clock is ahead by more than `CLOCK_AHEAD_MAX_MS`.
        """
        last_ms = self._compared_ms
        if last_ms is not None and 0 <= now_ms - last_ms < _INTERVAL_MS:
            return
        stored_ms = self._file_io.modified_ms(self._paths.manifest(written))
        if stored_ms is not None and now_ms > stored_ms + CLOCK_AHEAD_MAX_MS:
            self._refuse(now_ms, stored_ms)
        self._compared_ms = now_ms

    def _refuse(self, now_ms: int, stored_ms: int) -> None:
        problem = Problem(
            field="clock",
            value=_iso(now_ms),
            message=(
                f"expected at most {CLOCK_AHEAD_MAX_MS // 60_000} minutes after storage's clock, "
                f"which says {_iso(stored_ms)}"
            ),
            hint="set this machine's clock; its time would decide what expires, and when",
        )
        message = "nothing is committed by a clock that is ahead"
        raise InvalidRequest(message, problems=[problem])


def _iso(time_ms: int) -> str:
    try:
        moment = datetime.fromtimestamp(time_ms / 1000, tz=UTC)
    except (ValueError, OverflowError, OSError):
        return f"{time_ms} ms"
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
