"""Changes of a table's document.

A change is a function of the newest document, called anew whenever somebody else was faster. A schema
change that somebody has left half made is completed before (`pending_schemas`).
"""

from collections.abc import Callable

from lake import Catalog, TableNotFound
from registry.errors import DefinitionRefused, RegistryConflict
from registry.rules import names
from registry.store.documents import RegistryStore
from registry.store.pending_schemas import (
    proposed_schema,
    with_applied,
    without_pending,
)
from registry.store.revision import revision_of
from registry.store.stored_documents import features_missing, missing_features
from registry.store.versions import Versioned
from schemas import TableDocument

ATTEMPTS = 20  # a table's document changes by hand: so many lost races mean something is wrong


class DocumentWriter:
    """Reads and changes the documents of one warehouse."""

    def __init__(self, store: RegistryStore, catalog: Catalog) -> None:
        self._store = store
        self._catalog = catalog

    def newest(self, identifier: str) -> Versioned[TableDocument]:
        """Return the newest document and its version; what is pending counts as made or not.

        Raises:
            TableNotFound: No table of that name is registered.
        """
        return _registered(identifier, self._store.table)

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
            newest = self.settled(identifier)
            document = change(newest.value)
            if document == newest.value or self.try_write(document, newest.version):
                return document
        raise too_many_conflicts(identifier)

    def settled(self, identifier: str) -> Versioned[TableDocument]:
        """Return the newest document, after what was pending in it has been completed.

        Raises:
            TableNotFound: No table of that name is registered.
            FeaturesMissing: This version must not change it.
            RegistryConflict: Others go on changing it.
        """
        for _ in range(ATTEMPTS):
            stored = _registered(identifier, self._store.stored)
            check_features(stored.value)
            pending = stored.value.pending
            if pending is None:
                return stored
            table = self._catalog.table(identifier)
            is_made = table.publish_schema(proposed_schema(pending))
            document = with_applied(stored.value) if is_made else without_pending(stored.value)
            if self.try_write(document, stored.version):
                return Versioned(version=stored.version + 1, value=document)
        raise too_many_conflicts(identifier)

    def is_newest(self, known: Versioned[TableDocument]) -> bool:
        """Return whether a document has not been changed since."""
        stored = self._store.stored(known.value.identifier)
        return stored is not None and stored.version == known.version

    def try_write(self, document: TableDocument, expected_version: int) -> bool:
        """Write a document unless another version came first; return whether it is written.

        Raises:
            DefinitionRefused: The document cannot be written.
        """
        check_storable(document)
        try:
            self._store.put_table(document, expected_version=expected_version)
        except RegistryConflict:
            return False
        return True


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


def check_features(document: TableDocument) -> None:
    """Refuse to change what needs features that this version lacks.

    Raises:
        FeaturesMissing: It is such a document.
    """
    missing = missing_features(document)
    if missing:
        what = f"the declaration of {document.identifier}"
        raise features_missing(what, missing)


def _registered(
    identifier: str, ask: Callable[[str], Versioned[TableDocument] | None]
) -> Versioned[TableDocument]:
    # A name that nothing can have is not asked of storage: it may be no path there.
    found = ask(identifier) if names.is_identifier(identifier) else None
    if found is None:
        message = f"no table {identifier} is registered"
        raise TableNotFound(message)
    return found
