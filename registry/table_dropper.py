"""Removal of tables, registered or not. All streams of the table have to be stopped.

```
document: marked as dropped   from here on no stream is started and the table is not changed
table: schemas, files deleted unless the data is kept
document: deleted             the name is free
```

A process that dies in between leaves a table that is not registered; a repeated drop continues. The mark says whether
the data is kept. A drop that keeps the data does not continue a drop that deletes it, because that one may still be
running. A drop that deletes the data replaces the mark of a drop that keeps it.

If two processes drop a table at the same time, one may stall until the other has finished and a new table of the same
name has been created. So each process remembers the table and the newest version of its document, checks both right
before each deletion, and ends if they have been replaced. Storage has no conditional deletes. So if a process stalls
that long between such a check and the deletion, it still deletes files of the new table.
"""

from dataclasses import dataclass

from braid.lake import Catalog, Clock, FileIO, TableNotFound
from braid.registry import names
from braid.registry.effects import PlannedChange, effects_of_drop, refused_change
from braid.registry.errors import RegistryConflict, StreamNotStopped
from braid.registry.stopped_streams import check_streams_stopped
from braid.registry.store.audit_log import UNKNOWN_ACTOR, AuditNote
from braid.registry.store.document_writer import ATTEMPTS, check_features, too_many_conflicts
from braid.registry.store.documents import RegistryStore, Versioned
from braid.registry.store.remembered_requests import RememberedRequests
from braid.registry.store.revision import NO_PRECONDITION, Precondition, table_revision
from braid.registry.store.stored_documents import is_dropped, keeps_data
from braid.schemas import Actor, AuditAction, TableDocument


