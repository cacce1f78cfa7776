"""Operations of the service as a whole."""

from collections.abc import Sequence

from braid.client.answers import as_model, nothing
from braid.client.operation import Call, JsonObject, Resource, operation
from braid.client.row_operations import Timestamp, time_text
from braid.schemas import AuditPage, OperationList, OperationState, OperationView
from braid.schemas.api import Health, Readiness
from braid.schemas.batch_verb import BatchVerbAnswer, BatchVerbRequest
from braid.schemas.declaration_transfer import (
    DeclarationImport,
    DeclarationPage,
    ImportAnswer,
)
from braid.schemas.resource_lists import (
    AggregationList,
    ApiDescription,
    ClusterList,
    RunnerDrain,
    RunnerList,
    StreamSummaryList,
    TableList,
)


class ServiceOperations(Resource):
    """The service."""

    @operation("GET", "/health")
    def health(self) -> Call[Health]:
        """Return that the process is running."""
        return Call(decode=as_model(Health))

    @operation("GET", "/ready")
    def ready(self) -> Call[Readiness]:
        """Return that the warehouse is usable.

        Raises:
            Unavailable: It is not.
        """
        return Call(decode=as_model(Readiness))

    @operation("GET", "/v1")
    def describe(self) -> Call[ApiDescription]:
        """Return the version of the API and of the program, what the service can do, and what the client may do."""
        return Call(decode=as_model(ApiDescription))

    @operation("GET", "/v1/aggregations")
    def aggregations(self) -> Call[AggregationList]:
        """Return the aggregate functions that columns may have."""
        return Call(decode=as_model(AggregationList))

    @operation("GET", "/v1/tables")
    def tables(
        self,
        *,
        name_prefix: str | None = None,
        table: str | None = None,
        label: Sequence[str] | None = None,
        owner: str | None = None,
        state: Sequence[str] | None = None,
        sort: str | None = None,
        expand: Sequence[str] | None = None,
        page_size: int | None = None,
        page_token: str | None = None,
    ) -> Call[TableList]:
        """Return a page of the registered tables, by name or as `sort` says; `pages` returns all pages.

        Args:
            name_prefix: What the tables' names begin with.
            table: Pattern of `<database>.<table>`, such as `shop.*`.
            label: Labels that the tables have, as `name=value` or `name`.
            owner: Their owner.
            state: States, of which a stream of the table has one.
            sort: `name`, `lag`, `state` or `freshness`; with `-` the largest first.
            expand: `status`.
            page_size: The largest number of tables.
            page_token: Token of the page; None: the first.
        """
        return Call(
            decode=as_model(TableList),
            query={
                "name_prefix": name_prefix,
                "table": table,
                "label": label,
                "owner": owner,
                "state": state,
                "sort": sort,
                "expand": expand,
                "page_size": page_size,
                "page_token": page_token,
            },
        )

    @operation("GET", "/v1/streams")
    def all_streams(
        self,
        *,
        name_prefix: str | None = None,
        table: str | None = None,
        label: Sequence[str] | None = None,
        owner: str | None = None,
        state: Sequence[str] | None = None,
        sort: str | None = None,
        expand: Sequence[str] | None = None,
        page_size: int | None = None,
        page_token: str | None = None,
    ) -> Call[StreamSummaryList]:
        """Return a page of the streams of all tables; see `tables`."""
        return Call(
            decode=as_model(StreamSummaryList),
            query={
                "name_prefix": name_prefix,
                "table": table,
                "label": label,
                "owner": owner,
                "state": state,
                "sort": sort,
                "expand": expand,
                "page_size": page_size,
                "page_token": page_token,
            },
        )

    @operation("GET", "/v1/declarations")
    def declarations(
        self,
        *,
        table: str | None = None,
        page_size: int | None = None,
        page_token: str | None = None,
    ) -> Call[DeclarationPage]:
        """Return a page of the declarations of tables and streams; `pages` returns all pages.

        Args:
            table: Pattern of `<database>.<table>`, such as `shop.*`.
            page_size: The largest number of declarations.
            page_token: Token of the page; None: the first.
        """
        return Call(
            decode=as_model(DeclarationPage),
            query={"table": table, "page_size": page_size, "page_token": page_token},
        )

    @operation("POST", "/v1/declarations:import")
    def import_declarations(
        self, request: DeclarationImport | JsonObject, *, idempotency_key: str | None = None
    ) -> Call[ImportAnswer]:
        """Register tables and streams; the answer has the outcome for each."""
        return Call(
            decode=as_model(ImportAnswer),
            body=request,
            headers={"idempotency-key": idempotency_key},
            is_repeatable=idempotency_key is not None,
        )

    @operation("POST", "/v1/declarations:validate")
    def validate_declarations(self, request: DeclarationImport | JsonObject) -> Call[ImportAnswer]:
        """Return what `import_declarations` would do or refuse."""
        return Call(decode=as_model(ImportAnswer), body=request, is_repeatable=True)

    @operation("GET", "/v1/runners")
    def runners(self) -> Call[RunnerList]:
        """Return the runners that have ever reported, with their streams."""
        return Call(decode=as_model(RunnerList))

    @operation("GET", "/v1/runners/{runner}/drain")
    def get_drain(self, runner: str) -> Call[RunnerDrain]:
        """Return whether a runner is drained, and which streams it still has."""
        return Call(decode=as_model(RunnerDrain), names={"runner": runner})

    @operation("PUT", "/v1/runners/{runner}/drain")
    def drain_runner(
        self, runner: str, *, if_match: str | None = None, if_none_match: str | None = None
    ) -> Call[RunnerDrain]:
        """Drain a runner: it gives its streams away one by one, and gets none any more."""
        return _drain_change(runner, if_match, if_none_match)

    @operation("DELETE", "/v1/runners/{runner}/drain")
    def undrain_runner(
        self, runner: str, *, if_match: str | None = None, if_none_match: str | None = None
    ) -> Call[RunnerDrain]:
        """End the drain of a runner, which then gets streams again."""
        return _drain_change(runner, if_match, if_none_match)

    @operation("GET", "/v1/clusters")
    def clusters(self) -> Call[ClusterList]:
        """Return the names of the Kafka clusters and schema registries that streams may name."""
        return Call(decode=as_model(ClusterList))

    @operation("GET", "/v1/audit")
    def audit(
        self,
        *,
        table: str | None = None,
        stream: str | None = None,
        actor: str | None = None,
        action: str | None = None,
        since: Timestamp | None = None,
        until: Timestamp | None = None,
        page_size: int | None = None,
        page_token: str | None = None,
    ) -> Call[AuditPage]:
        """Return a page of the audit log, newest entry first; `pages` returns all pages.

        Args:
            table: `<database>.<table>`; None: all tables. Other filters that are None allow everything, too.
            stream: Name of a stream.
            actor: Name of a token or user.
            action: The kind of change, such as `put_stream`.
            since: The earliest time.
            until: The time before which the entries are.
            page_size: The largest number of entries.
            page_token: Token of the page; None: the first page.
        """
        return Call(
            decode=as_model(AuditPage),
            query={
                "table": table,
                "stream": stream,
                "actor": actor,
                "action": action,
                "since": time_text(since),
                "until": time_text(until),
                "page_size": page_size,
                "page_token": page_token,
            },
        )

    @operation("POST", "/v1/streams:start")
    def start_streams(
        self, request: BatchVerbRequest | JsonObject, *, idempotency_key: str | None = None
    ) -> Call[BatchVerbAnswer]:
        """Start many streams; the answer has the outcome for each."""
        return _to_many(request, idempotency_key)

    @operation("POST", "/v1/streams:pause")
    def pause_streams(
        self, request: BatchVerbRequest | JsonObject, *, idempotency_key: str | None = None
    ) -> Call[BatchVerbAnswer]:
        """Pause many streams; the answer has the outcome for each."""
        return _to_many(request, idempotency_key)

    @operation("POST", "/v1/streams:resume")
    def resume_streams(
        self, request: BatchVerbRequest | JsonObject, *, idempotency_key: str | None = None
    ) -> Call[BatchVerbAnswer]:
        """Resume many streams; the answer has the outcome for each."""
        return _to_many(request, idempotency_key)

    @operation("POST", "/v1/streams:restart")
    def restart_streams(
        self,
        request: BatchVerbRequest | JsonObject,
        *,
        only_failed: bool | None = None,
        idempotency_key: str | None = None,
    ) -> Call[BatchVerbAnswer]:
        """Restart the queries of many streams, with `only_failed` of those that have failed; the answer has the outcome for each."""
        return _to_many(request, idempotency_key, only_failed)

    @operation("POST", "/v1/streams:stop")
    def stop_streams(
        self, request: BatchVerbRequest | JsonObject, *, idempotency_key: str | None = None
    ) -> Call[BatchVerbAnswer]:
        """Stop many streams; the answer has the outcome for each."""
        return _to_many(request, idempotency_key)

    @operation("POST", "/v1/streams:{verb}/validate")
    def validate_verb(
        self,
        verb: str,
        request: BatchVerbRequest | JsonObject,
        *,
        only_failed: bool | None = None,
    ) -> Call[BatchVerbAnswer]:
        """Return what a verb, such as `stop`, would do now to each of many streams, or why it would fail."""
        return Call(
            decode=as_model(BatchVerbAnswer),
            names={"verb": verb},
            query={"only_failed": only_failed},
            body=request,
            is_repeatable=True,
        )

    @operation("GET", "/v1/operations")
    def operations(
        self,
        *,
        table: str | None = None,
        state: OperationState | str | None = None,
        page_size: int | None = None,
        page_token: str | None = None,
    ) -> Call[OperationList]:
        """Return a page of operations: those that have not ended, then the others, the newest first."""
        return Call(
            decode=as_model(OperationList),
            query={
                "table": table,
                "state": state,
                "page_size": page_size,
                "page_token": page_token,
            },
        )

    @operation("GET", "/v1/operations/{operation}")
    def get_operation(self, operation: str) -> Call[OperationView]:
        """Return an operation: its state, its progress, and its result or problem."""
        return Call(decode=as_model(OperationView), names={"operation": operation})

    @operation("POST", "/v1/operations/{operation}:cancel")
    def cancel_operation(
        self, operation: str, *, idempotency_key: str | None = None
    ) -> Call[OperationView]:
        """End an operation before it is complete, where its work can end."""
        return Call(
            decode=as_model(OperationView),
            names={"operation": operation},
            headers={"idempotency-key": idempotency_key},
            is_repeatable=True,
        )

    @operation("DELETE", "/v1/operations/{operation}")
    def delete_operation(
        self, operation: str, *, if_match: str | None = None, if_none_match: str | None = None
    ) -> Call[None]:
        """Delete the document of an operation that has ended."""
        return Call(
            decode=nothing,
            names={"operation": operation},
            headers={"if-match": if_match, "if-none-match": if_none_match},
        )


def _to_many(
    request: BatchVerbRequest | JsonObject,
    idempotency_key: str | None,
    only_failed: bool | None = None,
) -> Call[BatchVerbAnswer]:
    return Call(
        decode=as_model(BatchVerbAnswer),
        query={"only_failed": only_failed},
        body=request,
        headers={"idempotency-key": idempotency_key},
        is_repeatable=idempotency_key is not None,
    )


def _drain_change(
    runner: str, if_match: str | None, if_none_match: str | None
) -> Call[RunnerDrain]:
    return Call(
        decode=as_model(RunnerDrain),
        names={"runner": runner},
        headers={"if-match": if_match, "if-none-match": if_none_match},
        is_repeatable=if_match is None and if_none_match is None,
    )
