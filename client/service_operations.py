"""Operations of the service as a whole."""

from braid.client.answers import as_model
from braid.client.operation import Call, Resource, operation
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
