"""Files that never change, remembered by name within a bound."""

import threading
from collections import OrderedDict
from typing import Any


class BytesBoundCache:
    """Values by name within a number of bytes; the least recently used go first.

    Safe between threads. One value is kept however large it is.
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._values: OrderedDict[str, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: str) -> Any | None:
        """Return the value of a name, None when it is not kept."""
        with self._lock:
            found = self._values.get(name)
            if found is None:
                return None
            self._values.move_to_end(name)
            return found[0]

    def put(self, name: str, value: Any, size: int) -> None:
        """Keep a value that takes so many bytes."""
        with self._lock:
            self._remove(name)
            self._values[name] = (value, size)
            self._bytes += size
            while self._bytes > self._bytes_max and len(self._values) > 1:
                self._remove(next(iter(self._values)))

    def remove(self, name: str) -> None:
        """Forget a value, if it is kept."""
        with self._lock:
            self._remove(name)

    def _remove(self, name: str) -> None:
        _, size = self._values.pop(name, (None, 0))
        self._bytes -= size
