"""Changes of a table's document: by itself, or together with the table's schema.

A change is a function of the newest document, called anew whenever somebody else was faster. A schema
change that somebody has left half made is completed before (`pending_schemas`).
"""

from collections.abc import Callable
from contextlib import suppress

from lake import Catalog, InvalidRequest, LakeError, TableNotFound
from registry import names
from registry.alteration import (
    AlterationPlan,
    CheckedAlteration,
    check_alteration,
    with_actual_buckets,
)
from registry.documents import RegistryStore
from registry.errors import DefinitionRefused, RegistryConflict
from registry.pending_schemas import (
    noted,
    proposed_schema,
    with_applied,
    with_pending,
    without_pending,
)
from registry.revision import NO_PRECONDITION, Precondition, revision_of
from registry.versions import Versioned
from schemas import TableDocument

ATTEMPTS = 20  # a table's document changes by hand: so many lost races mean something is wrong


class DocumentWriter:
    """Changes the documents of one warehouse, and schemas with them."""

    def __init__(self, store: RegistryStore, catalog: Catalog) -> None:
        self._store = store
        self._catalog = catalog

    def change(
        self, identifier: str, change: Callable[[TableDocument], TableDocument]
    ) -> TableDocument:
        """Write what a change makes of the newest document, and return it.

        Raises:
            TableNotFound: No table of that name is registered.
            RegistryConflict: Others go on changing it.
            DefinitionRefused: The document cannot be written.
        """
        for _ in range(ATTEMPTS):
            newest = self._settled(identifier)
            document = change(newest.value)
            if document == newest.value or self._is_written(document, newest.version):
                return document
        raise too_many_conflicts(identifier)

    def alter(
        self,
        identifier: str,
        plan: AlterationPlan,
        *,
        precondition: Precondition = NO_PRECONDITION,
        key: str | None = None,
    ) -> TableDocument:
        """Change a table's schema and what is declared of it, both or neither.

        Args:
            identifier: `<database>.<table>`.
            plan: What is to become of it.
            precondition: What the caller has seen of the document.
            key: The request's name for the change: a change of that name is made once.

        Returns:
            The document as the change has made it; the newest one where nothing changes.

        Raises:
            TableNotFound: No table of that name is registered.
            DefinitionRefused: The change breaks rules; `problems` has all of them.
            PreconditionFailed: What the caller has seen is not what is there.
            RegistryConflict: Others go on changing it.
            LakeError: The storage does not answer: the change was made or not, and is never half.
        """
        for _ in range(ATTEMPTS):
            newest = self._settled(identifier)
            document = newest.value
            if key is not None and any(change.key == key for change in document.applied):
                return document
            precondition.check(revision_of(document))
            checked = self._checked(newest, plan)
            done = None if checked is None else self._made(newest, checked, key)
            if done is not None:
                return done
        raise too_many_conflicts(identifier)

    def check(self, identifier: str, plan: AlterationPlan) -> None:
        """Raise what `alter` would refuse; changes nothing.

        Raises:
            TableNotFound: No table of that name is registered.
            DefinitionRefused: As `alter`.
            RegistryConflict: Others go on changing it.
        """
        for _ in range(ATTEMPTS):
            found = self._store.table(identifier) if names.is_identifier(identifier) else None
            if found is None:
                raise not_registered(identifier)
            if self._checked(found, plan) is not None:
                return
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
            if self._is_newest(newest) and table.schema.id == schema.id:
                raise
            return None
        check_storable(checked.document)
        return checked if table.schema.id == schema.id else None

    def _is_newest(self, known: Versioned[TableDocument]) -> bool:
        stored = self._store.stored(known.value.identifier)
        return stored is not None and stored.version == known.version

    def _made(
        self, newest: Versioned[TableDocument], checked: CheckedAlteration, key: str | None
    ) -> TableDocument | None:
        """Make a change; None when somebody else was faster."""
        before, after, schema = newest.value, checked.document, checked.schema
        table = self._catalog.table(before.identifier)
        if schema.id <= table.schema.id:
            if schema != table.schema:
                return None
            if after == before:
                return before
            document = noted(after.model_copy(update={"schema_id": schema.id}), key)
            return document if self._is_written(document, newest.version) else None
        proposal = with_pending(before, after, schema, key=key)
        if not self._is_written(proposal, newest.version):
            return None
        if not table.publish_schema(schema):
            return None
        done = with_applied(proposal)
        # The change is made. If this fails somebody has completed it already, or the next one will.
        with suppress(LakeError):
            self._is_written(done, newest.version + 1)
        return done

    def _settled(self, identifier: str) -> Versioned[TableDocument]:
        """Return the newest document, with nothing pending any more."""
        for _ in range(ATTEMPTS):
            # A name that nothing can have is not asked of storage: it may be no path there.
            is_possible = names.is_identifier(identifier)
            stored = self._store.stored(identifier) if is_possible else None
            if stored is None:
                raise not_registered(identifier)
            pending = stored.value.pending
            if pending is None:
                return stored
            table = self._catalog.table(identifier)
            is_made = table.publish_schema(proposed_schema(pending))
            document = with_applied(stored.value) if is_made else without_pending(stored.value)
            if self._is_written(document, stored.version):
                return Versioned(version=stored.version + 1, value=document)
        raise too_many_conflicts(identifier)

    def _is_written(self, document: TableDocument, expected_version: int) -> bool:
        check_storable(document)
        try:
            self._store.put_table(document, expected_version=expected_version)
        except RegistryConflict:
            return False
        return True


def not_registered(identifier: str) -> TableNotFound:
    """Return the error of a table that is not registered."""
    message = f"no table {identifier} is registered"
    return TableNotFound(message)


def too_many_conflicts(identifier: str) -> RegistryConflict:
    """Return the error of a document that others go on changing."""
    message = f"the document of {identifier} changed {ATTEMPTS} times while it was being changed"
    return RegistryConflict(message)


def check_storable(document: TableDocument) -> None:
    """Refuse what could be written and then not be answered.

    Raises:
        DefinitionRefused: It is such a document.
    """
    try:
        revision_of(document)
    except TypeError as error:  # half of a surrogate pair: text to JSON, and none to UTF-8
        message = f"the declaration of {document.identifier} cannot be written: {error}"
        raise DefinitionRefused(message) from error
