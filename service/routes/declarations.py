"""Routes of many declarations at once: their export, their import, and the dry run of an import."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query

from braid.registry.declaration_import import DeclarationImporter
from braid.schemas.access import AccessScope
from braid.schemas.declaration_transfer import DeclarationImport, DeclarationPage, ImportAnswer
from braid.service.checked_body import CheckedBody
from braid.service.control.declaration_imports import imported
from braid.service.control.lists.list_query import ANY_TABLE, ListQuery
from braid.service.dependencies import ActorOf, ComponentsOf, MayOf
from braid.service.problems.operation_problems import operation_problem
from braid.service.routes.list_parameters import TOKEN_LENGTH_MAX, TablePattern

PAGE_SIZE = 100
PAGE_SIZE_MAX = 500

router = APIRouter(prefix="/v1", tags=["declarations"], route_class=CheckedBody)


@router.get("/declarations")
def export_declarations(
    components: ComponentsOf,
    may: MayOf,
    table_pattern: TablePattern = ANY_TABLE,
    page_size: Annotated[int, Query(ge=1, le=PAGE_SIZE_MAX)] = PAGE_SIZE,
    page_token: Annotated[str | None, Query(max_length=TOKEN_LENGTH_MAX)] = None,
) -> DeclarationPage:
    """Return the declarations of tables and streams, page by page, as `POST /v1/declarations:import` takes them.

    Tables with columns that are masked for the client are left out.
    """
    query = ListQuery(
        table=table_pattern,
        page_size=page_size,
        page_token=page_token,
        may_see=partial(may, AccessScope.READ),
    )
    return components.shown(components.lists.declarations(query))


@router.post("/declarations:import")
def import_declarations(
    components: ComponentsOf, actor: ActorOf, may: MayOf, body: DeclarationImport
) -> ImportAnswer:
    """Register tables and streams; the outcome of each is in the answer.

    What is registered with an equal declaration is left; what is registered with another one is refused, or changed with `replace`.
    """
    # Without the request's name: an import that is carried out again finds what it has registered, and leaves it.
    importer = DeclarationImporter(
        registrar=components.registrar.by(actor), replaces=body.replace, is_dry_run=False
    )
    answer = imported(body, importer, scope=AccessScope.ADMIN, may=may, describe=operation_problem)
    return components.shown(answer)


@router.post("/declarations:validate")
def validate_declarations(
    components: ComponentsOf, may: MayOf, body: DeclarationImport
) -> ImportAnswer:
    """Return what `POST /v1/declarations:import` would do or refuse; changes nothing."""
    importer = DeclarationImporter(
        registrar=components.registrar, replaces=body.replace, is_dry_run=True
    )
    answer = imported(body, importer, scope=AccessScope.READ, may=may, describe=operation_problem)
    return components.shown(answer)
