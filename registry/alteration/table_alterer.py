"""Changes of a table's document together with the table's schema.

A plan is a function of the newest document and schema, called anew whenever somebody else was faster.
"""

from contextlib import suppress

from lake import Catalog, InvalidRequest, LakeError
from registry.alteration.alteration import (
    Alteration,
    AlterationPlan,
    CheckedAlteration,
    check_alteration,
    with_actual_buckets,
)
from registry.alteration.arrival_columns import lacks_arrival
from registry.errors import DefinitionRefused
from registry.store.document_writer import (
    ATTEMPTS,
    DocumentWriter,
    check_storable,
    too_many_conflicts,
)
from registry.store.named_request import NamedRequest
from registry.store.pending_schemas import noted, with_applied, with_pending
from registry.store.revision import NO_PRECONDITION, Precondition, revision_of
from registry.store.versions import Versioned
from schemas import FieldProblem, TableDocument


class TableAlterer:
    """Changes the schemas of one warehouse, and the documents with them."""

    def __init__(self, writer: DocumentWriter, catalog: Catalog) -> None:
        self._writer = writer
        self._catalog = catalog

    def alter(
        self,
        identifier: str,
        plan: AlterationPlan,
        *,
        precondition: Precondition = NO_PRECONDITION,
        request: NamedRequest | None = None,
    ) -> TableDocument:
        """Change a table's schema and what is declared of it, both or neither.

        Safe against races, and against a crash at any point: readers see the table before or after
        the change, and whoever changes the table next completes it.

        Args:
            identifier: `<database>.<table>`.
            plan: What is to become of the newest document and schema; called at every attempt.
            precondition: What the caller has seen of the document.
            request: The request, if it has a name: it is made once.

        Returns:
            The document as the change has made it; the newest one where nothing changes.

        Raises:
            TableNotFound: No table of that name is registered.
            DefinitionRefused: The change breaks rules, or another request has had the name;
                `problems` has all of them.
            PreconditionFailed: What the caller has seen is not what is there.
            RegistryConflict: Others go on changing it; try again.
            LakeError: The storage does not answer; the same call again.
        """
        for _ in range(ATTEMPTS):
            newest = self._writer.settled(identifier)
            document = newest.value
            if request is not None and request.is_made(document):
                return document
            precondition.check(revision_of(document))
            checked = self._checked(newest, plan)
            done = None if checked is None else self._made(newest, checked, request)
            if done is not None:
                return done
        raise too_many_conflicts(identifier)

    def add_arrival_columns(self, identifier: str) -> None:
        """Give a table what the order of arrival is written to, if it was made without.

        Raises:
            TableNotFound: No table of that name is registered.
            DefinitionRefused: A column of the table has the name of one that is needed.
            RegistryConflict: Others go on changing it; try again.
            LakeError: The storage does not answer; the same call again.
        """
        document = self._writer.newest(identifier).value
        if lacks_arrival(document.table, self._catalog.table(identifier).schema):
            self.alter(identifier, lambda newest, _: Alteration(document=newest))

    def check_alteration(self, identifier: str, plan: AlterationPlan) -> list[FieldProblem]:
        """Return why `alter` would refuse; empty when it would not. Changes nothing.

        Raises:
            TableNotFound: No table of that name is registered.
            RegistryConflict: Others go on changing it.
        """
        for _ in range(ATTEMPTS):
            try:
                if self._checked(self._writer.newest(identifier), plan) is not None:
                    return []
            except DefinitionRefused as error:
                return list(error.problems)
        raise too_many_conflicts(identifier)

    def _checked(
        self, newest: Versioned[TableDocument], plan: AlterationPlan
    ) -> CheckedAlteration | None:
        """Return what a plan makes of a table; None when the table is another one by now.

        Raises:
            DefinitionRefused: The plan cannot be carried out on the table as it is.
            InvalidRequest: The plan says so by itself.
        """
        table = self._catalog.table(newest.value.identifier)
        schema = table.schema
        actual = with_actual_buckets(newest.value, schema)
        try:
            checked = check_alteration(actual, table, plan(actual, schema))
        except (DefinitionRefused, InvalidRequest):
            # The schema may be newer than the document: then what was refused may be fine.
            if self._writer.is_newest(newest) and table.schema.id == schema.id:
                raise
            return None
        check_storable(checked.document)
        return checked if table.schema.id == schema.id else None

    def _made(
        self,
        newest: Versioned[TableDocument],
        checked: CheckedAlteration,
        request: NamedRequest | None,
    ) -> TableDocument | None:
        """Make a change; None when somebody else was faster."""
        before, after, schema = newest.value, checked.document, checked.schema
        table = self._catalog.table(before.identifier)
        if schema.id <= table.schema.id:
            if schema != table.schema:
                return None
            if after == before:
                return before
            document = noted(after.model_copy(update={"schema_id": schema.id}), request)
            return document if self._writer.try_write(document, newest.version) else None
        proposal = with_pending(before, after, schema, request=request)
        if not self._writer.try_write(proposal, newest.version):
            return None
        if not table.publish_schema(schema):
            return None
        done = with_applied(proposal)
        # The change is made. If this fails somebody has completed it already, or the next one will.
        with suppress(LakeError):
            self._writer.try_write(done, newest.version + 1)
        return done
