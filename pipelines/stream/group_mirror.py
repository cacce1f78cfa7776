"""Mirror of a stream's position in a consumer group, so that Kafka's own tools show the lag of the table.

    commit of the table ──► `offer` ──► newest position ──► a thread of its own ──► consumer group
                          (returns at once)                 one commit a second at most

The table is still the only checkpoint, because Braid never reads the group's offsets. So a mirror that is late or fails does no
harm. It keeps only the newest position, reports a failure, and tries again. Kafka deletes the offsets of a group without
members after `offsets.retention.minutes` (a week by default). So while no records arrive, the offsets are committed again at
intervals.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from braid.lake import Clock, LakeError
from braid.pipelines.stream.failure_log import FailureLog

_LOG = logging.getLogger(__name__)
_ERROR_CHARACTERS_MAX: Final = 500
_CLOSE_SECONDS_MAX: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorPace:
    """When a mirror commits, seconds.

    Attributes:
        pause_s: Time between two commits.
        retry_s: Time between a failure and the next attempt.
        refresh_s: Time after which the same position is committed again.
    """

    pause_s: float = 1.0
    retry_s: float = 10.0
    refresh_s: float = 3_600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorState:
    """What a mirror has done.

    Attributes:
        group: The consumer group.
        mirrored_ms: Time of the newest commit to the group, milliseconds since the epoch; None: there was none.
        error: Why the newest attempt failed; None: it did not.
    """

    group: str
    mirrored_ms: int | None = None
    error: str | None = None


class GroupMirror:
    """Mirrors the position of one stream. `offer` and `state` are for any thread."""

    def __init__(
        self,
        commit: Callable[[Mapping[int, int]], None],
        *,
        group: str,
        stream: str,
        clock: Clock,
        pace: MirrorPace | None = None,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        """Start the thread.

        Args:
            commit: Commits the next offset by partition to the group; called from the mirror's thread alone.
            group: The consumer group, for reports.
            stream: `<database>.<table>/<stream>`, for log lines.
            clock: The clock for reports.
            pace: When the mirror commits; None: the usual pace.
            close: Called from the same thread when the mirror ends.
        """
        self._commit = commit
        self._close = close
        self._clock = clock
        self._pace = pace or MirrorPace()
        self._state = MirrorState(group=group)
        self._log = FailureLog(_LOG, f"offsets not mirrored stream={stream} group={group}")
        # Guards `_newest`.
        self._changed = threading.Condition()
        self._newest: Mapping[int, int] | None = None
        self._closing = threading.Event()
        # A daemon: Kafka may not answer while the process ends.
        self._thread = threading.Thread(target=self._run, name=f"mirror {stream}", daemon=True)
        self._thread.start()

    @property
    def state(self) -> MirrorState:
        """What the mirror has done so far."""
        return self._state

    def offer(self, offsets: Mapping[int, int]) -> None:
        """Let the position be mirrored, instead of an earlier one that is not mirrored yet; return at once."""
        with self._changed:
            self._newest = dict(offsets)
            self._changed.notify()

    def close(self) -> None:
        """Mirror the newest position if it is not mirrored yet, and end; wait for that a few seconds at most."""
        self._closing.set()
        with self._changed:
            self._changed.notify()
        self._thread.join(_CLOSE_SECONDS_MAX)

    def _run(self) -> None:
        done: Mapping[int, int] | None = None
        try:
            while (offsets := self._next(done)) is not None:
                if self._attempt(offsets):
                    done, wait_s = offsets, self._pace.pause_s
                elif self._closing.is_set():
                    return
                else:
                    wait_s = self._pace.retry_s
                self._closing.wait(wait_s)
        finally:
            self._close()

    def _next(self, done: Mapping[int, int] | None) -> Mapping[int, int] | None:
        """Wait for a position that is not mirrored yet, and return it, or the same one after a long time; None at the end."""
        with self._changed:
            while True:
                self._changed.wait_for(
                    lambda: self._closing.is_set() or self._newest != done, self._pace.refresh_s
                )
                if self._newest == done and self._closing.is_set():
                    return None
                if self._newest is not None:
                    return self._newest

    def _attempt(self, offsets: Mapping[int, int]) -> bool:
        try:
            self._commit(offsets)
        except (LakeError, OSError) as error:
            self._log.note_failure(error)
            text = str(error)[:_ERROR_CHARACTERS_MAX]
            self._state = MirrorState(
                group=self._state.group, mirrored_ms=self._state.mirrored_ms, error=text
            )
            return False
        self._log.note_success()
        self._state = MirrorState(group=self._state.group, mirrored_ms=self._clock.now_ms())
        return True
