"""Dependencies of routes, as annotated aliases: the app's components, the request's client, registrar, actor and precondition, `confirm`; entity tags."""

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Header, Query, Request, Response

from braid.lake import InvalidRequest, Problem
from braid.registry.registrar import Registrar
from braid.registry.store.revision import Precondition
from braid.schemas import Actor
from braid.schemas.access import AccessScope
from braid.schemas.field_problems import SHOWN_MAX
from braid.service.column_mask import ColumnMask
from braid.service.components import Components
from braid.service.control.confirmation import DESCRIPTION
from braid.service.entity_tags import EntityTags, parse_entity_tags
from braid.service.principal import Principal, mask_of, principal_of
from braid.service.scope_requests import named_request_of


# Coroutines: for a plain function the framework needs a thread, and each request would wait for a free one.
async def get_components(request: Request) -> Components:
    """Return the app's components."""
    components = request.app.state.components
    assert isinstance(components, Components)
    return components


async def get_principal(request: Request) -> Principal:
    """Return the client of the request."""
    return principal_of(request)


ComponentsOf = Annotated[Components, Depends(get_components)]


async def get_actor(request: Request) -> Actor:
    """Return who makes the request, for the audit log."""
    return Actor(
        name=principal_of(request).name,
        address=None if request.client is None else request.client.host,
        request_id=getattr(request.state, "request_id", None),
    )


ActorOf = Annotated[Actor, Depends(get_actor)]


async def get_mask(request: Request, database: str, table: str) -> ColumnMask:
    """Return the columns of the table in the address that the client may not see."""
    return mask_of(request.scope, f"{database}.{table}")


async def get_registrar(components: ComponentsOf, actor: ActorOf, request: Request) -> Registrar:
    """Return the registrar, which acts for the request's actor, and makes the changes of a request with an idempotency key once."""
    return components.registrar.by(actor).named(named_request_of(request.scope))


May = Callable[[AccessScope, str], bool]
"""Returns whether a client has a scope for a table, `database.table`, and may read all of its columns if it is to read."""


async def get_may(request: Request) -> May:
    """Return what the client may do, for routes whose address does not have the tables that they concern.

    Their answers may name partitions, so tables with masked columns are left out.
    """
    principal = principal_of(request)

    def may(scope: AccessScope, table: str) -> bool:
        return principal.may(scope, table) and principal.sees_all(table)

    return may


async def get_precondition(
    if_match: Annotated[list[str] | None, Header()] = None,
    if_none_match: Annotated[list[str] | None, Header()] = None,
) -> Precondition:
    """Return the precondition that the request's headers state (RFC 9110, 13.1).

    `if-match: "<etag>"` permits only a change of the version that the client has read, `if-none-match: *` permits only a
    creation. A weak tag matches no `if-match`.

    Raises:
        InvalidRequest: A header has something else than tags.
    """
    wanted, known = _tags("if-match", if_match), _tags("if-none-match", if_none_match)
    exists: bool | None = None
    if known is not None and known.is_any:
        exists = False
    elif wanted is not None and wanted.is_any:
        exists = True
    return Precondition(
        revisions=None if wanted is None or wanted.is_any else wanted.strong,
        exists=exists,
        other_than=frozenset() if known is None else known.opaque,
    )


def _tags(header: str, lines: list[str] | None) -> EntityTags | None:
    if lines is None:
        return None
    try:
        return parse_entity_tags(lines)
    except ValueError as error:
        hint = 'write an `etag` as it was answered, with its quotation marks: `"1f0c…"`, several with commas, or `*`'
        problem = Problem(
            field=header, value=", ".join(lines)[:SHOWN_MAX], message=str(error), hint=hint
        )
        summary = f"the header `{header}` is not valid"
        raise InvalidRequest(summary, problems=[problem]) from error


def set_etag(response: Response, revision: str) -> None:
    """Set the entity tag of an answer: a strong one, which `if-match` takes."""
    response.headers["etag"] = f'"{revision}"'


MayOf = Annotated[May, Depends(get_may)]
Confirm = Annotated[str | None, Query(description=DESCRIPTION)]
OnlyFailed = Annotated[
    bool,
    Query(
        description="Restart only what has failed or waits for another attempt; all else stays as it is."
    ),
]
MaskOf = Annotated[ColumnMask, Depends(get_mask)]
RegistrarOf = Annotated[Registrar, Depends(get_registrar)]
PrincipalOf = Annotated[Principal, Depends(get_principal)]
PreconditionOf = Annotated[Precondition, Depends(get_precondition)]
