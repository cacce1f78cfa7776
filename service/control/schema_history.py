"""The history of a table's schemas, as the service returns it. Pure."""

from collections.abc import Sequence
from itertools import pairwise

from braid.lake import TableSchema, schema_differences
from braid.registry.alteration.change_models import change_model
from braid.schemas import TableChange
from braid.schemas.api import SchemaList, SchemaView
from braid.service.times import iso_utc


def schema_history(schemas: Sequence[TableSchema]) -> SchemaList:
    """Return the history of a table.

    Args:
        schemas: All schemas of the table, oldest first.
    """
    views = [_view(schema, ()) for schema in schemas[:1]]
    for old, new in pairwise(schemas):
        views.append(_view(new, tuple(map(change_model, schema_differences(old, new)))))
    assert len(views) == len(schemas)
    return SchemaList(schemas=tuple(reversed(views)))


def _view(schema: TableSchema, changes: tuple[TableChange, ...]) -> SchemaView:
    since = iso_utc(schema.time_millis) if schema.time_millis else None
    return SchemaView(schema_id=schema.id, since=since, changes=changes)
