"""One document per table in the warehouse: its declaration, its streams, what is wanted.

Each version says which write has made it: who is told that a version exists finds out by that whether it
was their own request, repeated by the store, or somebody else who wrote the very same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import uuid4

import orjson
from pydantic import ValidationError

from lake import Catalog, Clock, CorruptData, FileIO, LakeError, TableNotFound, TableSchema
from registry import paths
from registry.errors import RegistryConflict
from registry.leases import LeaseStore
from registry.pending_schemas import effective_document
from registry.versions import Versioned, VersionedFile
from schemas import TableDocument

_WRITE_ID = "write_id"

__all__ = ["RegisteredTables", "RegistryStore", "Versioned"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredTables:
    """What is declared of all tables.

    Attributes:
        documents: Those that can be read, by identifier.
        unreadable: Why the others cannot, by `database.table`.
    """

    documents: tuple[TableDocument, ...]
    unreadable: Mapping[str, LakeError]


class RegistryStore:
    """Reads and writes the documents of a warehouse; keeps nothing in memory."""

    def __init__(self, file_io: FileIO, warehouse: str, clock: Clock) -> None:
        self._file_io = file_io
        self._warehouse = warehouse
        self._clock = clock

    def leases(self) -> LeaseStore:
        """Return the leases of the same warehouse."""
        return LeaseStore(self._file_io, self._warehouse, self._clock)

    def identifiers(self) -> list[str]:
        """Return `database.table` of every table with a document, in alphabetical order."""
        entries = self._file_io.list(paths.tables_directory(self._warehouse))
        return sorted(entry.name for entry in entries if entry.is_directory)

    def tables(self) -> RegisteredTables:
        """Return every table's newest document. One list and read per table.

        Raises:
            StorageUnavailable: Storage does not answer, which says nothing about any table.
        """
        documents: list[TableDocument] = []
        unreadable: dict[str, LakeError] = {}
        for identifier in self.identifiers():
            try:
                versioned = self.table(identifier)
            except LakeError as error:
                if error.retryable:
                    raise
                unreadable[identifier] = error
                continue
            if versioned is not None:
                documents.append(versioned.value)
        return RegisteredTables(documents=tuple(documents), unreadable=unreadable)

    def table(self, identifier: str) -> Versioned[TableDocument] | None:
        """Return what is declared of a table, and the version that says so; None: nothing.

        A schema change under way is made or not, as the table's schema files say: nothing is
        pending in what is returned.

        Raises:
            CorruptData: It cannot be read as a document; the message names it.
        """
        stored = self.stored(identifier)
        if stored is None or stored.value.pending is None:
            return stored
        document = effective_document(
            stored.value, lambda schema_id: self._schema(identifier, schema_id)
        )
        return Versioned(version=stored.version, value=document)

    def stored(self, identifier: str) -> Versioned[TableDocument] | None:
        """Return the newest document as it is stored, with what is pending; None: there is none.

        For those who change it. One list and one read.

        Raises:
            CorruptData: It cannot be read as a document; the message names it.
        """
        newest = self._file(identifier).latest()
        if newest is None:
            return None
        try:
            content = orjson.loads(newest.value)
            content.pop(_WRITE_ID, None)
            document = TableDocument.model_validate(content)
        except (ValidationError, ValueError, AttributeError) as error:
            message = f"registry document {identifier}, version {newest.version}: {error}"
            raise CorruptData(message) from error
        return Versioned(version=newest.version, value=document)

    def put_table(self, document: TableDocument, *, expected_version: int | None) -> int:
        """Write the next version of a table's document and return its number.

        Args:
            document: The whole document.
            expected_version: The version it was made from; None: there is no document yet.

        Raises:
            RegistryConflict: Another version came first. Read it, check again, try again.
        """
        version = 1 if expected_version is None else expected_version + 1
        content = {_WRITE_ID: str(uuid4()), **document.model_dump(mode="json")}
        data = orjson.dumps(content, option=orjson.OPT_INDENT_2)
        if not self._file(document.identifier).create(version, data):
            message = f"version {version} of the document of {document.identifier} is taken"
            raise RegistryConflict(message)
        return version

    def _schema(self, identifier: str, schema_id: int) -> TableSchema | None:
        catalog = Catalog(self._warehouse, file_io=self._file_io, clock=self._clock)
        try:
            return catalog.table(identifier).find_schema(schema_id)
        except TableNotFound:
            return None

    def _file(self, identifier: str) -> VersionedFile:
        directory = paths.table_directory(self._warehouse, identifier)
        return VersionedFile(self._file_io, directory, clock=self._clock)
