"""Kept reports: what a runner still reports of streams that it has had.

Counts of dead letters by reason, offsets and bounds of topics are read from reports after a stream was stopped or moved. A process
that follows another one under the same name overwrites its report, so it takes over what that one has reported.
"""

from collections.abc import Callable, Mapping
from typing import Final

from braid.schemas import DesiredState, StreamEntry, StreamProgress, StreamState

KEPT_MS: Final = 10 * 60 * 1000
"""Time for which the report of a stream that another runner needs is kept, milliseconds: that one has its own by then."""


class KeptReports:
    """The reports of streams that a runner does not have any more. `reports` may be read by any thread."""

    def __init__(self, before: Mapping[str, StreamProgress]) -> None:
        """Begin with what an earlier process of the same name has reported."""
        self.reports: Mapping[str, StreamProgress] = {
            key: _without_runner(progress, None) for key, progress in before.items()
        }
        self._since_ms: dict[str, int] = {}

    def keep(self, key: str, progress: StreamProgress) -> None:
        """Keep the last report of a stream."""
        self._since_ms.pop(key, None)
        self.reports = {**self.reports, key: progress}

    def drop(self, key: str) -> None:
        """Keep the report no longer: the stream has come back."""
        self.reports = {one: kept for one, kept in self.reports.items() if one != key}

    def update(self, entry_of: Callable[[str], StreamEntry | None], *, now_ms: int) -> None:
        """Adapt the states to the registry, and forget streams that are not registered any more.

        Args:
            entry_of: Returns the entry of a stream by its key; None: it is not registered.
            now_ms: Milliseconds since the epoch.
        """
        kept: dict[str, StreamProgress] = {}
        for key, progress in self.reports.items():
            entry = entry_of(key)
            if entry is None:
                continue
            kept[key] = _without_runner(progress, entry)
            if kept[key].state is not StreamState.UNASSIGNED:
                self._since_ms.pop(key, None)
            elif now_ms - self._since_ms.setdefault(key, now_ms) >= KEPT_MS:
                del kept[key]
        self._since_ms = {key: since for key, since in self._since_ms.items() if key in kept}
        self.reports = kept


def _without_runner(progress: StreamProgress, entry: StreamEntry | None) -> StreamProgress:
    """Return the report of a stream while this runner does not have it."""
    state = StreamState.UNASSIGNED
    if entry is None and progress.state in (StreamState.STOPPED, StreamState.COMPLETED):
        return progress
    if entry is not None and entry.desired_state is DesiredState.STOPPED:
        state = StreamState.STOPPED
    elif entry is not None and entry.is_completed:
        state = StreamState.COMPLETED
    if progress.state is state:
        return progress
    return progress.model_copy(
        update={
            "state": state,
            "trace": None,
            "failure": None,
            "end_offsets": {},
            "lag_records": None,
            "lag_seconds": None,
            "load": None,
        }
    )
