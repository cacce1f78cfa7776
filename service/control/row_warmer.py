"""Makes large files ready for rows beside the requests, one after the other.

A file of 128 MB takes a second or two until it answers keys in microseconds; a scan for one row of it
takes some hundredth of a second. So a table's files are made ready once rows of it were scanned for
repeatedly, and requests are answered by scans meanwhile.
"""

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from lake import LakeError, SnapshotLookup

MISSES: Final = 8
"""So many rows of a table are scanned for before its files are made ready."""

Submit = Callable[[Callable[[], None]], object]
"""Has something done, in its own time."""


class RowWarmer:
    """Has files made ready that rows were scanned for; safe between threads."""

    def __init__(self, submit: Submit) -> None:
        """Take what does the work beside requests."""
        self._submit = submit
        self._misses: Counter[str] = Counter()
        self._busy: set[str] = set()
        self._lock = threading.Lock()

    def missed(
        self, at: SnapshotLookup, key: Mapping[str, object], columns: Sequence[str] | None
    ) -> None:
        """Take notice of a key whose files are not ready.

        Args:
            at: The snapshot where its row is looked for.
            key: A value for each column of the primary key.
            columns: Of the row; None means all.
        """
        table = at.identifier
        with self._lock:
            self._misses[table] += 1
            if self._misses[table] < MISSES or table in self._busy:
                return
            self._busy.add(table)
        self._submit(partial(self._load, at, key, columns))

    def _load(
        self, at: SnapshotLookup, key: Mapping[str, object], columns: Sequence[str] | None
    ) -> None:
        try:
            at.load_for(key, columns=columns)
        except LakeError:
            pass  # requests find the same, and say it to those who asked
        finally:
            with self._lock:
                self._busy.discard(at.identifier)
