"""LRU map: keeps the most recently used entries, bounded by their number and by the sum of their sizes.

The entry that was put last is always kept, even if it alone exceeds the bound of the sum.
"""

from collections import OrderedDict
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


class RecentEntries(Generic[KeyT, ValueT]):
    """A map that forgets the entries that were not used for longest."""

    def __init__(self, *, count_max: int, size_max: int) -> None:
        """Begin empty.

        Args:
            count_max: Most entries.
            size_max: Most of the sum of the sizes that entries are put with; one entry may be larger.
        """
        self._count_max = count_max
        self._size_max = size_max
        self._entries: OrderedDict[KeyT, tuple[ValueT, int]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._entries)

    def get(self, key: KeyT) -> ValueT | None:
        """Return an entry, which then counts as used; None if there is none."""
        found = self._entries.get(key)
        if found is None:
            return None
        self._entries.move_to_end(key)
        return found[0]

    def put(self, key: KeyT, value: ValueT, *, size: int) -> None:
        """Set an entry, and forget others until the bounds hold; the new one stays, whatever its size."""
        self.remove(key)
        self._entries[key] = (value, size)
        self._size += size
        while len(self._entries) > 1 and (
            len(self._entries) > self._count_max or self._size > self._size_max
        ):
            _, (_, forgotten) = self._entries.popitem(last=False)
            self._size -= forgotten

    def remove(self, key: KeyT) -> None:
        """Forget an entry, if it is there."""
        if key in self._entries:
            _, size = self._entries.pop(key)
            self._size -= size
