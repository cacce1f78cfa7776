"""Routes of tables: declaration, dry run, reading, listing, dropping and maintenance status."""

from fastapi import APIRouter, Response

from braid.schemas import MaintenanceStatus, TableSpec
from braid.schemas.api import TableView, Validation
from braid.schemas.resource_lists import TableList
from braid.service.checked_body import CheckedBody
from braid.service.control.confirmation import not_confirmed
from braid.service.control.maintenance_status import maintenance_status
from braid.service.dependencies import (
    ActorOf,
    ComponentsOf,
    Confirm,
    PreconditionOf,
    RegistrarOf,
)
from braid.service.routes.list_parameters import ListQueryOf
from braid.service.routes.planned_change import validation_of
from braid.service.routes.table_response import table_response

router = APIRouter(prefix="/v1/tables", tags=["tables"], route_class=CheckedBody)


@router.get("")
def list_tables(components: ComponentsOf, query: ListQueryOf) -> TableList:
    """List the registered tables, page by page: by conditions on name, labels, owner and the states of streams."""
    return components.shown(components.lists.tables(query))


@router.put("/{database}/{table}", responses={201: {"model": TableView}})
def put_table(
    components: ComponentsOf,
    registrar: RegistrarOf,
    precondition: PreconditionOf,
    database: str,
    table: str,
    spec: TableSpec,
    response: Response,
) -> TableView:
    """Create a table: 201 if it is new, 200 if it exists with this declaration, else 409."""
    registered = registrar.put_table(database, table, spec, precondition=precondition)
    response.status_code = 201 if registered.is_new else 200
    return table_response(components, registered.document, response)


@router.get("/{database}/{table}")
def get_table(components: ComponentsOf, database: str, table: str, response: Response) -> TableView:
    """Return a table's declaration and all its columns."""
    document = components.registrar.document(f"{database}.{table}")
    return table_response(components, document, response)


@router.delete("/{database}/{table}", status_code=204)
def drop_table(
    components: ComponentsOf,
    actor: ActorOf,
    precondition: PreconditionOf,
    database: str,
    table: str,
    confirm: Confirm = None,
    keep_data: bool = False,
) -> None:
    """Drop a table, whose name `confirm` has to repeat: registration, streams and files.

    Its streams have to be stopped. With `keep_data` the files stay, as a table of the warehouse that
    is not registered.
    """
    identifier = f"{database}.{table}"
    if confirm not in (table, identifier):
        raise not_confirmed(identifier, "the table and all its rows would be deleted")
    components.dropper.by(actor).drop(identifier, keep_data=keep_data, precondition=precondition)


@router.post("/{database}/{table}/validate")
def validate_table(
    components: ComponentsOf, database: str, table: str, spec: TableSpec
) -> Validation:
    """Return what `PUT` would do, and the problems for which it would refuse the same body; changes nothing."""
    planned = components.registrar.plan_table(database, table, spec)
    return validation_of(planned)


@router.post("/{database}/{table}/validate-delete")
def validate_drop(
    components: ComponentsOf, database: str, table: str, keep_data: bool = False
) -> Validation:
    """Return what `DELETE` would do, or why it would refuse; changes nothing."""
    planned = components.dropper.plan(f"{database}.{table}", keep_data=keep_data)
    return components.shown(validation_of(planned))


@router.get("/{database}/{table}/maintenance")
def get_maintenance(components: ComponentsOf, database: str, table: str) -> MaintenanceStatus:
    """Return the state of a table's compaction, and the runners that do it."""
    status = maintenance_status(
        components.tables.get(f"{database}.{table}"),
        components.reports.get(),
        alive_since_ms=components.clock.now_ms() - components.settings.runner_timeout_ms,
    )
    return components.shown(status)
