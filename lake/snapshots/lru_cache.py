"""A cache of immutable values by name, bounded in bytes.

Two values stay whatever their size: the value just put, and the large value that was used last (`LruCache`).
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any


class LruCache:
    """Values by name within a number of bytes; evicts the least recently used.

    Safe between threads. Two values are never evicted: the one just put, however large it is, and the last used
    of the values that take more than half of the bound. Otherwise the small values that are put between two uses
    of such a large value would evict it every time.
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._large: Hashable = None
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """Bytes of the values in the cache."""
        return self._bytes

    def get(self, name: Hashable) -> Any | None:
        """Return the value of a name, or None if it is not in the cache."""
        with self._lock:
            found = self._values.get(name)
            if found is None:
                return None
            self._use(name, found[1])
            return found[0]

    def put(self, name: Hashable, value: Any, size: int) -> None:
        """Put a value that takes `size` bytes."""
        assert size >= 0, "a value takes no negative bytes"
        with self._lock:
            self._remove(name)
            self._values[name] = (value, size)
            self._bytes += size
            self._use(name, size)
            spared = {name, self._large}
            # In the order of last use, the least recent first.
            for other in [] if self._bytes <= self._bytes_max else list(self._values):
                if self._bytes <= self._bytes_max:
                    break
                if other not in spared:
                    self._remove(other)

    def remove(self, name: Hashable) -> None:
        """Remove a value, if it is in the cache."""
        with self._lock:
            self._remove(name)

    def _use(self, name: Hashable, size: int) -> None:
        self._values.move_to_end(name)
        if size > self._bytes_max // 2:
            self._large = name

    def _remove(self, name: Hashable) -> None:
        _, size = self._values.pop(name, (None, 0))
        self._bytes -= size
