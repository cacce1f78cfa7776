"""Routes that request an operation on a table: compaction, expiry, orphan cleaning, rescale, deletion of a tag, rollback; and the dry run of a rollback.

Each request of an operation is answered 202 with the operation, whose address is in the header `location`.
"""

import hashlib
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Depends, Request, Response

from braid.registry.effects import PlannedChange, refused_change
from braid.registry.errors import StreamNotStopped
from braid.registry.stopped_streams import check_streams_stopped
from braid.registry.storage_changes import operation_change
from braid.registry.store.audit_log import AuditNote
from braid.registry.store.revision import revision_of
from braid.schemas import (
    CompactionRequest,
    OperationDocument,
    OperationView,
    OrphanCleaningRequest,
    RescaleRequest,
    RollbackRequest,
    SnapshotExpiryRequest,
    TagDeletionRequest,
)
from braid.schemas.api import Validation
from braid.service.checked_body import CheckedBody
from braid.service.components import Components
from braid.service.control.confirmation import not_confirmed
from braid.service.control.operation_pages import operation_view
from braid.service.control.rollback_plan import effects_of_rollback, rollback_target
from braid.service.control.snapshot_resources import find_tag
from braid.service.dependencies import (
    ActorOf,
    ComponentsOf,
    Confirm,
    PreconditionOf,
    set_etag,
)
from braid.service.operations.operation_work import table_created_ms
from braid.service.principal import ANYONE
from braid.service.routes.planned_change import validation_of
from braid.service.scope_requests import named_request_of

router = APIRouter(
    prefix="/v1/tables/{database}/{table}", tags=["operations"], route_class=CheckedBody
)

_ID_DIGITS = 20


class Requests:
    """Requests of one client for operations on one table."""

    def __init__(
        self,
        components: ComponentsOf,
        actor: ActorOf,
        request: Request,
        response: Response,
        database: str,
        table: str,
    ) -> None:
        self.components: Components = components
        self.table = components.tables.get(f"{database}.{table}")
        self._database, self._table = database, table
        self._actor = actor
        self._client = None if actor.name == ANYONE.name else actor.name
        self._named = named_request_of(request.scope)
        self._response = response

    def begin(self, work: Any) -> OperationView:
        """Store an operation and return it; a process of the service begins it at once."""
        operation = OperationDocument(
            id=f"{self.table.identifier}.{self._digits()}",
            database=self._database,
            table=self._table,
            request=work,
            created_ms=self.components.clock.now_ms(),
            table_created_ms=table_created_ms(self.table),
            requested_by=self._client,
        )
        stored = self.components.operations.create(
            operation, announce=lambda: self._announce(operation)
        )
        self.components.operation_pool.look_soon()
        self._response.headers["location"] = f"/v1/operations/{stored.id}"
        set_etag(self._response, revision_of(stored))
        return self.components.shown(operation_view(stored))

    def _announce(self, operation: OperationDocument) -> None:
        """Write the entry of the audit log, unless the operation is a dry run."""
        changed = operation_change(self.table, operation)
        if changed is not None:
            action, change = changed
            note = AuditNote(actor=self._actor, action=action)
            audit = self.components.registry.audit
            audit.record(note, operation.identifier, changes=(change,))

    def _digits(self) -> str:
        """Return the unique part of the id; that of a request with an idempotency key follows from the key, so that it is stored once."""
        if self._named is None:
            return uuid4().hex[:_ID_DIGITS]
        name = f"{self._named.key}\0{self._named.digest}".encode()
        return hashlib.sha256(name).hexdigest()[:_ID_DIGITS]


RequestsOf = Annotated[Requests, Depends(Requests)]


@router.post("/compactions", status_code=202)
def compact_table(requests: RequestsOf, body: CompactionRequest) -> OperationView:
    """Compact the table, or some of its partitions and buckets, while streams run."""
    return requests.begin(body)


@router.post("/snapshots/expire", status_code=202)
def expire_snapshots(requests: RequestsOf, body: SnapshotExpiryRequest) -> OperationView:
    """Remove snapshots that are not retained; without `"dry_run": false` only report which ones."""
    return requests.begin(body)


@router.post("/orphan-files/clean", status_code=202)
def clean_orphan_files(requests: RequestsOf, body: OrphanCleaningRequest) -> OperationView:
    """Delete files that nothing in the table needs; without `"dry_run": false` only report them."""
    return requests.begin(body)


@router.post("/rescale", status_code=202)
def rescale_table(requests: RequestsOf, body: RescaleRequest) -> OperationView:
    """Change the number of buckets, while streams run."""
    return requests.begin(body)


@router.delete("/tags/{tag}", status_code=202)
def delete_tag(requests: RequestsOf, precondition: PreconditionOf, tag: str) -> OperationView:
    """Delete a tag, and the files that only it needs."""
    found = find_tag(requests.table, tag)
    precondition.check(revision_of(found))
    return requests.begin(TagDeletionRequest(tag=tag, snapshot_id=found.snapshot_id))


@router.post("/rollback", status_code=202)
def roll_back_table(
    requests: RequestsOf, body: RollbackRequest, confirm: Confirm = None
) -> OperationView:
    """Take the table back to a snapshot or a tag; its streams have to be stopped, and all later snapshots are lost."""
    identifier = requests.table.identifier
    if confirm != identifier:
        raise not_confirmed(identifier, "all snapshots after the target are lost")
    rollback_target(requests.table, body)
    components = requests.components
    check_streams_stopped(
        components.file_io, components.settings.warehouse, identifier, clock=components.clock
    )
    return requests.begin(body)


@router.post("/rollback/validate")
def validate_rollback(
    components: ComponentsOf, database: str, table: str, body: RollbackRequest
) -> Validation:
    """Return what the rollback would do, or why it would be refused; changes nothing."""
    found = components.tables.get(f"{database}.{table}")
    target = rollback_target(found, body)
    try:
        check_streams_stopped(
            components.file_io,
            components.settings.warehouse,
            found.identifier,
            clock=components.clock,
        )
    except StreamNotStopped as error:
        planned = refused_change(error, field="table")
    else:
        planned = PlannedChange(effects=effects_of_rollback(found, target))
    return components.shown(validation_of(planned))
