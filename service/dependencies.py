"""Dependencies of routes, as annotated aliases: the app's components, the precondition of a request, and `confirm`."""

from typing import Annotated

from fastapi import Depends, Header, Query, Request

from braid.registry.store.revision import Precondition
from braid.service.components import Components
from braid.service.control.confirmation import DESCRIPTION

ANYTHING = "*"


# Coroutines: for a plain function the framework needs a thread, and each request would wait for a free one.
async def get_components(request: Request) -> Components:
    """Return the app's components."""
    components = request.app.state.components
    assert isinstance(components, Components)
    return components


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
ComponentsOf = Annotated[Components, Depends(get_components)]
PreconditionOf = Annotated[Precondition, Depends(get_precondition)]
