"""The view of a registered table, with its revision as `etag`."""

from fastapi import Response

from braid.registry.layout.physical_table import physical_table
from braid.registry.store.revision import revision_of
from braid.schemas import TableDocument
from braid.service.components import Components
from braid.service.times import iso_utc
from braid.service.views import ColumnView, TableView


def table_view(components: Components, document: TableDocument, response: Response) -> TableView:
    """Return the view of a table, and set its revision as a header of the response."""
    response.headers["etag"] = f'"{revision_of(document)}"'
    schema = components.tables.get(document.identifier).schema
    layout = physical_table(document.table)
    made_for = {column: group.name for group in layout.groups for column in group.generated_columns}
    return TableView(
        database=document.database,
        name=document.name,
        created_at=iso_utc(document.created_ms),
        spec=document.table,
        columns=tuple(
            ColumnView(name=field.name, type=str(field.type), made_for=made_for.get(field.name))
            for field in layout.columns
        ),
        streams=tuple(sorted(document.streams)),
        schema_id=schema.id,
        schema_since=iso_utc(schema.time_millis) if schema.time_millis else None,
    )
