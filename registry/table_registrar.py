"""Registration of tables, and changes of what may differ in the declaration of a registered table.

The creation of a table has no document to begin with, so it has a loop of its own (`put_table`). Each other change is a function
from the newest document to the next one, as in `registrar`. Changes of schemas are those of the base class.
"""

from collections.abc import Callable
from dataclasses import dataclass

from braid.lake import Catalog, Clock
from braid.registry.alteration.redeclaration import with_row_rules
from braid.registry.alteration.table_alterer import CheckTests, TableAlterer
from braid.registry.effects import (
    PlannedChange,
    effects_of_creation,
    effects_of_redeclaration,
)
from braid.registry.errors import DefinitionDiffers, DefinitionRefused, RegistryConflict
from braid.registry.rules.tables.table_rules import check_table
from braid.registry.store.document_writer import (
    ATTEMPTS,
    DocumentWriter,
    check_storable,
    too_many_conflicts,
)
from braid.registry.store.documents import RegistryStore
from braid.registry.store.revision import NO_PRECONDITION, Precondition
from braid.registry.store.stored_documents import with_table_features
from braid.registry.table_creator import TableCreator
from braid.schemas import Actor, AuditAction, TableDocument, TableSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """The result of a registration.

    Attributes:
        document: The newest document.
        is_new: Whether this request has registered the table or stream.
    """

    document: TableDocument
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTable:
    """A table as it would be registered or changed.

    Attributes:
        document: The document that would be written.
        effects: What the registration or change would do, one effect each.
    """

    document: TableDocument
    effects: tuple[str, ...]


