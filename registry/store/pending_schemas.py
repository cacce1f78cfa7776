"""Schema changes between their two stores: the table's document, and its schema files.

A change is made in three steps, each an exclusive creation of a file:

1. the document gets a version that holds the change as `pending`: the schema file that is to come,
   and what the document is from then on;
2. the schema file is created. This is the moment of the change: `effective_document` shows the
   document as it was before it, and as it is to be after it;
3. the document gets a version in which the change is made and nothing is pending.

Whoever stops between two steps leaves a document that is right all the same. Whoever changes the
document next completes steps 2 and 3 first: a pending change is never withdrawn, because who
proposed it may be about to create the file. It is dropped only when another schema has the number:
then the file can never come.
"""

from collections.abc import Callable
from typing import Final

from lake import TableSchema, parse_schema, serialize_schema
from registry.store.named_request import NamedRequest
from schemas import AppliedChange, PendingSchema, TableDocument

APPLIED_MAX: Final = 50
"""So many named changes are remembered: more than anybody repeats late."""

FindSchema = Callable[[int], TableSchema | None]
"""Returns the table's schema of an id; None when it has not come to it."""


def with_pending(
    before: TableDocument,
    after: TableDocument,
    schema: TableSchema,
    *,
    request: NamedRequest | None,
) -> TableDocument:
    """Return the document that proposes a change.

    Args:
        before: The document as it is; nothing is pending.
        after: What it is once the schema is there.
        schema: As planned.
        request: Who asks for the change; None: it has no name.
    """
    assert before.pending is None, before.identifier
    pending = PendingSchema(
        schema_id=schema.id,
        schema_file=serialize_schema(schema).decode(),
        table=after.table,
        streams=after.streams,
        key=None if request is None else request.key,
        digest=None if request is None else request.digest,
    )
    return before.model_copy(update={"pending": pending})


def proposed_schema(pending: PendingSchema) -> TableSchema:
    """Return the schema that a pending change waits for."""
    return parse_schema(pending.schema_file.encode())


def effective_document(document: TableDocument, find_schema: FindSchema) -> TableDocument:
    """Return what is declared now, with nothing pending.

    Args:
        document: As it is stored.
        find_schema: Of its table; asked only while a change is pending.
    """
    pending = document.pending
    if pending is None:
        return document
    is_made = find_schema(pending.schema_id) == proposed_schema(pending)
    return with_applied(document) if is_made else without_pending(document)


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
    if pending.key is None:
        return after
    return _remembering(
        after,
        AppliedChange(key=pending.key, digest=pending.digest, schema_id=pending.schema_id),
    )


def noted(document: TableDocument, request: NamedRequest | None) -> TableDocument:
    """Return the document, which remembers the request that led to its schema."""
    if request is None:
        return document
    return _remembering(document, request.applied(document.schema_id))


def _remembering(document: TableDocument, change: AppliedChange) -> TableDocument:
    applied = (*document.applied, change)
    return document.model_copy(update={"applied": applied[-APPLIED_MAX:]})


def without_pending(document: TableDocument) -> TableDocument:
    """Return the document as it was before its pending change."""
    return document.model_copy(update={"pending": None})
