"""Name of a request with an idempotency key, in the state of its ASGI scope: set by a layer, and read by routes."""

from typing import Final

from starlette.types import Scope

from braid.registry.store.named_request import NamedRequest

_STATE: Final = "named_request"


def name_request(scope: Scope, request: NamedRequest) -> None:
    """Give a request its name, before it reaches a route."""
    scope.setdefault("state", {})[_STATE] = request


def named_request_of(scope: Scope) -> NamedRequest | None:
    """Return the name of a request; None: it has no idempotency key."""
    found = scope.get("state", {}).get(_STATE)
    assert found is None or isinstance(found, NamedRequest)
    return found
