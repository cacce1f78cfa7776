"""Routes of schema changes: dry run, change, history."""

from fastapi import APIRouter, Response

from braid.registry.alteration.table_changes import plan_changes
from braid.schemas import SchemaChanges
from braid.schemas.api import SchemaList, TableView, Validation
from braid.service.checked_body import CheckedBody
from braid.service.control.schema_history import schema_history
from braid.service.dependencies import ComponentsOf, PreconditionOf, RegistrarOf
from braid.service.routes.planned_change import validation_of
from braid.service.routes.table_response import table_response

router = APIRouter(
    prefix="/v1/tables/{database}/{table}", tags=["schema changes"], route_class=CheckedBody
)


@router.post("/schema-changes")
def change_schema(
    components: ComponentsOf,
    registrar: RegistrarOf,
    precondition: PreconditionOf,
    database: str,
    table: str,
    changes: SchemaChanges,
    response: Response,
) -> TableView:
    """Apply all of the changes or none; running streams adopt the new schema."""
    document = registrar.alter(
        f"{database}.{table}", plan_changes(changes.changes), precondition=precondition
    )
    return table_response(components, document, response)


@router.post("/schema-changes/validate")
def validate_schema_changes(
    components: ComponentsOf, database: str, table: str, changes: SchemaChanges
) -> Validation:
    """Return what `POST` would do, and the problems for which it would refuse the same body; changes nothing."""
    planned = components.registrar.plan_alteration(
        f"{database}.{table}", plan_changes(changes.changes)
    )
    return validation_of(planned)


@router.get("/schemas")
def list_schemas(components: ComponentsOf, database: str, table: str) -> SchemaList:
    """Return the table's schemas, newest first, each with its changes."""
    return schema_history(components.tables.get(f"{database}.{table}").schemas())
