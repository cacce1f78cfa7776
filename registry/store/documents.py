"""The documents of a warehouse, one per table: its declaration, its streams and their desired states.

The newest version of a dropped table's document is a drop marker, until the versions are deleted.

Each version contains a random id of the write that created it. If a write is refused because the version
exists, the writer compares the stored content with its own. The same id means that its own write succeeded:
the response was lost, and the object store's client repeated the request. Without the id, another process's
write of the same declaration would look the same.

A version also holds the newest entry of the audit log. The writer of the next entry first keeps this one in `audit_log`.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from pydantic import ValidationError

from braid.lake import Catalog, Clock, FileIO, LakeError, TableNotFound, TableSchema
from braid.registry.errors import FeaturesMissing, RegistryConflict
from braid.registry.store import paths
from braid.registry.store.access_tokens import AccessTokens
from braid.registry.store.audit_log import AuditLog, AuditNote
from braid.registry.store.change_log import ChangeLog
from braid.registry.store.document_changes import bounded_changes, document_changes
from braid.registry.store.new_names import NewNames
from braid.registry.store.pending_schemas import effective_document
from braid.registry.store.stored_documents import (
    dump_document,
    dump_dropped,
    held_entry,
    is_dropped,
    parse_document,
    parse_stored,
)
from braid.registry.store.stream_holders import StreamHolders
from braid.registry.store.versions import Versioned, VersionedFile
from braid.schemas import AuditChange, AuditEntry, TableDocument

_LOG = logging.getLogger(__name__)

__all__ = ["RegisteredTables", "RegistryStore", "Versioned"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredTables:
    """The documents of all tables.

    Attributes:
        documents: The documents that can be read, in the order of identifiers.
        unreadable: The errors of documents that cannot be read, by `database.table`.
        newer: The errors of documents that need a newer version of this software, by `database.table`.
        dropped: The tables of which only the mark of a drop is left, as `database.table`.
    """

    documents: tuple[TableDocument, ...]
    unreadable: Mapping[str, LakeError]
    newer: Mapping[str, FeaturesMissing] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()

    @property
    def identifiers(self) -> list[str]:
        """`database.table` of every table with a document or the mark of a drop, in alphabetical order."""
        names = (document.identifier for document in self.documents)
        return sorted([*names, *self.unreadable, *self.newer, *self.dropped])


class RegistryStore:
    """Reads and writes the documents of a warehouse; keeps nothing in memory."""

    def __init__(
        self,
        file_io: FileIO,
        warehouse: str,
        clock: Clock,
        *,
        audit_retention_ms: int | None = None,
    ) -> None:
        """Create the object; reads nothing yet.

        Args:
            file_io: Storage.
            warehouse: Absolute path.
            clock: Gives the times of changes.
            audit_retention_ms: Age in milliseconds from which this process deletes entries of the audit log; None: it
                deletes none.
        """
        self._file_io = file_io
        self._warehouse = warehouse
        self._clock = clock
        self.audit = AuditLog(file_io, warehouse, clock, retention_ms=audit_retention_ms)
        self.changes = ChangeLog(file_io, warehouse, clock)
        self._on_change: list[Callable[[str], None]] = []

    def notify(self, changed: Callable[[str], None]) -> None:
        """Call a function with `database.table` after each change of a table's document through this object.

        Args:
            changed: Called in the thread of the change; must neither wait nor raise.
        """
        self._on_change.append(changed)

    def holders(self) -> StreamHolders:
        """Return the holders of streams in the same warehouse."""
        return StreamHolders(self._file_io, self._warehouse, self._clock)

    def access_tokens(self) -> AccessTokens:
        """Return the access tokens of the same warehouse."""
        return AccessTokens(self._file_io, self._warehouse, self._clock)

    def new_names(self) -> NewNames:
        """Return the names of tables that are being created in the same warehouse."""
        return NewNames(self._file_io, self._warehouse, self._clock)

    def identifiers(self) -> list[str]:
        """Return `database.table` of every table with a document or the mark of a drop, in alphabetical order."""
        entries = self._file_io.list(paths.tables_directory(self._warehouse))
        return sorted(entry.name for entry in entries if entry.is_directory)

    def tables(self) -> RegisteredTables:
        """Return every table's newest document. One list and read per table: for those who look once (else `RegistryView`).

        Raises:
            StorageUnavailable: Storage does not answer: no table's document is known then.
        """
        documents: list[TableDocument] = []
        unreadable: dict[str, LakeError] = {}
        newer: dict[str, FeaturesMissing] = {}
        dropped: list[str] = []
        for identifier in self.identifiers():
            try:
                versioned = self.table(identifier)
            except LakeError as error:
                # In an outage nothing is known about this table: it must not count as unreadable.
                if error.retryable:
                    raise
                unreadable[identifier] = error
                continue
            except FeaturesMissing as error:
                newer[identifier] = error
                continue
            if versioned is not None:
                documents.append(versioned.value)
            else:
                dropped.append(identifier)
        return RegisteredTables(
            documents=tuple(documents), unreadable=unreadable, newer=newer, dropped=tuple(dropped)
        )

    def table(self, identifier: str) -> Versioned[TableDocument] | None:
        """Return a table's newest document and its version; None when the table is not registered.

        Nothing is pending in it: a schema change under way counts as applied once its schema file
        exists, and as absent before.

        Raises:
            CorruptData: The file cannot be read as a document; the message names it.
            FeaturesMissing: Only a newer version can read the document.
        """
        stored = self.stored(identifier)
        if stored is None or stored.value.pending is None:
            return stored
        return Versioned(version=stored.version, value=self.effective(stored.value))

    def effective(self, document: TableDocument) -> TableDocument:
        """Return what is in effect of a document as stored; looks for the schema of a pending change."""
        identifier = document.identifier
        return effective_document(document, lambda schema_id: self._schema(identifier, schema_id))

    def stored(self, identifier: str) -> Versioned[TableDocument] | None:
        """Return the newest document as stored, pending change included; None when there is none.

        For writers. One list and one read.

        Raises:
            CorruptData: The file cannot be read as a document; the message names it.
            FeaturesMissing: Only a newer version can read the document.
        """
        newest = self.newest(identifier)
        document = None if newest is None else self.parsed(identifier, newest)
        if newest is None or document is None:
            return None
        return Versioned(version=newest.version, value=document)

    def parsed(self, identifier: str, version: Versioned[bytes]) -> TableDocument | None:
        """Return the document of a version as stored; None: it is the mark of a dropped table. Raises what `stored` raises."""
        if is_dropped(version.value):
            return None
        what = f"registry document {identifier}, version {version.version}"
        return parse_document(version.value, what=what)

    def read_version(self, identifier: str, version: int) -> bytes | None:
        """Return one version as its bytes; None when it does not exist, or not any more."""
        return self._file(identifier).read(version)

    def newest(self, identifier: str) -> Versioned[bytes] | None:
        """Return the newest version as its bytes, which may be the mark of a dropped table; None when there is none."""
        return self._file(identifier).latest()

    def put_table(
        self,
        document: TableDocument,
        *,
        expected_version: int | None,
        note: AuditNote | None = None,
    ) -> int:
        """Write the next version of a table's document and return its number.

        Fields of the previous version that this software does not know are kept.

        Args:
            document: The whole document.
            expected_version: The version that the document was made from; None: there is none yet.
            note: What the audit log says of the change; None: nothing, because nobody has requested it.

        Raises:
            RegistryConflict: Another writer has created the version. Read it, check again, and try again.
        """
        assert expected_version is None or expected_version >= 1
        identifier, before = document.identifier, None
        if expected_version is None:
            # After the mark of a dropped table of the same name, so that versions never repeat.
            newest = self._file(identifier).latest()
            superseded = newest if newest is not None and is_dropped(newest.value) else None
            version = 0 if superseded is None else superseded.version
        else:
            version = expected_version
            before = self._file(identifier).read(version)
            superseded = None if before is None else Versioned(version=version, value=before)
        entry = None
        if note is not None:
            old = None if before is None else parse_stored(TableDocument, before)
            changes = document_changes(old, document)
            entry = self._entry(identifier, note, superseded, version=version + 1, changes=changes)
        elif before is None and superseded is not None:
            self._keep_entry(identifier, superseded)
        data = dump_document(document, before=before, write_id=str(uuid4()), audit=entry)
        self._create(identifier, version + 1, data)
        return version + 1

    def mark_dropped(
        self,
        identifier: str,
        *,
        expected: Versioned[bytes],
        keeps_data: bool,
        note: AuditNote,
    ) -> Versioned[bytes]:
        """Mark a table as not registered any more, as the next version of its document, and return the mark.

        Args:
            identifier: `<database>.<table>`.
            expected: The newest version; no other is superseded.
            keeps_data: The table's files stay.
            note: What the audit log says of the drop.

        Raises:
            RegistryConflict: Another writer has created the version, or the document is that of another
                table, which was created after `expected` was read.
        """
        file, version = self._file(identifier), expected.version + 1
        entry = self._entry(identifier, note, expected, version=version)
        mark = dump_dropped(write_id=str(uuid4()), keeps_data=keeps_data, audit=entry)
        self._create(identifier, version, mark)
        marked = Versioned(version=version, value=mark)
        superseded = file.read(expected.version)
        # The versions of a table that is created after another was forgotten begin with 1 again. If the mark is not
        # the newest version, that table was created after the mark instead, and is not marked.
        if superseded is None or superseded == expected.value:
            return marked
        if file.latest() == marked:
            file.create(version + 1, superseded)
            self._count(identifier)
            message = f"the document of {identifier} belongs to a table that was created meanwhile"
            raise RegistryConflict(message)
        return marked

    def forget(self, identifier: str, mark: Versioned[bytes] | None) -> None:
        """Delete the versions of a dropped table's document; no effect if it is registered again.

        Args:
            identifier: `<database>.<table>`.
            mark: The mark that the table is dropped; None: there is no version. A document that is created after
                it stays.
        """
        file = self._file(identifier)
        if file.latest() != mark:
            return
        if mark is not None:
            self._keep_entry(identifier, mark)
            file.delete_until(mark.version)
        # On a disk the empty directory would stay. A document that is created between these two calls is lost:
        # no storage deletes a directory on the condition that it is empty.
        if file.latest() is None:
            self._file_io.delete_tree(paths.table_directory(self._warehouse, identifier))
        self._count(identifier)

    def held_entry(self, identifier: str, version: Versioned[bytes]) -> dict[str, Any] | None:
        """Return the entry of the audit log that a version holds, as it is stored; None if it holds none.

        The mark of a dropped table does not hold the declaration before the drop, which is added here.

        Args:
            identifier: `<database>.<table>`.
            version: The newest version of the table's document.
        """
        entry = held_entry(version.value)
        if entry is None or not is_dropped(version.value):
            return entry
        before = self._file(identifier).read(version.version - 1)
        if before is None or is_dropped(before):
            return entry
        try:
            document = parse_stored(TableDocument, before)
        except ValidationError:  # a drop removes a document that cannot be read, too
            return entry
        changes, left_out = bounded_changes(document_changes(document, None))
        shown = [change.model_dump(mode="json", exclude_none=True) for change in changes]
        return {**entry, "changes": shown, "changes_left_out": left_out}

    def _entry(
        self,
        identifier: str,
        note: AuditNote,
        superseded: Versioned[bytes] | None,
        *,
        version: int,
        changes: tuple[AuditChange, ...] = (),
    ) -> AuditEntry:
        """Return the entry of a change, after the entry that its version supersedes is kept in the log."""
        last_ms = 0 if superseded is None else self._keep_entry(identifier, superseded)
        return note.entry(
            identifier,
            time_ms=max(last_ms, self._clock.now_ms()),
            version=version,
            changes=changes,
        )

    def _keep_entry(self, identifier: str, version: Versioned[bytes]) -> int:
        """Keep the entry that a version holds in the log, and return its time; 0 if it holds none."""
        held = self.held_entry(identifier, version)
        return 0 if held is None else self.audit.keep(held)

    def _create(self, identifier: str, version: int, data: bytes) -> None:
        if not self._file(identifier).create(version, data):
            message = f"version {version} of the document of {identifier} was written by another process meanwhile"
            raise RegistryConflict(message)
        self._count(identifier)

    def _count(self, identifier: str) -> None:
        """Count a change that has been made, so that other processes see it at once."""
        for changed in self._on_change:
            changed(identifier)
        try:
            self.changes.append([identifier])
        except (LakeError, OSError) as error:
            # The change itself is made, and a failure of the request would say that it is not.
            _LOG.warning(
                "other processes see a change late: it could not be counted table=%s error=%s",
                identifier,
                error,
            )

    def _schema(self, identifier: str, schema_id: int) -> TableSchema | None:
        catalog = Catalog(self._warehouse, file_io=self._file_io, clock=self._clock)
        try:
            return catalog.table(identifier).find_schema(schema_id)
        except TableNotFound:
            return None

    def _file(self, identifier: str) -> VersionedFile:
        directory = paths.table_directory(self._warehouse, identifier)
        return VersionedFile(self._file_io, directory, clock=self._clock)
