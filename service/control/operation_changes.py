"""Cancellation and deletion of operations, with their entries in the audit log."""

from braid.registry.errors import RegistryConflict
from braid.registry.store.audit_log import AuditLog, AuditNote
from braid.registry.store.operations import OperationStore
from braid.registry.store.revision import Precondition, revision_of
from braid.schemas import Actor, AuditAction, AuditChange, OperationDocument
from braid.schemas.field_problems import json_pointer


def cancel_operation(
    operations: OperationStore, operation_id: str, *, audit: AuditLog, actor: Actor
) -> OperationDocument:
    """Request that an operation ends before it is complete, and return it; no effect if it has ended.

    Raises:
        OperationNotFound: There is no such operation.
        RegistryConflict: Every attempt lost a race.
    """
    found = operations.get(operation_id)
    if found.state.is_final or found.cancel_requested:
        return found
    change = AuditChange(
        pointer=json_pointer(("operations", operation_id, "cancel_requested")),
        before=False,
        after=True,
    )
    note = AuditNote(actor=actor, action=AuditAction.CANCEL_OPERATION)
    audit.record(note, found.identifier, changes=(change,))
    return operations.change(
        operation_id, lambda newest: newest.model_copy(update={"cancel_requested": True})
    )


def delete_operation(
    operations: OperationStore,
    operation_id: str,
    *,
    audit: AuditLog,
    actor: Actor,
    precondition: Precondition,
) -> None:
    """Delete the document of an operation that has ended, which does not change any more.

    Raises:
        OperationNotFound: There is no such operation.
        PreconditionFailed: The condition does not hold.
        RegistryConflict: It has not ended.
    """
    found = operations.get(operation_id)
    precondition.check(revision_of(found))
    if not found.state.is_final:
        message = (
            f"the operation {operation_id} has not ended\n"
            "hint: cancel it, and wait until its state is final"
        )
        raise RegistryConflict(message)
    change = AuditChange(
        pointer=json_pointer(("operations", operation_id)), before=found.state.value
    )
    note = AuditNote(actor=actor, action=AuditAction.DELETE_OPERATION)
    audit.record(note, found.identifier, changes=(change,))
    operations.delete(operation_id)
