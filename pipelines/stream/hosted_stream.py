"""Hosted stream: the supervisor of one stream, and the thread in which it works."""

import logging
import threading
import time
from typing import Final

from braid.pipelines.stream.failure_log import FailureLog
from braid.pipelines.stream.stream_query import RegisteredStream
from braid.pipelines.stream.stream_supervisor import StreamSupervisor

_LOG = logging.getLogger(__name__)

QUERY_STOP_SECONDS_MAX: Final = 60
"""A query that does not stop for so long is given up: its next commit is fenced."""


class HostedStream:
    """A supervisor and its thread. Its methods belong to one other thread."""

    def __init__(
        self, supervisor: StreamSupervisor, registered: RegisteredStream, *, poll_ms: int
    ) -> None:
        """Start the thread.

        Args:
            supervisor: The stream's.
            registered: The stream as it is registered.
            poll_ms: Interval between two steps, milliseconds.
        """
        self.supervisor = supervisor
        self._poll_ms = poll_ms
        self._stop = threading.Event()
        self._asked_s: float | None = None
        # A daemon, so that a query that does not stop cannot keep the process alive.
        self._thread = threading.Thread(
            target=self._run, name=f"{supervisor.table}/{supervisor.stream}", daemon=True
        )
        supervisor.set_registered(registered)
        self._thread.start()

    @property
    def has_ended(self) -> bool:
        """Whether the thread has ended, after it has stopped the query."""
        return not self._thread.is_alive()

    @property
    def is_given_up(self) -> bool:
        """Whether the query was to stop so long ago that it is not waited for any more."""
        return (
            self._asked_s is not None
            and time.monotonic() - self._asked_s >= QUERY_STOP_SECONDS_MAX
            and not self.has_ended
        )

    def ask_to_stop(self) -> None:
        """Ask the thread to stop the query and to end."""
        if self._asked_s is None:
            self._asked_s = time.monotonic()
        self._stop.set()

    def join(self, seconds: float) -> bool:
        """Wait for the thread and return whether it has ended."""
        self._thread.join(seconds)
        return self.has_ended

    def _run(self) -> None:
        failures = FailureLog(_LOG, f"step failed stream={self._thread.name}")
        while not self._stop.is_set():
            try:
                self.supervisor.step()
            except Exception as error:  # noqa: BLE001 - one stream's failure stays its own
                failures.note_failure(error)
            else:
                failures.note_success()
            self._stop.wait(self._poll_ms / 1_000)
        try:
            self.supervisor.close()
        except Exception as error:  # noqa: BLE001 - Spark may be gone already: so is the query
            _LOG.warning("query could not be stopped stream=%s error=%s", self._thread.name, error)
