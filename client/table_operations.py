"""Operations on tables: declaration, schema changes, maintenance and metadata."""

from typing import Final
from uuid import uuid4

from braid.client.answers import TableAnswer, as_model, as_model_unless_known, nothing
from braid.client.operation import Call, JsonObject, Resource, operation, patch_call
from braid.client.row_operations import Timestamp, time_text
from braid.schemas import (
    AuditPage,
    MaintenanceStatus,
    SchemaChanges,
    TableHistory,
    TableSpec,
    TableTestReport,
    TableTestRequest,
)
from braid.schemas.api import SchemaList, StreamList, TableInspection, Validation
from braid.schemas.merge_patch import MergePatch

NO_CASES: Final = TableTestRequest()
_TABLE: Final = "/v1/tables/{database}/{table}"


class TableOperations(Resource):
    """A table: its declaration, its schema, its streams, and what it is made of."""

    @operation("PUT", _TABLE)
    def put(
        self,
        spec: TableSpec | JsonObject,
        *,
        if_match: str | None = None,
        if_none_match: str | None = None,
    ) -> Call[TableAnswer]:
        """Create the table, or change its rules of row status; `if_none_match="*"` only creates.

        Raises:
            Conflict: The table exists with another declaration.
            InvalidRequest: The declaration is refused; `errors` has each reason.
        """
        return Call(
            decode=as_model(TableAnswer),
            body=spec,
            headers={"if-match": if_match, "if-none-match": if_none_match},
            is_repeatable=if_match is None and if_none_match is None,
        )

    @operation("GET", _TABLE)
    def get(self) -> Call[TableAnswer]:
        """Return the declaration of the table, and all its columns."""
        return Call(decode=as_model(TableAnswer))

    @operation("GET", _TABLE)
    def get_if_changed(self, etag: str) -> Call[TableAnswer | None]:
        """Return the table; None if it has not changed since an answer with this `etag`."""
        return Call(decode=as_model_unless_known(TableAnswer), headers={"if-none-match": etag})

    @operation("PATCH", _TABLE)
    def patch(
        self,
        patch: MergePatch | JsonObject,
        *,
        if_match: str | None = None,
        if_none_match: str | None = None,
    ) -> Call[TableAnswer]:
        """Change only the fields of the declaration that the patch has, of those that `put` can change; None removes a field."""
        return patch_call(as_model(TableAnswer), patch, if_match, if_none_match)

    @operation("POST", f"{_TABLE}/validate-patch")
    def validate_patch(self, patch: MergePatch | JsonObject) -> Call[Validation]:
        """Return what `patch` would do, and the problems for which it would refuse the same changes."""
        return patch_call(as_model(Validation), patch, is_repeatable=True)

    @operation("DELETE", _TABLE)
    def drop(
        self,
        *,
        confirm: str,
        keep_data: bool = False,
        if_match: str | None = None,
        if_none_match: str | None = None,
    ) -> Call[None]:
        """Drop the table, whose name `confirm` repeats; with `keep_data` its files stay."""
        return Call(
            decode=nothing,
            query={"confirm": confirm, "keep_data": keep_data},
            headers={"if-match": if_match, "if-none-match": if_none_match},
        )

    @operation("POST", f"{_TABLE}/validate-delete")
    def validate_drop(self, *, keep_data: bool | None = None) -> Call[Validation]:
        """Return what `drop` would do, or why it would refuse."""
        return Call(decode=as_model(Validation), query={"keep_data": keep_data}, is_repeatable=True)

    @operation("POST", f"{_TABLE}/validate")
    def validate(self, spec: TableSpec | JsonObject) -> Call[Validation]:
        """Return what `put` would do, and the problems for which it would refuse a declaration."""
        return Call(decode=as_model(Validation), body=spec, is_repeatable=True)

    @operation("POST", f"{_TABLE}/schema-changes")
    def change_schema(
        self,
        changes: SchemaChanges | JsonObject,
        *,
        if_match: str | None = None,
        if_none_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> Call[TableAnswer]:
        """Make all of the changes or none, once: without an `idempotency_key` the call has a new one, for its own retries."""
        return Call(
            decode=as_model(TableAnswer),
            body=changes,
            headers={
                "if-match": if_match,
                "if-none-match": if_none_match,
                "idempotency-key": idempotency_key or uuid4().hex,
            },
            is_repeatable=True,
        )

    @operation("POST", f"{_TABLE}/schema-changes/validate")
    def validate_schema_changes(self, changes: SchemaChanges | JsonObject) -> Call[Validation]:
        """Return what `change_schema` would do, and the problems for which it would refuse changes."""
        return Call(decode=as_model(Validation), body=changes, is_repeatable=True)

    @operation("POST", f"{_TABLE}:test")
    def run_tests(self, request: TableTestRequest | JsonObject = NO_CASES) -> Call[TableTestReport]:
        """Run tests of the table, by default those of its declaration; the table is neither read nor written."""
        return Call(decode=as_model(TableTestReport), body=request, is_repeatable=True)

    @operation("GET", f"{_TABLE}/schemas")
    def schemas(self) -> Call[SchemaList]:
        """Return the schemas of the table, newest first."""
        return Call(decode=as_model(SchemaList))

    @operation("GET", f"{_TABLE}/streams")
    def streams(self) -> Call[StreamList]:
        """Return the streams of the table, by name."""
        return Call(decode=as_model(StreamList))

    @operation("GET", f"{_TABLE}/maintenance")
    def maintenance(self) -> Call[MaintenanceStatus]:
        """Return the state of the table's compaction."""
        return Call(decode=as_model(MaintenanceStatus))

    @operation("GET", f"{_TABLE}/history")
    def history(self, *, minutes: int | None = None) -> Call[TableHistory]:
        """Return series of lag, rate, duration of batches, sorted runs and completeness over the last minutes."""
        return Call(decode=as_model(TableHistory), query={"minutes": minutes})

    @operation("GET", f"{_TABLE}/inspect/{{view}}")
    def inspect(
        self,
        view: str,
        *,
        snapshot_id: int | None = None,
        tag: str | None = None,
        timestamp: Timestamp | None = None,
        last: int | None = None,
        offset: int | None = None,
        limit: int | None = None,
    ) -> Call[TableInspection]:
        """Return a page of a view of the table's metadata.

        Args:
            view: `snapshots`, `files` and so on.
            snapshot_id: The snapshot that is shown; None: the newest.
            tag: The tag whose snapshot is shown.
            timestamp: The newest snapshot committed then or before is shown.
            last: Number of snapshots, for views of the history.
            offset: Number of rows before the page.
            limit: The largest number of rows.
        """
        return Call(
            decode=as_model(TableInspection),
            names={"view": view},
            query={
                "snapshot_id": snapshot_id,
                "tag": tag,
                "timestamp": time_text(timestamp),
                "last": last,
                "offset": offset,
                "limit": limit,
            },
        )

    @operation("GET", f"{_TABLE}/audit")
    def audit(
        self,
        *,
        stream: str | None = None,
        actor: str | None = None,
        action: str | None = None,
        since: Timestamp | None = None,
        until: Timestamp | None = None,
        page_size: int | None = None,
        page_token: str | None = None,
    ) -> Call[AuditPage]:
        """Return a page of the changes of the table and its streams, newest first; see `ServiceOperations.audit`."""
        return Call(
            decode=as_model(AuditPage),
            query={
                "stream": stream,
                "actor": actor,
                "action": action,
                "since": time_text(since),
                "until": time_text(until),
                "page_size": page_size,
                "page_token": page_token,
            },
        )
