"""The view of a registered table: its declaration with the columns that it makes, and its newest schema by id and time."""

from braid.lake import TableSchema
from braid.registry.layout.physical_table import physical_table
from braid.schemas import TableDocument
from braid.schemas.api import ColumnView, TableView
from braid.service.times import iso_utc


def table_view(document: TableDocument, schema: TableSchema) -> TableView:
    """Return the view of a table.

    Args:
        document: The table's document, with its declaration.
        schema: The table's schema as the service knows it.
    """
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