class TableDropper:
    """Drops tables of one warehouse."""

    def __init__(
        self,
        store: RegistryStore,
        catalog: Catalog,
        *,
        file_io: FileIO,
        warehouse: str,
        clock: Clock,
        actor: Actor = UNKNOWN_ACTOR,
    ) -> None:
        self._store = store
        self._requests = RememberedRequests(file_io, warehouse, clock)
        self._catalog = catalog
        self._file_io = file_io
        self._warehouse = warehouse
        self._clock = clock
        self._note = AuditNote(actor=actor, action=AuditAction.DROP_TABLE)

    def by(self, actor: Actor) -> "TableDropper":
        """Return a dropper of the same warehouse that acts for another actor, whom the audit log names."""
        return TableDropper(
            self._store,
            self._catalog,
            file_io=self._file_io,
            warehouse=self._warehouse,
            clock=self._clock,
            actor=actor,
        )

    def plan(self, identifier: str, *, keep_data: bool = False) -> PlannedChange:
        """Return what `drop` would do, or why it would refuse; changes nothing.

        Raises:
            TableNotFound: There is no such table, or, with `keep_data`, it is not registered.
            FeaturesMissing: A newer version has registered it, and this one must not change it.
        """
        stored = self._store.table(identifier) if names.is_identifier(identifier) else None
        streams: tuple[str, ...] = ()
        if stored is not None:
            check_features(stored.value)
            streams = tuple(sorted(stored.value.streams))
            try:
                check_streams_stopped(self._file_io, self._warehouse, identifier, clock=self._clock)
            except StreamNotStopped as error:
                return refused_change(error, field="table")
        elif (
            keep_data
            or not names.is_identifier(identifier)
            or self._catalog.creation_mark(identifier) is None
        ):
            message = f"no table {identifier} is registered"
            raise TableNotFound(message)
        return PlannedChange(effects=effects_of_drop(identifier, streams, keep_data=keep_data))

    def drop(
        self,
        identifier: str,
        *,
        keep_data: bool = False,
        precondition: Precondition = NO_PRECONDITION,
    ) -> None:
        """Unregister a table with its streams, and delete its files.

        Args:
            identifier: `<database>.<table>`; registered, or a table of the warehouse, or both.
            keep_data: Keep the files: the warehouse then has a table that is not registered.
            precondition: Condition on the table's revision, checked on the version that the drop supersedes.

        Raises:
            TableNotFound: No such table, neither registered nor in the warehouse; or, with `keep_data`, it is not
                registered, and no drop with `keep_data` was interrupted.
            StreamNotStopped: A stream's desired state is not STOPPED, or a runner still holds one.
            FeaturesMissing: A newer version has registered it, and this one must not change it.
            PreconditionFailed: The table is not the one that the caller has read.
            RegistryConflict: Every attempt lost a race against other writers of the document.
            LakeError: Storage does not answer; call again.
        """
        if not names.is_identifier(identifier):
            message = f"no table {identifier} is registered"
            raise TableNotFound(message)
        target = self._mark(identifier, keep_data=keep_data, precondition=precondition)
        if not keep_data:
            if target.newest is None and target.created is not None:
                # Without a document there is no version that could hold the entry.
                self._store.audit.record(self._note, identifier)
            try:
                self._catalog.drop_table(
                    identifier, is_meant=lambda: self._is_there(identifier, target)
                )
            except TableNotFound:
                if not target.is_registered:
                    # A drop may have died when the files were deleted, and the document was not.
                    self._store.forget(identifier, target.newest)
                    message = f"there is no table {identifier}"
                    raise TableNotFound(message) from None
        elif not target.is_registered and not target.keeps_data:
            message = f"no table {identifier} is registered"
            raise TableNotFound(message)
        if target.newest is not None:
            # While the name is not free, so that no request to a later table of the name is forgotten.
            self._requests.forget_table(identifier)
            self._store.forget(identifier, target.newest)

    def _is_there(self, identifier: str, target: "_Target") -> bool:
        """Return whether a table is still the one to be dropped, or what another drop has left of it."""
        if self._store.newest(identifier) != target.newest:
            return False
        # Read last: a table is created before its document.
        created = self._catalog.creation_mark(identifier)
        return created is None or created == target.created

    def _mark(self, identifier: str, *, keep_data: bool, precondition: Precondition) -> "_Target":
        """Mark the table as dropped, and return it."""
        meant: bytes | None = None
        for attempt in range(ATTEMPTS):
            stored, newest = self._store.table(identifier), self._store.newest(identifier)
            # Read before the mark: a table that is found after it may be a new one.
            created = self._catalog.creation_mark(identifier)
            meant = created if attempt == 0 else meant
            if created is not None and created != meant:
                # Another process has dropped the table and created one of the name: nothing is left to drop.
                return _Target(is_registered=False, created=meant, newest=None)
            is_registered = newest is not None and not is_dropped(newest.value)
            if newest is None or (
                not is_registered and (keep_data or not keeps_data(newest.value))
            ):
                if created is not None:
                    precondition.check(None)
                return _Target(is_registered=False, created=created, newest=newest)
            if is_registered:
                if stored is None or stored.version != newest.version:
                    continue
                check_features(stored.value)
                if precondition != NO_PRECONDITION:
                    precondition.check(self._revision(stored.value))
                # Checked on the version that the mark supersedes: a stream that is started after this check
                # creates that version first, and the mark conflicts.
                check_streams_stopped(self._file_io, self._warehouse, identifier, clock=self._clock)
            try:
                mark = self._store.mark_dropped(
                    identifier, expected=newest, keeps_data=keep_data, note=self._note
                )
            except RegistryConflict:
                continue
            return _Target(is_registered=is_registered, created=created, newest=mark)
        raise too_many_conflicts(identifier)

    def _revision(self, document: TableDocument) -> str:
        try:
            schema_id = self._catalog.table(document.identifier).schema.id
        except TableNotFound:  # only the document is left
            schema_id = document.schema_id
        return table_revision(document, schema_id=schema_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """A table that is to be dropped.

    Attributes:
        is_registered: Whether it was registered until now.
        created: What distinguishes it from later tables of the name (`Catalog.creation_mark`); None: only remains
            of a table are left, or nothing.
        newest: The mark that it is dropped; None: it has no document.
    """

    is_registered: bool
    created: bytes | None
    newest: Versioned[bytes] | None

    @property
    def keeps_data(self) -> bool:
        """Whether the mark is that of a drop that keeps the files."""
        return self.newest is not None and keeps_data(self.newest.value)
