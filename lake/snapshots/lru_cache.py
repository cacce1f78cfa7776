"""Files that never change, remembered by name within a bound."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any


class LruCache:
    """Values by name within a number of bytes; the least recently used go first.

    Safe between threads. The newest value is kept however large it is, and so is the last used of those
    that take more than half of the bytes: else the small values that come between two uses of it would
    drive it out each time.
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._large: Hashable = None
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """What the values take now."""
        return self._bytes

    def get(self, name: Hashable) -> Any | None:
        """Return the value of a name, None when it is not kept."""
        with self._lock:
            found = self._values.get(name)
            if found is None:
                return None
            self._use(name, found[1])
            return found[0]

    def put(self, name: Hashable, value: Any, size: int) -> None:
        """Keep a value that takes so many bytes."""
        with self._lock:
            self._remove(name)
            self._values[name] = (value, size)
            self._bytes += size
            self._use(name, size)
            spared = {name, self._large}
            for other in [] if self._bytes <= self._bytes_max else list(self._values):
                if self._bytes <= self._bytes_max:
                    break
                if other not in spared:
                    self._remove(other)

    def remove(self, name: Hashable) -> None:
        """Forget a value, if it is kept."""
        with self._lock:
            self._remove(name)

    def _use(self, name: Hashable, size: int) -> None:
        self._values.move_to_end(name)
        if size > self._bytes_max // 2:
            self._large = name

    def _remove(self, name: Hashable) -> None:
        _, size = self._values.pop(name, (None, 0))
        self._bytes -= size