class TableRegistrar(TableAlterer):
    """Registers and changes the tables of one warehouse."""

    def __init__(
        self,
        store: RegistryStore,
        catalog: Catalog,
        clock: Clock,
        *,
        check_tests: CheckTests | None,
        actor: Actor,
    ) -> None:
        """Create a registrar; see `Registrar`."""
        writer = DocumentWriter(store, catalog, actor=actor)
        super().__init__(writer, catalog, check_tests=check_tests)
        self._store = store
        self._clock = clock
        self._tables = TableCreator(store, catalog)

    def document(self, identifier: str) -> TableDocument:
        """Return the newest document of a table.

        Raises:
            TableNotFound: No table of that name is registered.
        """
        return self._writer.newest(identifier).value

    def plan_table(self, database: str, name: str, spec: TableSpec) -> PlannedChange:
        """Return what `put_table` would do, or the problems for which it would refuse; changes nothing."""
        try:
            return PlannedChange(effects=self.planned_table(database, name, spec).effects)
        except (DefinitionRefused, DefinitionDiffers) as error:
            return PlannedChange(problems=error.problems)

    def planned_table(self, database: str, name: str, spec: TableSpec) -> PlannedTable:
        """Return a table as `put_table` would register or change it; changes nothing.

        Raises:
            DefinitionRefused, DefinitionDiffers: `put_table` would refuse the declaration.
        """
        found = self._store.table(f"{database}.{name}")
        if found is not None:
            document = self._redeclared(found.value, spec)
            effects = effects_of_redeclaration(found.value.table, document.table)
            return PlannedTable(document=document, effects=effects)
        document = self._first_document(database, name, spec)
        self._tables.check(document)
        is_adopted = self._catalog.creation_mark(document.identifier) is not None
        effects = effects_of_creation(spec, document.identifier, is_adopted=is_adopted)
        return PlannedTable(document=document, effects=effects)

    def put_table(
        self,
        database: str,
        name: str,
        spec: TableSpec,
        *,
        precondition: Precondition = NO_PRECONDITION,
    ) -> Registration:
        """Create a table, or find the registered one with the same declaration.

        The rules for stale and complete rows, the feature views, the tests, the labels and the owner may differ, and are
        replaced: no stored row depends on them. Everything else is changed by `alter`.

        Raises:
            DefinitionRefused: The declaration breaks rules, or required tests fail; `problems` has all of them.
            DefinitionDiffers: A table of that name exists with another declaration.
            PreconditionFailed: The document is not the one that the caller has read.
            RegistryConflict: Every attempt lost a race against other writers; try again.
        """
        identifier = f"{database}.{name}"
        for _ in range(ATTEMPTS):
            if self._store.table(identifier) is not None:
                document = self.change_table(
                    identifier,
                    lambda _: spec,
                    precondition=precondition,
                    action=AuditAction.PUT_TABLE,
                )
                return Registration(document=document, is_new=False)
            document = self._first_document(database, name, spec)
            precondition.check(None)
            check_storable(document)
            try:
                self._tables.create(document, self._writer.note(AuditAction.PUT_TABLE))
            except RegistryConflict:
                continue
            return Registration(document=document, is_new=True)
        raise too_many_conflicts(identifier)

    def plan_table_change(
        self, identifier: str, declare: Callable[[TableSpec], TableSpec]
    ) -> PlannedChange:
        """Return what `change_table` would do, or the problems for which it would refuse; changes nothing.

        Raises:
            TableNotFound: No table of that name is registered.
        """
        document = self.document(identifier)
        try:
            spec = declare(document.table)
        except DefinitionRefused as error:
            return PlannedChange(problems=error.problems)
        return self.plan_table(document.database, document.name, spec)

    def change_table(
        self,
        identifier: str,
        declare: Callable[[TableSpec], TableSpec],
        *,
        precondition: Precondition = NO_PRECONDITION,
        action: AuditAction = AuditAction.PATCH_TABLE,
    ) -> TableDocument:
        """Change what may differ in the declaration of a registered table (`put_table`), and return the newest document.

        Args:
            identifier: `<database>.<table>`.
            declare: Returns the new declaration for the newest one; called at every attempt.
            precondition: Condition on the table's revision.
            action: The kind of change for the audit log.

        Raises:
            TableNotFound: No table of that name is registered.
            DefinitionRefused: The declaration breaks rules, or required tests fail; `problems` has all of them.
            DefinitionDiffers: The declaration differs in something that only `alter` changes, or nothing.
            PreconditionFailed: The table is not the one that the caller has read.
            RegistryConflict: Every attempt lost a race against other writers; try again.
        """

        def change(newest: TableDocument) -> TableDocument:
            self._check_table(precondition, newest)
            return self._redeclared(newest, declare(newest.table))

        return self._writer.change(identifier, change, action=action)

    def record_buckets(self, identifier: str, buckets: int) -> TableDocument:
        """Record the bucket count of a rescaled table in its declaration; its streams continue.

        Whoever rescales the table creates the entry in the audit log, because the table is rescaled before.

        Raises:
            TableNotFound: No table of that name is registered.
        """

        def change(document: TableDocument) -> TableDocument:
            spec = document.table.model_copy(update={"buckets": buckets})
            return document.model_copy(update={"table": spec})

        return self._writer.change(identifier, change, action=None)

    def _redeclared(self, newest: TableDocument, spec: TableSpec) -> TableDocument:
        """Return the document of a registered table with another declaration."""
        _check_rules(newest.database, newest.name, spec, newest)
        changed = with_row_rules(newest, spec)
        return newest if changed == newest else self._tested(changed)

    def _first_document(self, database: str, name: str, spec: TableSpec) -> TableDocument:
        """Return the document of a table that is not registered yet."""
        _check_rules(database, name, spec, None)
        document = TableDocument(
            database=database, name=name, table=spec, created_ms=self._clock.now_ms()
        )
        return self._tested(with_table_features(document))


def _check_rules(
    database: str, name: str, spec: TableSpec, registered: TableDocument | None
) -> None:
    """Refuse a declaration that breaks rules which the registered table does not break as well.

    Raises:
        DefinitionRefused: It breaks rules; `problems` has all of them.
    """
    problems = check_table(database, name, spec)
    if problems and registered is not None:
        known = set(check_table(database, name, registered.table))
        problems = [problem for problem in problems if problem not in known]
    if problems:
        message = f"the table {database}.{name} cannot be declared like this"
        raise DefinitionRefused(message, problems=problems)
