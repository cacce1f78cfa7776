"""Consumers of a table, whose next snapshots do not expire: listed, set and deleted, with the last snapshot that each has read.

The list also contains leases, which can be neither set nor deleted.
"""

from contextlib import suppress

from braid.lake import ConsumerFile, InvalidRequest, LakeError, Problem, Table
from braid.lake.snapshots.lease import LEASE_PREFIX
from braid.registry.store.audit_log import AuditLog, AuditNote
from braid.registry.store.revision import NO_PRECONDITION, Precondition, revision_of
from braid.schemas import Actor, AuditAction, AuditChange
from braid.schemas.api import ConsumerList, ConsumerView
from braid.schemas.field_problems import json_pointer
from braid.service.control.confirmation import not_confirmed
from braid.service.times import iso_utc


def list_consumers(table: Table) -> ConsumerList:
    """Return consumers and leases, by id."""
    return ConsumerList(consumers=tuple(map(_view, table.consumers())))


def set_consumer(
    table: Table,
    consumer: str,
    next_snapshot_id: int,
    *,
    confirm: str | None,
    audit: AuditLog,
    actor: Actor,
    precondition: Precondition = NO_PRECONDITION,
) -> ConsumerView:
    """Set the position of a consumer, and return it.

    The precondition is checked before the write, not with it: engines replace the file of a consumer without comparing it.

    Args:
        table: The table.
        consumer: The consumer's id.
        next_snapshot_id: The first snapshot that the consumer still needs.
        confirm: The id again; without it an existing consumer is not moved.
        audit: The audit log, which gets an entry before the consumer is set.
        actor: Who sets it.
        precondition: Condition on the revision of the consumer's view.

    Raises:
        PreconditionFailed: The condition does not hold.
        InvalidRequest: The id is not valid, it is that of a lease, or the consumer exists and the
            request is not confirmed.
    """
    _refuse_lease(consumer)
    before = _found(table, consumer)
    precondition.check(None if before is None else revision_of(before))
    if confirm != consumer and before is not None:
        raise not_confirmed(consumer, "the consumer exists, and may be used by another reader")
    change = consumer_change(table, consumer, after=next_snapshot_id)
    note = AuditNote(actor=actor, action=AuditAction.PUT_CONSUMER)
    audit.record(note, table.identifier, changes=(change,))
    table.reset_consumer(consumer, next_snapshot_id)
    after = _found(table, consumer)
    assert after is not None, "it was written just now"
    return after


def remove_consumer(
    table: Table,
    consumer: str,
    *,
    confirm: str | None,
    audit: AuditLog,
    actor: Actor,
    precondition: Precondition = NO_PRECONDITION,
) -> None:
    """Delete a consumer; no effect if it does not exist. The precondition is checked before, as by `set_consumer`.

    Args:
        table: The table.
        consumer: The consumer's id.
        confirm: The id again.
        audit: The audit log, which gets an entry before the consumer is deleted.
        actor: Who deletes it.
        precondition: Condition on the revision of the consumer's view.

    Raises:
        PreconditionFailed: The condition does not hold.
        InvalidRequest: The id is that of a lease, or the request is not confirmed.
    """
    _refuse_lease(consumer)
    if confirm != consumer:
        raise not_confirmed(consumer, "the snapshots that it keeps may expire at once")
    if precondition != NO_PRECONDITION:
        before = _found(table, consumer)
        precondition.check(None if before is None else revision_of(before))
    change = consumer_change(table, consumer, after=None)
    note = AuditNote(actor=actor, action=AuditAction.DELETE_CONSUMER)
    audit.record(note, table.identifier, changes=(change,))
    table.delete_consumer(consumer)


def last_known_snapshot(table: Table, consumer: str, *, hint: str) -> int:
    """Return the last snapshot that a consumer has read; 0 before the first.

    Args:
        table: The table.
        consumer: The consumer's id.
        hint: How to create the consumer, for the error.

    Raises:
        InvalidRequest: The consumer does not exist, or cannot be read.
    """
    found = "the table has no such consumer"
    for file in table.consumers():
        if file.id == consumer and file.consumer is not None:
            return file.consumer.next_snapshot - 1
        if file.id == consumer:
            found = f"the file of the consumer cannot be read: {file.error}"
    problem = Problem(field="consumer", value=consumer, message=found, hint=hint)
    message = f"the beginning of the changes of {table.identifier} is not known"
    raise InvalidRequest(message, problems=[problem])


def consumer_change(table: Table, consumer: str, *, after: int | None) -> AuditChange:
    """Return the change of a consumer's position for the audit log; `after` is the next snapshot, None: it is deleted."""
    known = (file.consumer for file in table.consumers() if file.id == consumer)
    position = next(known, None)
    return AuditChange(
        pointer=json_pointer(("consumers", consumer, "next_snapshot_id")),
        before=None if position is None else position.next_snapshot,
        after=after,
    )


def _found(table: Table, consumer: str) -> ConsumerView | None:
    return next((_view(file) for file in table.consumers() if file.id == consumer), None)


def _refuse_lease(consumer: str) -> None:
    if consumer.startswith(LEASE_PREFIX):
        problem = Problem(
            field="consumer",
            value=consumer,
            message="this is the lease of a reader that is reading the table now",
            hint="it ends with its reader, or expires some minutes after the reader died",
        )
        text = "only the holder of a lease can move or remove it"
        raise InvalidRequest(text, problems=[problem])


def _view(file: ConsumerFile) -> ConsumerView:
    consumer = file.consumer
    deadline_ms = None if consumer is None else consumer.deadline_ms
    return ConsumerView(
        id=file.id,
        next_snapshot_id=None if consumer is None else consumer.next_snapshot,
        written_at=iso_utc(file.modified_ms),
        leased_until=None if deadline_ms is None else iso_utc(deadline_ms),
        holder=None if consumer is None else consumer.holder,
        error=file.error,
    )


def end_lease(table: Table, lease_id: str) -> None:
    """End the lease of the pages of a request, unless it has ended already."""
    # The lease also expires by itself, so a failure here does not withhold the page.
    with suppress(LakeError):
        for file in table.consumers():
            # A forged token may name any id, so only leases are deleted, never positions of consumers.
            if file.id == lease_id and file.is_lease:
                table.delete_consumer(lease_id)
