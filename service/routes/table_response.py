"""Answer of the routes that return a registered table: its view, with its revision as `etag`."""

from fastapi import Response

from braid.registry.store.revision import revision_of
from braid.schemas import TableDocument
from braid.schemas.api import TableView
from braid.service.components import Components
from braid.service.control.table_view import table_view


def table_response(
    components: Components, document: TableDocument, response: Response
) -> TableView:
    """Return the view of a table, and set its revision as a header of the response."""
    response.headers["etag"] = f'"{revision_of(document)}"'
    return table_view(document, components.tables.get(document.identifier).schema)
