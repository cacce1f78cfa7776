"""Atomic changes of a table's document together with the table's schema.

A plan is a function of the newest document and schema; after a lost race it is called again. A change of
both is written in three steps, each of which is one exclusive creation:

1. the next document version, with the new schema as *pending* (`braid.registry.store.pending_schemas`);
2. the schema;
3. the document version in which the change is applied.

For readers the change is in effect once the schema exists, with or without step 3. After a crash in between
the next writer of the document completes steps 2 and 3 first (`DocumentWriter.settled`).
"""

from collections.abc import Callable
from contextlib import suppress

from braid.lake import Catalog, InvalidRequest, LakeError
from braid.registry.alteration.alteration import (
    Alteration,
    AlterationPlan,
    CheckedAlteration,
    check_alteration,
    with_actual_buckets,
)
from braid.registry.alteration.arrival_columns import lacks_arrival
from braid.registry.effects import PlannedChange, effects_of_alteration
from braid.registry.errors import DefinitionRefused
from braid.registry.store.audit_log import AuditNote
from braid.registry.store.document_writer import (
    ATTEMPTS,
    DocumentWriter,
    check_storable,
    too_many_conflicts,
)
from braid.registry.store.named_request import NamedRequest
from braid.registry.store.pending_schemas import with_applied, with_pending, with_request
from braid.registry.store.revision import NO_PRECONDITION, Precondition, table_revision
from braid.registry.store.versions import Versioned
from braid.schemas import AuditAction, FieldProblem, TableDocument

CheckTests = Callable[[TableDocument], list[FieldProblem]]
"""Returns the problems of a document whose required tests fail, located in the table's declaration."""


