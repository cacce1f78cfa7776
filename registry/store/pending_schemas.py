"""Pending schema changes: one change of both a table's document and its schema files.

A change takes three steps, each an exclusive creation of a file:

1. The document gets a version that holds the change as `pending`: the schema file to create, and the
   content of the document after the change.
2. The schema file is created. This is the moment of the change: `effective_document` returns the
   content before the change until then, and the content after the change from then on.
3. The document gets a version in which the change is applied and nothing is pending.

A process that stops between two steps leaves a valid document. The next process that changes the
document completes steps 2 and 3 first. It never withdraws a pending change, because the process that
proposed it may be about to create the schema file. A pending change is dropped only when another schema
has its id, because its own file can then never be created.

Pure: the functions here make the documents of these steps, with the names of applied requests;
`alteration/table_alterer` and `document_writer` take the steps.
"""

from collections.abc import Callable
from typing import Final

from braid.lake import TableSchema, parse_schema, serialize_schema
from braid.registry.store.named_request import NamedRequest
from braid.registry.store.stored_documents import with_table_features
from braid.schemas import AppliedChange, PendingSchema, TableDocument

APPLIED_MAX: Final = 200
"""Named changes that a document remembers: more than are made until a client has repeated a request that got no answer."""

FindSchema = Callable[[int], TableSchema | None]
"""Returns the table's schema of an id; None while there is none."""


def with_pending(
    before: TableDocument,
    after: TableDocument,
    schema: TableSchema,
    *,
    request: NamedRequest | None,
) -> TableDocument:
    """Return the document that proposes a change.

    Args:
        before: The document so far.
        after: The document after the change.
        schema: The planned schema, not created yet.
        request: The request for the change; None when it has no name.

    Requires:
        Nothing is pending in the document.
    """
    assert before.pending is None, before.identifier
    assert schema.id > before.schema_id, before.identifier
    pending = PendingSchema(
        schema_id=schema.id,
        schema_file=serialize_schema(schema).decode(),
        table=after.table,
        streams=after.streams,
        key=None if request is None else request.key,
        digest=None if request is None else request.digest,
    )
    return with_table_features(before.model_copy(update={"pending": pending}))


def proposed_schema(pending: PendingSchema) -> TableSchema:
    """Return the schema that a pending change has to create."""
    return parse_schema(pending.schema_file.encode())


def effective_document(document: TableDocument, find_schema: FindSchema) -> TableDocument:
    """Return the document that is in effect now, with nothing pending.

    Args:
        document: The document as stored.
        find_schema: Finds a schema of the document's table; called only while a change is pending.
    """
    pending = document.pending
    if pending is None:
        return document
    # The whole schema is compared, not its id: another process may have created one of that id.
    is_made = find_schema(pending.schema_id) == proposed_schema(pending)
    effective = with_applied(document) if is_made else without_pending(document)
    assert effective.pending is None, "readers see the document before or after a change"
    return effective


def with_applied(document: TableDocument) -> TableDocument:
    """Return the document after its pending change."""
    pending = document.pending
    assert pending is not None, document.identifier
    after = document.model_copy(
        update={
            "table": pending.table,
            "streams": pending.streams,
            "schema_id": pending.schema_id,
            "pending": None,
        }
    )
    after = with_table_features(after)
    if pending.key is None:
        return after
    return _with_applied_change(
        after,
        AppliedChange(key=pending.key, digest=pending.digest, schema_id=pending.schema_id),
    )


def with_request(document: TableDocument, request: NamedRequest | None) -> TableDocument:
    """Return the document with the request that led to its schema among the applied ones."""
    if request is None:
        return document
    return _with_applied_change(document, request.applied(document.schema_id))


def _with_applied_change(document: TableDocument, change: AppliedChange) -> TableDocument:
    applied = (*document.applied, change)
    return document.model_copy(update={"applied": applied[-APPLIED_MAX:]})


def without_pending(document: TableDocument) -> TableDocument:
    """Return the document as it was before its pending change."""
    return with_table_features(document.model_copy(update={"pending": None}))
