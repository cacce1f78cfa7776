"""Follower of one table: looks for new snapshots, makes their files ready, and replaces what is served.

Requests read `served`, one reference to an immutable value, and never wait for storage:

    follow ──► newest schema, declaration and snapshot ──► copies of its files, if the one before was ready ──► `served`
    look   ──► newest schema, declaration and snapshot ─────────────────────────────────────────────────────► `served`

`follow` is for the thread of the follower. `look` is for requests that cannot accept what is served: they never wait for copies of
files, whose rows are then read from storage.
"""

import threading

from braid.lake import Clock, TableNotFound, ValueLookup
from braid.registry.registrar import Registrar
from braid.schemas import TableDocument
from braid.service.open_tables import OpenTables
from braid.service.serving.served_table import Served, ServedTable

RECHECK_MS = 10_000
"""Time after which the copies of what is served are looked at again: they may have been removed."""


class Follower:
    """The newest snapshot of one table; safe between threads.

    Attributes:
        served: What is served; None before the first look.
    """

    def __init__(
        self, identifier: str, *, tables: OpenTables, registrar: Registrar, clock: Clock
    ) -> None:
        """Follow a table; nothing is read yet."""
        self._identifier = identifier
        self._tables = tables
        self._registrar = registrar
        self._clock = clock
        self._lock = threading.Lock()  # for replacing; nothing is read under it
        self._checked_ms = 0
        self.served: Served | None = None

    def look(self) -> Served:
        """Look for a newer snapshot, schema or declaration, and serve it at once; return what is served then.

        Raises:
            TableNotFound: There is no table of that name, or it was dropped.
            LakeError: Storage or the registry cannot be read; what was served is served on.
        """
        return self._replace(self._newest())

    def follow(self) -> Served:
        """Do what `look` does, but first make the files of a new snapshot ready if those of the one before are.

        Raises:
            TableNotFound: There is no table of that name, or it was dropped.
            LakeError: Storage or the registry cannot be read; what was served is served on.
        """
        found, before = self._newest(), self.served
        lookup = found.table.lookup
        is_new = before is None or before.table.lookup is not lookup
        if is_new and before is not None and before.table.is_ready:
            lookup.load()
        if is_new and before is not None:
            _keep_indexes(before, found)
        is_due = self._clock.now_ms() - self._checked_ms > RECHECK_MS
        if is_new or is_due or not found.table.is_ready:
            self._checked_ms = self._clock.now_ms()
            found = found.with_readiness(lookup.is_cached())
        return self._replace(found)

    def _newest(self) -> Served:
        """Return the newest state of the table; whether it is ready is what was known of the same snapshot."""
        # Before the snapshot is determined: the answer contains everything that was committed until then.
        verified_ms = self._clock.now_ms()
        document = self._document()
        table = self._tables.get(self._identifier)
        lookup = table.lookup_at()
        if document is not None and lookup.schema.id > document.schema_id:
            # The schema changed between the two reads, or without the registry. A declaration that is read now is
            # not older than the schema.
            document = self._document()
        before = self.served
        is_ready = False
        if before is not None and before.table.lookup is lookup:
            if before.table.document == document:
                return Served(table=before.table, verified_ms=verified_ms)
            is_ready = before.table.is_ready
        found = ServedTable(table=table, lookup=lookup, document=document, is_ready=is_ready)
        return Served(table=found, verified_ms=verified_ms)

    def _replace(self, found: Served) -> Served:
        """Serve a state unless a later one is served already; return what is served."""
        with self._lock:
            if self.served is None or self.served.verified_ms <= found.verified_ms:
                self.served = found
            elif self.served.table.lookup is found.table.lookup:
                # The files were made ready meanwhile.
                self.served = self.served.with_readiness(found.table.is_ready)
            return self.served

    def _document(self) -> TableDocument | None:
        try:
            return self._registrar.document(self._identifier)
        except TableNotFound:
            return None


def _keep_indexes(before: Served, found: Served) -> None:
    """Index the files of a new snapshot by those lookup indexes that had all files of the one before."""
    document = found.table.document
    for index in () if document is None else document.table.lookup_indexes:
        if ValueLookup(before.table.lookup, index.columns).is_complete():
            ValueLookup(found.table.lookup, index.columns).build()
