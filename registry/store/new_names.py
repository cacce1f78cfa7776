"""Announcements of tables that are being created, which prevent two tables whose names differ only in case.

Exclusive creation of a table's document covers only one spelling of its name. So the creator first announces
the name by an empty file, then lists the existing tables and the announcements of others. It gives up if one of
them differs in case alone: of two simultaneous creators at least one sees the other. If both do, both are
refused, and each may repeat its request. The announcement of a process that died expires after a minute.
"""

import contextlib
from collections.abc import Iterator
from typing import Final
from uuid import uuid4

from braid.lake import Clock, FileIO, LakeError
from braid.registry.store import paths

KEPT_MS: Final = 60_000
"""Longer than the creation of a table takes plus the difference between clocks of machines."""


class NewNames:
    """Announcements of one warehouse."""

    def __init__(self, file_io: FileIO, warehouse: str, clock: Clock) -> None:
        self._file_io = file_io
        self._directory = paths.new_names_directory(warehouse)
        self._clock = clock

    @contextlib.contextmanager
    def announced(self, identifier: str) -> Iterator[None]:
        """Announce `<database>.<table>` for as long as the context lasts; durable when it begins."""
        path = f"{self._directory}/{identifier}.{uuid4()}"
        self._file_io.write_new(path, b"")
        try:
            yield
        finally:
            with contextlib.suppress(LakeError):  # an announcement that stays expires by `KEPT_MS`
                self._file_io.delete(path)

    def identifiers(self) -> set[str]:
        """Return the announced names; deletes expired announcements."""
        found = set()
        for status in self._file_io.list(self._directory):
            if status.modified_ms >= self._clock.now_ms() - KEPT_MS:
                found.add(status.name.rpartition(".")[0])
            else:
                self._file_io.delete(status.path)
        return found
