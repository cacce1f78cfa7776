"""Follower of one table: looks for new snapshots, makes their files ready, and replaces what is served.

Requests read `served`, one reference to an immutable value, and never wait for storage:

    follow ──► newest schema, declaration and snapshot ──► copies of the columns that the one before has copies of ──► `served`
    look   ──► newest schema, declaration and snapshot ────────────────────────────────────────────────────────────► `served`

`follow` is for the thread of the follower. `look` is for requests that cannot accept what is served: they never wait for copies of
files, whose rows are then read from storage.
"""

import threading

from braid.lake import Clock, SnapshotLookup, TableNotFound, ValueLookup
from braid.registry.registrar import Registrar
from braid.schemas import TableDocument
from braid.service.open_tables import OpenTables
from braid.service.serving.served_table import Served, ServedTable


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
        self._followed: Served | None = None
        self.served: Served | None = None

    def look(self) -> Served:
        """Look for a newer snapshot, schema or declaration, and serve it at once; return what is served then.

        Raises:
            TableNotFound: There is no table of that name, or it was dropped.
            LakeError: Storage or the registry cannot be read; what was served is served on.
        """
        served = self._replace(self._newest())
        with self._lock:
            # The follower's first look may find a later snapshot, for which this one's copies count.
            if self._followed is None:
                self._followed = served
        return served

    def follow(self) -> Served:
        """Do what `look` does, but first copy what lookups of a new snapshot read, as far as the one before has copies of it.

        Raises:
            TableNotFound: There is no table of that name, or it was dropped.
            LakeError: Storage or the registry cannot be read; what was served is served on.
        """
        # Not `served`, which a request may have replaced by a snapshot without copies.
        found, before = self._newest(), self._followed
        if before is not None and before.table.lookup is not found.table.lookup:
            _keep_copies(before.table.lookup, found.table.lookup)
            _keep_indexes(before, found)
        with self._lock:
            self._followed = found
        return self._replace(found)

    def _newest(self) -> Served:
        """Return the newest state of the table."""
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
        if (
            before is not None
            and before.table.lookup is lookup
            and before.table.document == document
        ):
            return Served(table=before.table, verified_ms=verified_ms)
        found = ServedTable(table=table, lookup=lookup, document=document)
        return Served(table=found, verified_ms=verified_ms)

    def _replace(self, found: Served) -> Served:
        """Serve a state unless a later one is served already; return what is served."""
        with self._lock:
            if self.served is None or self.served.verified_ms <= found.verified_ms:
                self.served = found
            return self.served

    def _document(self) -> TableDocument | None:
        try:
            return self._registrar.document(self._identifier)
        except TableNotFound:
            return None


def _keep_copies(before: SnapshotLookup, found: SnapshotLookup) -> None:
    """Copy the columns of a new snapshot, but for those of which the one before has no copies of all files."""
    copied = before.copied_columns()
    if copied:
        left_out = {*before.schema.field_names} - {*copied}
        found.load([name for name in found.schema.field_names if name not in left_out])


def _keep_indexes(before: Served, found: Served) -> None:
    """Index the files of a new snapshot by those lookup indexes that had all files of the one before."""
    document = found.table.document
    for index in () if document is None else document.table.lookup_indexes:
        if ValueLookup(before.table.lookup, index.columns).is_complete():
            ValueLookup(found.table.lookup, index.columns).build()
