"""Answer of the routes that return a registered table: its view, with its revision as `etag`."""

from fastapi import Response

from braid.registry.store.revision import table_revision
from braid.schemas import TableDocument
from braid.schemas.api import TableView
from braid.service.components import Components
from braid.service.control.table_view import table_view
from braid.service.dependencies import set_etag


def table_response(
    components: Components, document: TableDocument, response: Response
) -> TableView:
    """Return the view of a table, and set its revision as a header of the response."""
    schema = components.tables.get(document.identifier).schema
    set_etag(response, table_revision(document, schema_id=schema.id))
    return table_view(document, schema)
