"""Times at which the service began to serve the snapshots of a table, as a client sees them that requests a row all the time."""

import threading
import time
from bisect import bisect_left
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

import httpx

from braid.lake import SystemClock

_POLL_S: Final = 0.02


class ServedLog:
    """Requests a row again and again in a thread, until the context is left."""

    def __init__(self, address: str) -> None:
        """Set the address of the row; whether it exists does not matter.

        Args:
            address: With the key, such as `http://127.0.0.1:8080/v1/tables/shop/orders/rows?id=7`.
        """
        self._address = address
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self._snapshots: list[int] = []
        self._times: list[int] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def time_ms(self, snapshot_id: int) -> int:
        """Return when a snapshot, or one after it, was served first, milliseconds since 1970 UTC.

        Raises:
            ValueError: No answer was as new.
        """
        place = bisect_left(self._snapshots, snapshot_id)
        if place == len(self._snapshots):
            message = f"snapshot {snapshot_id} was not served"
            raise ValueError(message)
        return self._times[place]

    def wait_for(self, snapshot_id: int) -> None:
        """Return when a snapshot is served."""
        while not self._snapshots or self._snapshots[-1] < snapshot_id:
            time.sleep(_POLL_S)

    def _ask(self) -> None:
        clock = SystemClock()
        with httpx.Client() as client:
            while not self._ended.wait(_POLL_S):
                # While the service starts, or a bound is reached, the next request will do.
                with suppress(httpx.TransportError):
                    answer = client.get(self._address)
                    if answer.is_success:
                        self._note(answer.json()["snapshot"]["id"], clock.now_ms())

    def _note(self, snapshot_id: int, now_ms: int) -> None:
        if not self._snapshots or snapshot_id > self._snapshots[-1]:
            self._times.append(now_ms)
            self._snapshots.append(snapshot_id)
