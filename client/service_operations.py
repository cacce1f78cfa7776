"""Operations of the service as a whole."""

from braid.client.answers import as_model
from braid.client.operation import Call, Resource, operation
from braid.client.row_operations import Timestamp, time_text
from braid.schemas import AuditPage
from braid.schemas.api import Health, Readiness, TableList


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

    @operation("GET", "/v1/tables")
    def tables(
        self, *, page_size: int | None = None, page_token: str | None = None
    ) -> Call[TableList]:
        """Return a page of the names of the registered tables, in alphabetical order; `pages` returns all pages."""
        return Call(
            decode=as_model(TableList), query={"page_size": page_size, "page_token": page_token}
        )

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
