"""Routes that change a declaration by a merge patch, and their dry runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Body, Request, Response
from fastapi.exceptions import HTTPException

from braid.registry.errors import DefinitionDiffers, DefinitionRefused
from braid.registry.stream_entries import entry_of
from braid.schemas.api import StreamView, TableView, Validation
from braid.schemas.merge_patch import MEDIA_TYPE, MergePatch
from braid.service.checked_body import CheckedBody, Handler
from braid.service.dependencies import ComponentsOf, PreconditionOf, RegistrarOf
from braid.service.problems.patched_declaration import (
    located_in,
    patched_stream,
    patched_table,
)
from braid.service.routes.stream_response import stream_response
from braid.service.routes.table_response import table_response


class _PatchedBody(CheckedBody):
    """A route whose body is a merge patch, and is sent as one."""

    def get_route_handler(self) -> Handler:
        """Return the handler of a request."""
        handle = super().get_route_handler()

        async def handle_patch(request: Request) -> Response:
            content_type = request.headers.get("content-type", "")
            if content_type.partition(";")[0].strip().lower() != MEDIA_TYPE:
                detail = f"the body is sent as `{content_type[:100]}`; send the header `content-type: {MEDIA_TYPE}`"
                raise HTTPException(
                    HTTPStatus.UNSUPPORTED_MEDIA_TYPE, detail, headers={"accept-patch": MEDIA_TYPE}
                )
            return await handle(request)

        return handle_patch


router = APIRouter(prefix="/v1/tables/{database}/{table}", route_class=_PatchedBody)

PatchBody = Annotated[MergePatch, Body(media_type=MEDIA_TYPE)]


@router.patch("", tags=["tables"])
def patch_table(
    components: ComponentsOf,
    registrar: RegistrarOf,
    precondition: PreconditionOf,
    database: str,
    table: str,
    patch: PatchBody,
    response: Response,
) -> TableView:
    """Change what `PUT` can change in the declaration of a registered table: only the fields that the patch has."""
    with _problems_of(patch):
        document = registrar.change_table(
            f"{database}.{table}",
            partial(patched_table, patch=patch),
            precondition=precondition,
        )
    return table_response(components, document, response)


@router.post("/validate-patch", tags=["tables"])
def validate_table_patch(
    components: ComponentsOf, database: str, table: str, patch: PatchBody
) -> Validation:
    """Return what `PATCH` would do, and the problems for which it would refuse the same body; changes nothing."""
    planned = components.registrar.plan_table_change(
        f"{database}.{table}", partial(patched_table, patch=patch)
    )
    errors = located_in(patch, planned.problems)
    return Validation(valid=not errors, errors=errors, plan=planned.effects)


@router.patch("/streams/{stream}", tags=["streams"])
def patch_stream(
    registrar: RegistrarOf,
    precondition: PreconditionOf,
    database: str,
    table: str,
    stream: str,
    patch: PatchBody,
    response: Response,
) -> StreamView:
    """Change the declaration of a registered stream: only the fields that the patch has. Its runner adopts the change."""
    with _problems_of(patch):
        document = registrar.change_stream(
            f"{database}.{table}",
            stream,
            partial(patched_stream, patch=patch),
            precondition=precondition,
        )
    return stream_response(document, stream, response)


@router.post("/streams/{stream}/validate-patch", tags=["streams"])
def validate_stream_patch(
    components: ComponentsOf, database: str, table: str, stream: str, patch: PatchBody
) -> Validation:
    """Return what `PATCH` would do, and the problems for which it would refuse the same body; changes nothing."""
    document = components.registrar.document(f"{database}.{table}")
    registered = entry_of(document, stream).spec
    try:
        planned = components.registrar.plan_stream(
            document, stream, patched_stream(registered, patch)
        )
    except (DefinitionRefused, DefinitionDiffers) as error:
        return Validation(valid=False, errors=located_in(patch, error.problems))
    return Validation(valid=True, errors=(), plan=planned.effects)


@contextmanager
def _problems_of(patch: MergePatch) -> Iterator[None]:
    """Locate the problems of a refused declaration in the patch that has made it."""
    try:
        yield
    except (DefinitionRefused, DefinitionDiffers) as error:
        error.problems = located_in(patch, error.problems)
        raise
