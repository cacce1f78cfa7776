"""Counted changes of tables' documents: a file per change, which names the tables.

```
_braid/changes/00000000000000000007.json      {"tables": ["shop.orders"], "write_id": "…"}
_braid/changes/00000000000000000008.json      the newest
```

A writer of documents appends a change when it has written. A reader that knows change 8 asks for change 9: while nothing changes,
that is one request, however many tables there are. Of two writers one gets the number, and the other one takes the next.

The last `KEPT_CHANGES` are kept. A reader whose next change may have been deleted is told that it does not know what has changed.
So is one that has missed many. It then lists the documents, which it also does every now and then without a reason: a writer that
ends before it has counted its change, or an earlier version of this software, which counts none, delays the change only until then.
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from pydantic import Field, ValidationError

from braid.lake import Clock, FileIO, StorageUnavailable
from braid.registry.store import paths
from braid.registry.store.stored_documents import parse_stored
from braid.registry.store.versions import VersionedFile
from braid.schemas import Contract

KEPT_CHANGES: Final = 500
CHANGES_AT_ONCE: Final = 20
"""Changes that a reader reads one by one; a listing of all documents is cheaper than more of them."""
_ATTEMPTS: Final = 200  # every lost race is a change of another writer


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The changes after a position.

    Attributes:
        position: Number of the newest of them.
        tables: The tables that have changed, as `<database>.<table>`; None: it is not known which.
    """

    position: int
    tables: frozenset[str] | None


class _Change(Contract):
    tables: tuple[str, ...]
    write_id: str = Field(default="")


class ChangeLog:
    """Appends and reads the counted changes of one warehouse; thread-safe."""

    def __init__(self, file_io: FileIO, warehouse: str, clock: Clock) -> None:
        directory = paths.changes_directory(warehouse)
        # By number alone: a reader notices by itself that its position was deleted (`since`).
        self._file = VersionedFile(
            file_io, directory, clock=clock, kept_versions=KEPT_CHANGES, kept_ms=None
        )
        self._lock = threading.Lock()

    def newest(self) -> int:
        """Return the number of the newest change; 0: there is none. One list."""
        return self._file.newest_number()

    def append(self, tables: Iterable[str]) -> None:
        """Count a change that has been written. Two lists and one write.

        Args:
            tables: The tables that have changed, as `<database>.<table>`.

        Raises:
            StorageUnavailable: The change may not have been counted.
        """
        change = _Change(tables=tuple(tables), write_id=str(uuid4()))
        data = change.model_dump_json().encode()
        with self._lock:  # threads of one process need not race each other
            for _ in range(_ATTEMPTS):
                if self._file.create(self._file.newest_number() + 1, data):
                    return
        message = f"a change of {', '.join(change.tables)} lost {_ATTEMPTS} races against others"
        raise StorageUnavailable(message)

    def since(self, position: int, *, checks_position: bool) -> Changes:
        """Return the changes after a position. One read for each, and one that finds none.

        Args:
            position: Number of the newest change that the reader knows; 0: none.
            checks_position: Whether so much time has passed that the next change may have been deleted already: one
                more request, if there is no next change.
        """
        changed: set[str] = set()
        for number in range(position + 1, position + 1 + CHANGES_AT_ONCE):
            data = self._file.read(number)
            if data is None:
                if checks_position and number == position + 1 and self._is_deleted(position):
                    return Changes(position=position, tables=None)
                return Changes(position=number - 1, tables=frozenset(changed))
            try:
                changed.update(parse_stored(_Change, data).tables)
            except ValidationError:
                break
        return Changes(position=position, tables=None)

    def _is_deleted(self, position: int) -> bool:
        # Changes are deleted in order: while this one is there, the next one was not deleted.
        if position == 0:
            return self.newest() > 0
        return self._file.read(position) is None
