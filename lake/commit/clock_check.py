"""Comparison of a committer's clock with storage's; a committer whose clock is far ahead is refused.

Commit times decide which snapshots expire and which snapshot time travel finds. Storage records
when a file was written, so a file that a commit has just written shows whether the clock is ahead.
The comparison costs one request, so it is skipped for a minute after a successful one, unless the
clock is set back. Committers of a table can share a `ClockCheck`.
"""

from datetime import UTC, datetime
from typing import Final

from braid.lake.errors import InvalidRequest, Problem
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.snapshots.snapshot_store import CLOCK_AHEAD_MAX_MS

_INTERVAL_MS: Final = 60_000
"""Time between two comparisons; if the clock is set wrong in between, the next comparison notices it."""


class ClockCheck:
    """Compares a clock with storage's, for the committers of one table that share this object."""

    def __init__(self, file_io: FileIO, paths: TablePaths) -> None:
        self._file_io = file_io
        self._paths = paths
        self._compared_ms: int | None = None

    def compare(self, now_ms: int, *, written: str) -> None:
        """Compare a time with storage's, unless the clock passed a comparison less than a minute ago.

        Args:
            now_ms: Time of the clock just before a file was written, milliseconds since 1970 UTC.
            written: Name of that file, which is in the directory of the manifests.

        Raises:
            InvalidRequest: The clock is ahead by more than `CLOCK_AHEAD_MAX_MS`.
        """
        last_ms = self._compared_ms
        # A negative difference means that the clock was set back, so it is compared again.
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
                f"which shows {_iso(stored_ms)}"
            ),
            hint="correct this machine's clock: commit times decide which snapshots expire, and "
            "when",
        )
        message = "this machine's clock is ahead of storage's, so nothing is committed"
        raise InvalidRequest(message, problems=[problem])


def _iso(time_ms: int) -> str:
    try:
        moment = datetime.fromtimestamp(time_ms / 1000, tz=UTC)
    except (ValueError, OverflowError, OSError):
        return f"{time_ms} ms"
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
