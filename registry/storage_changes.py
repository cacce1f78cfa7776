"""Changes of what a table is stored as, tags, buckets and snapshots, as the audit log has them."""

from typing import Final, TypeAlias

from braid.lake import Table
from braid.schemas import (
    AuditAction,
    AuditChange,
    CompactionRequest,
    OperationDocument,
    OrphanCleaningRequest,
    RescaleRequest,
    RollbackRequest,
    SnapshotExpiryRequest,
    TagDeletionRequest,
)
from braid.schemas.field_problems import json_pointer

Maintenance: TypeAlias = CompactionRequest | SnapshotExpiryRequest | OrphanCleaningRequest
_MAINTENANCE: Final = {
    "compaction": AuditAction.COMPACT_TABLE,
    "snapshot_expiry": AuditAction.EXPIRE_SNAPSHOTS,
    "orphan_cleaning": AuditAction.CLEAN_ORPHAN_FILES,
}


def tag_change(
    name: str, *, before: int | None = None, after: int | str | None = None
) -> AuditChange:
    """Return the change of the snapshot that a tag names; None: there is no tag."""
    return AuditChange(pointer=json_pointer(("tags", name)), before=before, after=after)


def named_snapshot(table: Table, name: str) -> int | None:
    """Return the snapshot that a tag names; None: there is no tag."""
    return next((tag.snapshot.id for tag in table.tags() if tag.name == name), None)


def buckets_change(table: Table, buckets: int) -> AuditChange:
    """Return the change of the number of buckets."""
    before = table.schema.options.get("bucket")
    return AuditChange(pointer="/table/buckets", before=before, after=buckets)


def rollback_change(table: Table, target: int | str | None) -> AuditChange:
    """Return the change of the newest snapshot by a rollback to a snapshot or a tag."""
    newest = table.latest_snapshot()
    before = None if newest is None else newest.id
    return AuditChange(pointer="/snapshot", before=before, after=target)


def operation_change(
    table: Table, operation: OperationDocument
) -> tuple[AuditAction, AuditChange] | None:
    """Return the action and the change that an operation makes; None: a dry run, which changes nothing."""
    match operation.request:
        case TagDeletionRequest(tag=tag):
            return AuditAction.DELETE_TAG, tag_change(tag, before=named_snapshot(table, tag))
        case RescaleRequest(buckets=buckets):
            return AuditAction.RESCALE_TABLE, buckets_change(table, buckets)
        case RollbackRequest(snapshot_id=snapshot_id, tag=tag):
            target = snapshot_id if tag is None else tag
            return AuditAction.ROLL_BACK_TABLE, rollback_change(table, target)
        case CompactionRequest() | SnapshotExpiryRequest() | OrphanCleaningRequest() as request:
            return maintenance_change(request, json_pointer(("operations", operation.id)))


def maintenance_change(
    request: Maintenance, pointer: str | None = None
) -> tuple[AuditAction, AuditChange] | None:
    """Return the action and the change that maintenance of a table makes; None: a dry run, which changes nothing.

    Args:
        request: The work.
        pointer: JSON pointer of the operation that does it; None: a command does it, and the pointer is the kind of work.
    """
    if not isinstance(request, CompactionRequest) and request.dry_run:
        return None
    after = request.model_dump(mode="json")
    change = AuditChange(pointer=pointer or json_pointer((request.kind,)), after=after)
    return _MAINTENANCE[request.kind], change
