"""Holders of streams: the living runners that have them, by the assignment and by storage's clock.

A runner is alive until the time to live that it states has passed since its last heartbeat, which is its report. The age of a
heartbeat is the difference of two times of storage, so no machine's clock matters. A storage without a clock leaves it to the
clocks of the runner and the reader.

Runners of versions without assignments hold leases of their streams instead; those are asked, too.
"""

from typing import Final

from pydantic import ValidationError

from braid.lake import Clock, FileIO
from braid.registry.placement.assignment import Assignment
from braid.registry.store import paths
from braid.registry.store.assignments import AssignmentStore
from braid.registry.store.leases import LeaseStore
from braid.registry.store.progress import stream_key
from braid.registry.store.storage_clock import StorageClock
from braid.registry.store.stored_documents import parse_stored
from braid.schemas import RunnerProgress

_FRESH_MS: Final = 1_000
"""Age of a reading of storage's clock that suffices: a runner must not be held for dead by a clock that was set."""


class StreamHolders:
    """Knows which living runner has a stream; reads storage with each question."""

    def __init__(self, file_io: FileIO, warehouse: str, clock: Clock) -> None:
        """Create the object; reads nothing yet.

        Args:
            file_io: Storage.
            warehouse: Absolute path.
            clock: The reader's clock.
        """
        self._file_io = file_io
        self._warehouse = warehouse
        self._clock = clock
        self._storage = StorageClock(file_io, warehouse, clock)
        self._assignments = AssignmentStore(file_io, warehouse, clock)
        self._leases = LeaseStore(file_io, warehouse, clock)

    def holder(self, table: str, stream: str) -> str | None:
        """Return the name of the living runner that has a stream; None: no runner works on it.

        Args:
            table: `<database>.<table>`.
            stream: The stream's name.
        """
        return self.holders(table, stream).get(stream)

    def holders(self, table: str, *streams: str) -> dict[str, str]:
        """Return the names of the living runners that have streams of a table, by stream; others are left out.

        Args:
            table: `<database>.<table>`.
            streams: The streams' names.
        """
        assignment = self._assignments.read().value
        names = assignment.owners
        found: dict[str, str] = {}
        for stream in streams:
            place = assignment.streams.get(stream_key(table, stream))
            if place is not None and place.owner in names:
                name = names[place.owner]
                if self.is_alive(name, ttl_ms=assignment.runners[name].ttl_ms):
                    found[stream] = name
                    continue
            lease = self._leases.holder(table, stream)
            if lease is not None:
                found[stream] = lease.owner
        return found

    def alive(self, assignment: Assignment) -> frozenset[str]:
        """Return the processes that are alive, of the runners that have joined."""
        return frozenset(
            one.owner
            for name, one in assignment.runners.items()
            if self.is_alive(name, ttl_ms=one.ttl_ms)
        )

    def is_alive(self, name: str, *, ttl_ms: int) -> bool:
        """Return whether the last heartbeat under a name is less than a time to live old.

        Args:
            name: A runner's name.
            ttl_ms: The time to live, milliseconds.
        """
        path = paths.runner_file(self._warehouse, name)
        try:
            now_ms = self._storage.now_ms(max_age_ms=_FRESH_MS)
            beaten_ms = self._file_io.modified_ms(path)
            if now_ms is None or beaten_ms is None:
                report = parse_stored(RunnerProgress, self._file_io.read_bytes(path))
                now_ms, beaten_ms = self._clock.now_ms(), report.updated_ms
        except (FileNotFoundError, ValidationError):
            return False
        # One that is dated further ahead: storage's clock was set back.
        return -ttl_ms <= now_ms - beaten_ms < ttl_ms
