"""Operations on what a table is stored as: snapshots, tags and compactions, and long work on them.

Long work returns at once; `ServiceOperations.get_operation` shows how far it is.
"""

from typing import Final
from uuid import uuid4

from braid.client.answers import as_model
from braid.client.operation import Call, JsonObject, Resource, operation
from braid.schemas import (
    CompactionRequest,
    OperationView,
    OrphanCleaningRequest,
    RescaleRequest,
    RollbackRequest,
    SnapshotExpiryRequest,
)
from braid.schemas.api import Validation
from braid.schemas.snapshots import (
    CompactionList,
    SnapshotList,
    SnapshotView,
    TagList,
    TagRequest,
    TagView,
)

_TABLE: Final = "/v1/tables/{database}/{table}"


class MaintenanceOperations(Resource):
    """Snapshots, tags, compactions and long work of a table."""

    @operation("GET", f"{_TABLE}/snapshots")
    def snapshots(
        self, *, page_size: int | None = None, page_token: str | None = None
    ) -> Call[SnapshotList]:
        """Return a page of the snapshots that are kept, the newest first."""
        query = {"page_size": page_size, "page_token": page_token}
        return Call(decode=as_model(SnapshotList), query=query)

    @operation("GET", f"{_TABLE}/snapshots/{{snapshot}}")
    def snapshot(self, snapshot: int) -> Call[SnapshotView]:
        """Return a snapshot."""
        return Call(decode=as_model(SnapshotView), names={"snapshot": str(snapshot)})

    @operation("GET", f"{_TABLE}/tags")
    def tags(self) -> Call[TagList]:
        """Return the tags, by name."""
        return Call(decode=as_model(TagList))

    @operation("GET", f"{_TABLE}/tags/{{tag}}")
    def tag(self, tag: str) -> Call[TagView]:
        """Return a tag."""
        return Call(decode=as_model(TagView), names={"tag": tag})

    @operation("PUT", f"{_TABLE}/tags/{{tag}}")
    def put_tag(
        self,
        tag: str,
        request: TagRequest | JsonObject,
        *,
        if_match: str | None = None,
        if_none_match: str | None = None,
    ) -> Call[TagView]:
        """Give a snapshot, by default the newest, a name."""
        return Call(
            decode=as_model(TagView),
            names={"tag": tag},
            body=request,
            headers={"if-match": if_match, "if-none-match": if_none_match},
            is_repeatable=if_match is None and if_none_match is None,
        )

    @operation("DELETE", f"{_TABLE}/tags/{{tag}}")
    def delete_tag(
        self, tag: str, *, if_match: str | None = None, if_none_match: str | None = None
    ) -> Call[OperationView]:
        """Delete a tag, and the files that only it needs."""
        return Call(
            decode=as_model(OperationView),
            names={"tag": tag},
            headers={"if-match": if_match, "if-none-match": if_none_match},
        )

    @operation("GET", f"{_TABLE}/compactions")
    def compactions(
        self, *, page_size: int | None = None, page_token: str | None = None
    ) -> Call[CompactionList]:
        """Return a page of the compactions of buckets, the newest first."""
        query = {"page_size": page_size, "page_token": page_token}
        return Call(decode=as_model(CompactionList), query=query)

    @operation("POST", f"{_TABLE}/compactions")
    def compact(
        self, request: CompactionRequest | JsonObject, *, idempotency_key: str | None = None
    ) -> Call[OperationView]:
        """Compact the table, or some partitions and buckets."""
        return _begun(request, idempotency_key)

    @operation("POST", f"{_TABLE}/snapshots/expire")
    def expire_snapshots(
        self, request: SnapshotExpiryRequest | JsonObject, *, idempotency_key: str | None = None
    ) -> Call[OperationView]:
        """Remove snapshots that are not retained; without `"dry_run": false` only report which ones."""
        return _begun(request, idempotency_key)

    @operation("POST", f"{_TABLE}/orphan-files/clean")
    def clean_orphan_files(
        self, request: OrphanCleaningRequest | JsonObject, *, idempotency_key: str | None = None
    ) -> Call[OperationView]:
        """Delete files that nothing needs; without `"dry_run": false` only report them."""
        return _begun(request, idempotency_key)

    @operation("POST", f"{_TABLE}/rescale")
    def rescale(
        self, request: RescaleRequest | JsonObject, *, idempotency_key: str | None = None
    ) -> Call[OperationView]:
        """Change the number of buckets."""
        return _begun(request, idempotency_key)

    @operation("POST", f"{_TABLE}/rollback")
    def roll_back(
        self,
        request: RollbackRequest | JsonObject,
        *,
        confirm: str,
        idempotency_key: str | None = None,
    ) -> Call[OperationView]:
        """Take the table, whose name `confirm` repeats, back to a snapshot or a tag; all later snapshots are lost."""
        return _begun(request, idempotency_key, confirm=confirm)

    @operation("POST", f"{_TABLE}/rollback/validate")
    def validate_rollback(self, request: RollbackRequest | JsonObject) -> Call[Validation]:
        """Return what `roll_back` would do, or why it would be refused."""
        return Call(decode=as_model(Validation), body=request, is_repeatable=True)


def _begun(
    request: CompactionRequest
    | SnapshotExpiryRequest
    | OrphanCleaningRequest
    | RescaleRequest
    | RollbackRequest
    | JsonObject,
    idempotency_key: str | None,
    *,
    confirm: str | None = None,
) -> Call[OperationView]:
    """Return the call that requests an operation, once: without a key it has a new one, for its own retries."""
    return Call(
        decode=as_model(OperationView),
        query={"confirm": confirm},
        body=request,
        headers={"idempotency-key": idempotency_key or uuid4().hex},
        is_repeatable=True,
    )
