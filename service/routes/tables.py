"""Routes of tables: declaration, dry run, reading, listing, dropping and maintenance status."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from braid.lake import InvalidRequest, Problem
from braid.schemas import MaintenanceStatus, TableSpec
from braid.schemas.access import AccessScope
from braid.schemas.api import TableList, TableName, TableView, Validation
from braid.service.checked_body import CheckedBody
from braid.service.control.confirmation import not_confirmed
from braid.service.control.maintenance_status import maintenance_status
from braid.service.control.page_token import decode_token, encode_token
from braid.service.dependencies import (
    ActorOf,
    ComponentsOf,
    Confirm,
    PreconditionOf,
    PrincipalOf,
    RegistrarOf,
)
from braid.service.routes.table_response import table_response

PAGE_SIZE = 100
PAGE_SIZE_MAX = 1_000

router = APIRouter(prefix="/v1/tables", tags=["tables"], route_class=CheckedBody)


@router.get("")
def list_tables(
    components: ComponentsOf,
    principal: PrincipalOf,
    page_size: Annotated[int, Query(ge=1, le=PAGE_SIZE_MAX)] = PAGE_SIZE,
    page_token: str | None = None,
) -> TableList:
    """List the registered tables that the client may read, in alphabetical order, page by page."""
    after = "" if page_token is None else _parse_token(page_token)
    rest = [
        name
        for name in components.registry.identifiers()
        if name > after and principal.may(AccessScope.READ, name)
    ]
    page = rest[:page_size]
    names = [identifier.split(".", 1) for identifier in page]
    return TableList(
        tables=tuple(TableName(database=database, name=name) for database, name in names),
        next_page_token=encode_token(page[-1].encode()) if len(rest) > len(page) else None,
    )


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
    return Validation(valid=not planned.problems, errors=planned.problems, plan=planned.effects)


@router.get("/{database}/{table}/maintenance")
def get_maintenance(components: ComponentsOf, database: str, table: str) -> MaintenanceStatus:
    """Return the state of a table's compaction, and the runners that do it."""
    status = maintenance_status(
        components.tables.get(f"{database}.{table}"),
        components.progress.read_all(),
        alive_since_ms=components.clock.now_ms() - components.settings.runner_timeout_ms,
    )
    return components.shown(status)


def _parse_token(token: str) -> str:
    try:
        return decode_token(token).decode()
    except ValueError as error:
        message = "not a page token of this list"
        hint = "use `next_page_token` of the page before, or leave it out"
        problem = Problem(field="page_token", value=token, message=message, hint=hint)
        summary = "the page token is not valid"
        raise InvalidRequest(summary, problems=[problem]) from error
