"""Writer of tables' documents: compare-and-swap with retries.

A change is a function of the newest document; after a lost race it is called again. A schema change that
another process has left incomplete is completed first (`pending_schemas`). A document that needs features which this
version lacks is not changed.

A writer acts for an *actor*, whom the audit log names in the entry of each change.
"""

from collections.abc import Callable

from braid.lake import Catalog, TableNotFound
from braid.registry import names
from braid.registry.errors import DefinitionRefused, RegistryConflict
from braid.registry.store.audit_log import AuditNote
from braid.registry.store.documents import RegistryStore
from braid.registry.store.named_request import NamedRequest
from braid.registry.store.pending_schemas import (
    proposed_schema,
    with_applied,
    with_request,
    without_pending,
)
from braid.registry.store.revision import revision_of
from braid.registry.store.stored_documents import features_missing, missing_features
from braid.registry.store.versions import Versioned
from braid.schemas import Actor, AuditAction, TableDocument

ATTEMPTS = 20  # people change documents, and rarely: this many lost races in a row are a defect


class DocumentWriter:
    """Reads and changes the documents of one warehouse."""

    def __init__(
        self,
        store: RegistryStore,
        catalog: Catalog,
        *,
        actor: Actor,
        request: NamedRequest | None = None,
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._actor = actor
        self._request = request

    @property
    def request(self) -> NamedRequest | None:
        """The request whose changes are made, once each table; None: it has no name."""
        return self._request

    def by(self, actor: Actor) -> "DocumentWriter":
        """Return a writer that acts for another actor."""
        return DocumentWriter(self._store, self._catalog, actor=actor, request=self._request)

    def named(self, request: NamedRequest | None) -> "DocumentWriter":
        """Return a writer that makes the changes of a named request."""
        return DocumentWriter(self._store, self._catalog, actor=self._actor, request=request)

    def newest(self, identifier: str) -> Versioned[TableDocument]:
        """Return the newest document in effect and its version (`effective_document`).

        Raises:
            TableNotFound: No table of that name is registered.
        """
        return _registered(identifier, self._store.table)

    def note(self, action: AuditAction, stream: str | None = None) -> AuditNote:
        """Return what the audit log says of a change by this writer's actor."""
        return AuditNote(actor=self._actor, action=action, stream=stream)

    def change(
        self,
        identifier: str,
        change: Callable[[TableDocument], TableDocument],
        *,
        action: AuditAction | None,
        stream: str | None = None,
    ) -> TableDocument:
        """Apply a change to the newest document, write the result and return it.

        If the request has a name and has made its change before, the newest document is returned as it is.

        Args:
            identifier: `<database>.<table>`.
            change: Returns the changed document; called again with the newest one after a lost race.
            action: The kind of change for the audit log; None: nobody has requested it, so the log does not have it.
            stream: The stream that the change concerns; None: the whole table.

        Raises:
            TableNotFound: No table of that name is registered.
            KeyReused: Another request has used the name.
            FeaturesMissing: This version must not change the document.
            RegistryConflict: Every attempt lost a race against other writers.
            DefinitionRefused: The document cannot be written.
        """
        note = None if action is None else self.note(action, stream)
        for _ in range(ATTEMPTS):
            newest = self.settled(identifier)
            assert newest.value.pending is None, "a change starts from a settled document"
            if self._request is not None and self._request.is_made(newest.value):
                return newest.value
            document = change(newest.value)
            assert document.identifier == identifier, "a change renames no table"
            if document != newest.value:
                document = with_request(document, self._request)
            if document == newest.value or self.try_write(document, newest.version, note=note):
                return document
        raise too_many_conflicts(identifier)

    def settled(self, identifier: str) -> Versioned[TableDocument]:
        """Complete a pending schema change if there is one, and return the newest document.

        Raises:
            TableNotFound: No table of that name is registered.
            FeaturesMissing: This version must not change the document.
            RegistryConflict: Every attempt lost a race against other writers.
        """
        for _ in range(ATTEMPTS):
            stored = _registered(identifier, self._store.stored)
            check_features(stored.value)
            pending = stored.value.pending
            if pending is None:
                return stored
            table = self._catalog.table(identifier)
            # True also if the proposing process has created this very schema meanwhile.
            is_made = table.publish_schema(proposed_schema(pending))
            document = with_applied(stored.value) if is_made else without_pending(stored.value)
            # The proposal has the entry of a change that is made.
            note = None if is_made else self.note(AuditAction.WITHDRAW_SCHEMA_CHANGE)
            if self.try_write(document, stored.version, note=note):
                return Versioned(version=stored.version + 1, value=document)
        raise too_many_conflicts(identifier)

    def is_newest(self, known: Versioned[TableDocument]) -> bool:
        """Return whether a document is still the newest one."""
        stored = self._store.stored(known.value.identifier)
        return stored is not None and stored.version == known.version

    def try_write(
        self, document: TableDocument, expected_version: int, *, note: AuditNote | None
    ) -> bool:
        """Write a document as the version after the expected one; return False if that is taken.

        Args:
            document: The whole document.
            expected_version: The version that the document was made from.
            note: What the audit log says of the change; None: nothing.

        Raises:
            DefinitionRefused: The document cannot be written.
        """
        check_storable(document)
        try:
            self._store.put_table(document, expected_version=expected_version, note=note)
        except RegistryConflict:
            return False
        return True


def too_many_conflicts(identifier: str) -> RegistryConflict:
    """Return the error for a change of a document that lost every race."""
    message = f"the document of {identifier} changed {ATTEMPTS} times while it was being changed"
    return RegistryConflict(message)


def check_storable(document: TableDocument) -> None:
    """Refuse a document that could be written but not returned by the service.

    Raises:
        DefinitionRefused: The document contains text that is not UTF-8.
    """
    try:
        revision_of(document)
    except TypeError as error:  # half of a surrogate pair: valid in JSON, invalid in UTF-8
        message = f"the declaration of {document.identifier} cannot be written: {error}"
        raise DefinitionRefused(message) from error


def check_features(document: TableDocument) -> None:
    """Refuse to change a document that needs features which this version lacks.

    Raises:
        FeaturesMissing: The document or one of its streams needs such a feature.
    """
    missing = missing_features(document)
    if missing:
        what = f"the declaration of {document.identifier}"
        raise features_missing(what, missing)


def _registered(
    identifier: str, read: Callable[[str], Versioned[TableDocument] | None]
) -> Versioned[TableDocument]:
    # An invalid name is not looked up: as a path on storage it could lead out of the directory.
    found = read(identifier) if names.is_identifier(identifier) else None
    if found is None:
        message = f"no table {identifier} is registered"
        raise TableNotFound(message)
    return found
