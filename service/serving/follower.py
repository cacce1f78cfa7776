"""Follower of one table: looks for new snapshots, makes their files ready, and replaces what is served.

Requests read `served` and `verified_ms`, and never wait for storage:

    poll ──► newest schema, declaration and snapshot ──► changed? ──► copies of new files ──► `served` is replaced

Copies of new files are made before the snapshot is served, if the one before was ready; until then the one before is
served. `verified_ms` is the time just before the newest snapshot was determined, so `served` contains everything that was
committed until then.
"""

import threading

from braid.lake import Clock, SnapshotLookup, TableNotFound
from braid.registry.registrar import Registrar
from braid.schemas import TableDocument
from braid.service.open_tables import OpenTables
from braid.service.serving.served_table import ServedTable


class Follower:
    """The newest snapshot of one table; safe between threads.

    Attributes:
        served: What is served; None before the first poll.
        verified_ms: When `served` was last known to be the newest, milliseconds since 1970; 0 before the first poll.
    """

    def __init__(
        self, identifier: str, *, tables: OpenTables, registrar: Registrar, clock: Clock
    ) -> None:
        """Follow a table; nothing is read yet."""
        self._identifier = identifier
        self._tables = tables
        self._registrar = registrar
        self._clock = clock
        self._lock = threading.Lock()
        self.served: ServedTable | None = None
        self.verified_ms = 0

    def poll(self) -> ServedTable:
        """Look for a newer snapshot, schema or declaration, and return what is served then.

        Raises:
            TableNotFound: There is no table of that name, or it was dropped.
            LakeError: Storage or the registry cannot be read; what was served is served on.
        """
        with self._lock:
            verified_ms = self._clock.now_ms()
            document = self._document()
            table = self._tables.get(self._identifier)
            lookup = table.lookup_at()
            if document is not None and lookup.schema.id > document.schema_id:
                # The schema changed between the two reads. A declaration that is read now is not older.
                document = self._document()
            before = self.served
            is_ready = self._is_ready(lookup, before)
            if (
                before is None
                or before.lookup is not lookup
                or before.document != document
                or before.is_ready != is_ready
            ):
                self.served = ServedTable(
                    table=table, lookup=lookup, document=document, is_ready=is_ready
                )
            self.verified_ms = verified_ms
            assert self.served is not None, "set by this poll or an earlier one"
            return self.served

    def _is_ready(self, lookup: SnapshotLookup, before: ServedTable | None) -> bool:
        if lookup.is_cached():
            return True
        if before is None or not before.is_ready or before.lookup is lookup:
            # Files that requests ask for are copied in the background, by how much is read of them.
            return False
        lookup.load()
        return lookup.is_cached()

    def _document(self) -> TableDocument | None:
        try:
            return self._registrar.document(self._identifier)
        except TableNotFound:
            return None