class TableAlterer:
    """Changes the schemas of one warehouse, and the documents with them."""

    def __init__(
        self, writer: DocumentWriter, catalog: Catalog, *, check_tests: CheckTests | None = None
    ) -> None:
        self._writer = writer
        self._catalog = catalog
        self._check_tests = check_tests

    def alter(
        self,
        identifier: str,
        plan: AlterationPlan,
        *,
        precondition: Precondition = NO_PRECONDITION,
        stream: str | None = None,
    ) -> TableDocument:
        """Change a table's schema and its declaration, both or neither.

        Safe against races, and against a crash at any point: readers see the table before or after
        the change, and the next process that changes the table completes it.

        Args:
            identifier: `<database>.<table>`.
            plan: Returns the change for the newest document and schema; called at every attempt.
            precondition: Condition on the table's revision.
            stream: The stream whose records have caused the change, for the audit log; None: the change was requested.

        Returns:
            The document as the change has made it; the newest one where nothing changes.

        Raises:
            TableNotFound: No table of that name is registered.
            DefinitionRefused: The change breaks rules (`check_alteration`) or makes a required test fail.
            KeyReused: The request has a name, which another request has used.
            InvalidRequest: The plan refuses the newest state of the table.
            PreconditionFailed: The document is not the one that the caller has read.
            RegistryConflict: Every attempt lost a race against other writers; try again.
            LakeError: Storage does not answer; call again.
        """
        request = self._writer.request
        for _ in range(ATTEMPTS):
            newest = self._writer.settled(identifier)
            document = newest.value
            # Before the precondition, which names the revision from before the request: a repeated
            # request whose first answer was lost has to succeed.
            if request is not None and request.is_made(document):
                return document
            self._check_table(precondition, document)
            checked = self._checked(newest, plan)
            note = self._writer.note(AuditAction.CHANGE_SCHEMA, stream)
            done = None if checked is None else self._made(newest, checked, request, note)
            if done is not None:
                return done
        raise too_many_conflicts(identifier)

    def add_arrival_columns(self, identifier: str) -> None:
        """Add the arrival columns and options to a table that was created without them.

        Raises:
            TableNotFound: No table of that name is registered.
            DefinitionRefused: A column of the table has the name of an arrival column.
            RegistryConflict: Every attempt lost a race against other writers; try again.
            LakeError: Storage does not answer; call again.
        """
        document = self._writer.newest(identifier).value
        if lacks_arrival(document.table, self._catalog.table(identifier).schema):
            self.alter(identifier, lambda newest, _: Alteration(document=newest))

    def plan_alteration(self, identifier: str, plan: AlterationPlan) -> PlannedChange:
        """Return what `alter` would do, or the problems for which it would refuse the change. Changes nothing.

        Raises:
            TableNotFound: No table of that name is registered.
            RegistryConflict: Every attempt lost a race against other writers; try again.
        """
        for _ in range(ATTEMPTS):
            newest = self._writer.newest(identifier)
            try:
                checked = self._checked(newest, plan)
            except DefinitionRefused as error:
                return PlannedChange(problems=error.problems)
            if checked is not None:
                after, old = checked.document, checked.former_schema
                effects = effects_of_alteration(newest.value, after, old, checked.schema)
                return PlannedChange(effects=effects)
        raise too_many_conflicts(identifier)

    def _checked(
        self, newest: Versioned[TableDocument], plan: AlterationPlan
    ) -> CheckedAlteration | None:
        """Return the checked change of a plan; None when the table has changed meanwhile.

        Raises:
            DefinitionRefused: The change breaks rules on the newest state of the table.
            InvalidRequest: The plan itself refuses the newest state of the table.
        """
        table = self._catalog.table(newest.value.identifier)
        schema = table.schema
        actual = with_actual_buckets(newest.value, schema)
        try:
            checked = check_alteration(actual, table, plan(actual, schema))
        except (DefinitionRefused, InvalidRequest):
            # Document and schema are read one after the other: a refusal counts only if both were the
            # newest, or a schema newer than the document has caused it.
            if self._writer.is_newest(newest) and table.schema.id == schema.id:
                raise
            return None
        check_storable(checked.document)
        self._tested(checked.document, is_of_request=False)
        # `check_alteration` refreshes the table: another id means another schema was published.
        return checked if table.schema.id == schema.id else None

    def _made(
        self,
        newest: Versioned[TableDocument],
        checked: CheckedAlteration,
        request: NamedRequest | None,
        note: AuditNote,
    ) -> TableDocument | None:
        """Apply a change; None when another process has changed the table first."""
        before, after, schema = newest.value, checked.document, checked.schema
        table = self._catalog.table(before.identifier)
        if schema.id <= table.schema.id:
            # Only the document changes; if not, another process has published a schema of this id.
            if schema != table.schema:
                return None
            if after == before:
                return before
            document = with_request(after.model_copy(update={"schema_id": schema.id}), request)
            is_written = self._writer.try_write(document, newest.version, note=note)
            return document if is_written else None
        # The document first: its version is the lock, and after a crash it lets the next writer complete
        # the change. A schema without it would be a change that no reader of the registry knows of.
        proposal = with_pending(before, after, schema, request=request)
        if not self._writer.try_write(proposal, newest.version, note=note):
            return None
        if not table.publish_schema(schema):
            return None
        done = with_applied(proposal)
        # The change is in effect. If this write fails, another process has completed the change or the
        # next writer will.
        with suppress(LakeError):
            self._writer.try_write(done, newest.version + 1, note=None)
        return done

    def _check_table(self, precondition: Precondition, document: TableDocument) -> None:
        """Raise unless a condition on a table holds for its document, which is about to be replaced."""
        if precondition != NO_PRECONDITION:  # without one, the schema is not read
            schema_id = self._catalog.table(document.identifier).schema.id
            precondition.check(table_revision(document, schema_id=schema_id))

    def _tested(self, document: TableDocument, *, is_of_request: bool = True) -> TableDocument:
        """Return a document that is about to be written, whose required tests do not fail.

        Args:
            document: The document.
            is_of_request: Whether the request has the table's declaration, so that problems point into it.

        Raises:
            DefinitionRefused: A required test fails.
        """
        problems = self._failed_tests(document)
        if problems:
            if not is_of_request:
                problems = [
                    one.model_copy(update={"pointer": None, "field": f"table.{one.field}"})
                    for one in problems
                ]
            message = f"the tests of {document.identifier} do not pass"
            raise DefinitionRefused(message, problems=problems)
        return document

    def _failed_tests(self, document: TableDocument) -> list[FieldProblem]:
        return [] if self._check_tests is None else self._check_tests(document)
