"""What the routes work with: made once per app, handed to each request."""

import threading
from dataclasses import dataclass

from lake import Catalog, Clock, FileIO, Table, TableNotFound
from registry import names
from registry.documents import RegistryStore
from registry.progress import ProgressStore
from registry.registrar import Registrar
from registry.table_dropper import TableDropper
from schemas import TableDocument
from service.settings import ServiceSettings


class OpenTables:
    """The tables that were asked for, kept open so that what they have cached stays useful."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._tables: dict[str, Table] = {}
        self._lock = threading.Lock()

    def get(self, identifier: str) -> Table:
        """Return a table at its newest schema.

        Raises:
            TableNotFound: There is none of that name, or not any more.
        """
        with self._lock:
            table = self._tables.get(identifier)
        if table is None:
            table = self._open(identifier)
            with self._lock:
                return self._tables.setdefault(identifier, table)
        try:
            table.refresh()
        except TableNotFound:
            # Dropped; another may have been made under the name.
            with self._lock:
                self._tables.pop(identifier, None)
            table = self._open(identifier)
            with self._lock:
                return self._tables.setdefault(identifier, table)
        return table

    def _open(self, identifier: str) -> Table:
        try:
            if names.is_identifier(identifier):
                return self._catalog.table(identifier)
        except TableNotFound:
            pass  # said below, without the place on storage, which is not the caller's business
        message = f"there is no table {identifier}"
        raise TableNotFound(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """Everything that a route may need; there is no other state.

    Attributes:
        settings: As started.
        file_io: The warehouse's storage.
        clock: The time.
        tables: The warehouse's tables.
        registry: The documents.
        registrar: Changes of the documents.
        dropper: Drops tables.
        progress: What runners report.
        started_ms: When the app was made.
    """

    settings: ServiceSettings
    file_io: FileIO
    clock: Clock
    tables: OpenTables
    registry: RegistryStore
    registrar: Registrar
    dropper: TableDropper
    progress: ProgressStore
    started_ms: int

    def registered(self, identifier: str) -> tuple[TableDocument, Table]:
        """Return what is declared of a table, and the table, which fit each other.

        Raises:
            TableNotFound: There is none of that name.
        """
        document = self.registrar.document(identifier)
        table = self.tables.get(identifier)
        if table.schema.id > document.schema_id:
            # Changed since, or without the registry: what is declared now is not older than that.
            document = self.registrar.document(identifier)
        return document, table
