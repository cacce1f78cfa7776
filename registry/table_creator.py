"""Creation of declared tables: first the table in the warehouse, then its document. Names must not differ in case alone.

A crash in between leaves a table without a document. The repeated request finds and adopts this table, like any
unregistered table of that name with the same columns, keys and options. The other order would leave a document of a
table that does not exist.
"""

from collections.abc import Iterator
from contextlib import suppress

from braid.lake import Catalog, Table, TableNotFound
from braid.registry.errors import DefinitionDiffers, DefinitionRefused
from braid.registry.layout.physical_table import PhysicalTable, physical_table
from braid.registry.names import case_problem
from braid.registry.store.audit_log import AuditNote
from braid.registry.store.documents import RegistryStore
from braid.schemas import FieldProblem, TableDocument
from braid.schemas.field_problems import problem_at


class TableCreator:
    """Creates tables of one warehouse and registers their first documents."""

    def __init__(self, store: RegistryStore, catalog: Catalog) -> None:
        self._store = store
        self._catalog = catalog
        self._new_names = store.new_names()

    def check(self, document: TableDocument) -> None:
        """Refuse a table that `create` would refuse; changes nothing.

        Args:
            document: The document of a table that is not registered; it breaks no rule for declarations.

        Raises:
            DefinitionRefused, DefinitionDiffers: As by `create`.
        """
        self._check_name(document.identifier)
        with suppress(TableNotFound):
            table = self._catalog.table(document.identifier)
            _check_layout(table, physical_table(document.table))

    def create(self, document: TableDocument, note: AuditNote | None = None) -> None:
        """Create a table and its first document; adopt an existing table of the same layout.

        Args:
            document: The document of a table that is not registered; it breaks no rule for declarations.
            note: What the audit log says of the creation; None: nothing.

        Raises:
            DefinitionRefused: The name differs from another one in case alone.
            DefinitionDiffers: The warehouse has another table of the name.
            RegistryConflict: Another process has registered the table.
        """
        identifier = document.identifier
        assert not document.streams, "streams are registered on an existing table"
        with self._new_names.announced(identifier):
            # After the announcement: of two simultaneous creators at least one sees the other's.
            self._check_name(identifier)
            self._create_in_warehouse(identifier, physical_table(document.table))
            self._store.put_table(document, expected_version=None, note=note)

    def _check_name(self, identifier: str) -> None:
        problems = list(self._similar_names(identifier))
        if problems:
            message = f"the table {identifier} cannot be created"
            raise DefinitionRefused(message, problems=problems)

    def _similar_names(self, identifier: str) -> Iterator[FieldProblem]:
        """Yield the database or table from which a new table's name differs in case alone."""
        database, _, name = identifier.partition(".")
        # Announcements are read first: a name whose creation ends in between is among the tables then.
        known = {
            *self._new_names.identifiers(),
            *self._store.identifiers(),
            *self._catalog.list_tables(database),
        }
        for other in sorted(known):
            other_database, _, other_name = other.partition(".")
            if other_database != database and other_database.lower() == database.lower():
                yield _case_problem("database", database, other_database)
                return
            if other != identifier and other.lower() == identifier.lower():
                yield _case_problem("table", name, other_name)
                return

    def _create_in_warehouse(self, identifier: str, layout: PhysicalTable) -> None:
        table = self._catalog.create_table(
            identifier,
            columns=layout.columns,
            primary_key=layout.primary_key,
            partition_keys=layout.partition_keys,
            options=layout.options,
            comment=layout.comment,
            if_not_exists=True,
        )
        _check_layout(table, layout)


def _case_problem(field: str, name: str, other: str) -> FieldProblem:
    hint = "readers that fold case could not distinguish them; choose another name"
    return case_problem(name, field, kind=field, other=other, hint=hint)


def _check_layout(table: Table, layout: PhysicalTable) -> None:
    """Refuse a table that does not have the columns, keys and options; further options are ignored."""
    schema = table.schema
    columns = [(field.name, field.type) for field in schema.fields]
    is_same = (
        columns == [(field.name, field.type) for field in layout.columns]
        and schema.primary_keys == layout.primary_key
        and schema.partition_keys == layout.partition_keys
        and all(schema.options.get(key) == value for key, value in layout.options.items())
    )
    if not is_same:
        problem = problem_at(
            "table",
            value=table.identifier,
            message="the warehouse has a table of this name that is not registered, with other "
            "columns, keys or options",
            hint="declare the columns, keys and options of the existing table, or choose another name",
        )
        raise DefinitionDiffers(problem.message, kind="table", problems=[problem])
