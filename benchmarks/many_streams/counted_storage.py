"""Storage that counts its calls by method, for a process whose costs are measured."""

import threading
from collections import Counter
from typing import Any, Final, cast

from braid.lake import FileIO

CALLS: Final = frozenset(
    {
        "create_exclusive",
        "delete",
        "delete_tree",
        "exists",
        "list",
        "list_tree",
        "modified_ms",
        "open_input",
        "overwrite",
        "read_bytes",
        "read_range",
        "size",
        "write_new",
    }
)


class CountedStorage:
    """Passes every call on; thread-safe."""

    def __init__(self, file_io: FileIO) -> None:
        self._file_io = file_io
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        """Return a method of the storage, which counts its calls."""
        attribute = getattr(self._file_io, name)
        if name not in CALLS:
            return attribute

        def call(*arguments: Any, **options: Any) -> Any:
            with self._lock:
                self._counts[name] += 1
            return attribute(*arguments, **options)

        return call

    def taken(self) -> Counter[str]:
        """Return the calls since the last time, by method."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        return counts


def counted(file_io: FileIO) -> tuple[FileIO, CountedStorage]:
    """Return storage that counts, as what it is for those who use it and for those who read the counts."""
    storage = CountedStorage(file_io)
    return cast(FileIO, storage), storage
