"""Dependencies of routes, as annotated aliases: the app's components, the request's actor and precondition, and `confirm`."""

from typing import Annotated

from fastapi import Depends, Header, Query, Request

from braid.registry.registrar import Registrar
from braid.registry.store.revision import Precondition
from braid.schemas import Actor
from braid.service.components import Components
from braid.service.control.confirmation import DESCRIPTION

ANYTHING = "*"
ANONYMOUS = "anonymous"
"""Name of the actor of a request without a token or user."""


# Coroutines: for a plain function the framework needs a thread, and each request would wait for a free one.
async def get_components(request: Request) -> Components:
    """Return the app's components."""
    components = request.app.state.components
    assert isinstance(components, Components)
    return components


ComponentsOf = Annotated[Components, Depends(get_components)]


async def get_actor(request: Request) -> Actor:
    """Return who makes the request, for the audit log: the principal that the access layer has found, if there is one."""
    principal = getattr(request.state, "principal", None)
    return Actor(
        name=ANONYMOUS if principal is None else principal.name,
        address=None if request.client is None else request.client.host,
        request_id=getattr(request.state, "request_id", None),
    )


ActorOf = Annotated[Actor, Depends(get_actor)]


async def get_registrar(components: ComponentsOf, actor: ActorOf) -> Registrar:
    """Return the registrar, which acts for the request's actor."""
    return components.registrar.by(actor)


async def get_precondition(
    if_match: Annotated[str | None, Header()] = None,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Precondition:
    """Return the precondition that the request's headers state (RFC 9110, 13.1).

    `if-match: "<etag>"` permits only a change of the version that the client has read,
    `if-none-match: *` permits only a creation.
    """
    exists: bool | None = None
    revisions: frozenset[str] | None = None
    if if_none_match is not None and if_none_match.strip() == ANYTHING:
        exists = False
    if if_match is not None and if_match.strip() == ANYTHING:
        exists = True
    elif if_match is not None:
        revisions = frozenset(tag.strip().strip('"') for tag in if_match.split(","))
    return Precondition(revisions=revisions, exists=exists)


Confirm = Annotated[str | None, Query(description=DESCRIPTION)]
RegistrarOf = Annotated[Registrar, Depends(get_registrar)]
PreconditionOf = Annotated[Precondition, Depends(get_precondition)]
