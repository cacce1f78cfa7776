"""Components that the routes work with: made once per app, handed to each request."""

from dataclasses import dataclass

from lake import Clock, FileIO, Table
from registry.registrar import Registrar
from registry.store.documents import RegistryStore
from registry.store.progress import ProgressStore
from registry.table_dropper import TableDropper
from schemas import TableDocument
from service.http.body_thread import BodyThread
from service.open_tables import OpenTables
from service.settings import ServiceSettings


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
        bodies: Where bodies become models.
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
    bodies: BodyThread
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
