"""The queue of the commits that one process makes to one table: one attempt at a time, in the order of their arrival.

The streams of a runner often end their batches at the same moment, because their intervals begin together. Without
a queue all but one of their attempts would be lost. Only attempts queue: what they share is written before, and
waits between them (`braid.lake.commit.pace`) are outside. The queue only saves work: the exclusive creation of
snapshots decides, as it does between processes. So nobody waits for one that hangs: while no turn ends, those that
wait go on without theirs.
"""

import threading
from collections import deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Final
from weakref import WeakValueDictionary

from braid.lake.files.object_store.store import ObjectStoreFileIO
from braid.lake.files.storage.file_io import FileIO
from braid.lake.files.storage.local import LocalFileIO

_CALLED: Final = 0
"""The owner between two turns: no thread has this number."""

TURN_S: Final = 0.25
"""Longest wait of an attempt while nobody ends a turn: one that hangs on slow storage delays the others by no more than
twice this."""


class CommitQueue:
    """Turns of the threads of a process; a thread that has its turn already gets it again at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._owner: int | None = None
        self._turns = 0

    @contextmanager
    def turn(self, *, wait_s: float = TURN_S) -> Iterator[bool]:
        """Wait for a turn and have it within the context; the value is False where it did not come.

        Args:
            wait_s: How long to wait while no turn ends, seconds; at least one such time passes, at most two.
        """
        thread = threading.get_ident()
        if self._owner == thread:
            yield True
            return
        has_turn = self._take(thread, wait_s)
        try:
            yield has_turn
        finally:
            if has_turn:
                self._pass_on()

    def _take(self, thread: int, wait_s: float) -> bool:
        with self._lock:
            if self._owner is None and not self._waiting:
                self._owner = thread
                return True
            called = threading.Event()
            self._waiting.append(called)
        turns = -1  # the first time over shows only from where to count
        while not called.wait(wait_s):
            with self._lock:
                # As long as others end their turns, this one comes closer.
                if called not in self._waiting or self._turns != turns:
                    turns = self._turns
                    continue
                self._waiting.remove(called)
                return False
        # Called by the turn before, perhaps just after the time was over.
        self._owner = thread
        return True

    def _pass_on(self) -> None:
        with self._lock:
            self._owner = None
            self._turns += 1
            if self._waiting:
                self._owner = _CALLED
                self._waiting.popleft().set()


_QUEUES: WeakValueDictionary[Hashable, CommitQueue] = WeakValueDictionary()
_QUEUES_LOCK = threading.Lock()


def queue_for(file_io: FileIO, root: str) -> CommitQueue:
    """Return the process's queue of a table on local disks or in an object store, a new one for other storage."""
    if not isinstance(file_io, LocalFileIO | ObjectStoreFileIO) or file_io.identity is None:
        return CommitQueue()
    key = (file_io.identity, root)
    with _QUEUES_LOCK:
        queue = _QUEUES.get(key)
        if queue is None:
            queue = _QUEUES[key] = CommitQueue()
        return queue
