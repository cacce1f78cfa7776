"""Names of tables that are being created, announced so that no two of them differ in case alone.

A table's document is created exclusively, but only under the name as it is spelled. So whoever creates one
announces its name first, then looks at the tables that are there and at the announcements of others, and
gives up where one is alike: of two at the same time at least one sees the other. Both may; then both are
told, and whoever asks again gets the name. What a process that died has announced counts for a minute.
"""

import contextlib
from collections.abc import Iterator
from typing import Final
from uuid import uuid4

from lake import Clock, FileIO, LakeError
from registry.store import paths

KEPT_MS: Final = 60_000
"""Longer than the creation of a table takes, and than clocks of machines differ."""


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
            with contextlib.suppress(LakeError):  # one that stays is ignored before long
                self._file_io.delete(path)

    def identifiers(self) -> set[str]:
        """Return what is announced; announcements that are too old are removed."""
        found = set()
        for status in self._file_io.list(self._directory):
            if status.modified_ms >= self._clock.now_ms() - KEPT_MS:
                found.add(status.name.rpartition(".")[0])
            else:
                self._file_io.delete(status.path)
        return found
