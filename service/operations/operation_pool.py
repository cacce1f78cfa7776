"""Threads of a service process that look for operations, and see each through; they also remove what is kept no longer.

Every process of the service looks at the open operations of the warehouse. One of them gets the lease of each, and only then begins
its work: a process for it is dear.
"""

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final
from uuid import uuid4

from braid.lake import Clock, CorruptData, LakeError, StorageUnavailable
from braid.registry.errors import RegistryError
from braid.registry.store.operations import OperationStore
from braid.registry.store.remembered_requests import RememberedRequests
from braid.service.operations.operation_lease import claimed
from braid.service.operations.operation_process import ProcessEnded

Execute = Callable[[str, Callable[[], bool]], None]
"""Makes one attempt at an operation; ends early once the function says so. Raises `ProcessEnded` if the attempt was cut off."""

POLL_S: Final = 2.0
_REMOVAL_MS: Final = 3_600_000
_JOIN_S: Final = 5.0

logger = logging.getLogger(__name__)


class OperationPool:
    """Carries out the operations of a warehouse, a bounded number at once."""

    def __init__(
        self,
        operations: OperationStore,
        requests: RememberedRequests,
        execute: Execute,
        *,
        workers: int,
        clock: Clock,
        poll_s: float = POLL_S,
    ) -> None:
        """Start nothing yet.

        Args:
            operations: The operations of the warehouse.
            requests: The remembered requests of the warehouse, of which old ones are removed.
            execute: Makes one attempt at an operation.
            workers: Operations that are carried out at once; 0: other processes carry them out.
            clock: Decides which attempts are due.
            poll_s: Seconds between two looks for operations that other processes were asked for.
        """
        self._operations = operations
        self._leases = operations.leases()
        self._owner = f"operations {uuid4().hex}"
        self._requests = requests
        self._execute = execute
        self._clock = clock
        self._poll_s = poll_s
        self._stop = threading.Event()
        self._wake = threading.Condition()
        self._is_asked = False
        self._running: set[str] = set()
        self._unreadable: frozenset[str] = frozenset()
        self._removed_ms: int | None = None
        self._is_failing = False
        self._threads = [
            threading.Thread(target=self._run, name=f"operations {number}", daemon=True)
            for number in range(workers)
        ]

    def start(self) -> None:
        """Begin, in threads."""
        for thread in self._threads:
            thread.start()

    def look_soon(self) -> None:
        """Look for operations now, instead of at the end of the interval; for any thread."""
        with self._wake:
            self._is_asked = True
            self._wake.notify_all()

    def close(self) -> None:
        """End. Attempts that are under way are cut off, and other processes begin them once more."""
        self._stop.set()
        self.look_soon()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(_JOIN_S)

    def run_due(self) -> None:
        """Carry out, one after the other, what no other process carries out now.

        An operation whose document is damaged is left as it is.

        Raises:
            LakeError: Storage does not answer.
        """
        open_ids = self._operations.open_ids()
        self._unreadable &= frozenset(open_ids)
        for operation_id in open_ids:
            if self._stop.is_set():
                return
            if self._take(operation_id):
                try:
                    self._carry_out(operation_id)
                except ProcessEnded as error:
                    logger.warning("operation cut off id=%s error=%s", operation_id, error)
                except StorageUnavailable:
                    # A process that ends the operation deletes its lease, perhaps while this one takes it.
                    if operation_id in self._operations.open_ids():
                        raise
                finally:
                    with self._wake:
                        self._running.discard(operation_id)

    def remove_old(self) -> None:
        """Remove operations and answers that are kept no longer, once an hour."""
        now_ms = self._clock.now_ms()
        with self._wake:
            if self._removed_ms is not None and now_ms - self._removed_ms < _REMOVAL_MS:
                return
            self._removed_ms = now_ms
        self._operations.remove_old()
        self._requests.remove_old()

    def _take(self, operation_id: str) -> bool:
        """Return whether no other thread of this process is at the operation."""
        with self._wake:
            if operation_id in self._running:
                return False
            self._running.add(operation_id)
            return True

    def _carry_out(self, operation_id: str) -> None:
        """Make an attempt at an operation if it is due and no other process is at it."""
        if not self._is_due(operation_id):
            return
        with claimed(self._leases, operation_id, self._owner) as is_lost:
            # Asked once more: it may have ended before the lease was free.
            if is_lost is not None and self._is_due(operation_id):
                self._execute(operation_id, lambda: self._stop.is_set() or is_lost.is_set())

    def _is_due(self, operation_id: str) -> bool:
        with suppress(RegistryError):
            try:
                document = self._operations.get(operation_id)
            except CorruptData as error:
                self._log_unreadable(operation_id, error)
                return False
            if document.state.is_final:
                # The list is older than its end, or its process has ended before it has deleted this.
                self._operations.forget_open(operation_id)
                return False
            return document.retry_ms is None or document.retry_ms <= self._clock.now_ms()
        return False

    def _log_unreadable(self, operation_id: str, error: CorruptData) -> None:
        """Log that an operation cannot be carried out: once, not at each look."""
        if operation_id not in self._unreadable:
            self._unreadable |= {operation_id}
            logger.warning("operation cannot be carried out id=%s error=%s", operation_id, error)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.run_due()
                self.remove_old()
                self._is_failing = False
            except (LakeError, RegistryError, OSError) as error:
                if not self._is_failing:
                    logger.warning("operations wait: storage does not answer error=%s", error)
                self._is_failing = True
            except Exception:
                logger.exception("operations failed with an unexpected error, which is a bug")
            with self._wake:
                self._wake.wait_for(lambda: self._is_asked or self._stop.is_set(), self._poll_s)
                self._is_asked = False
