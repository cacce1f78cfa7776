"""ASGI layer that lets a request pass if its client has the scope that its route needs.

It is outside of the row dispatch and of the framework, so no answer of theirs is without it. It looks at the head of a request
alone, and refuses before the body arrives. The client is in the state of the scope: `scope["state"]["principal"]`. Answers
without end ask again with `scope["state"]["access_refusal"]`, because tokens are revoked and expire meanwhile.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from braid.schemas import FieldProblem, ProblemCode
from braid.schemas.access import AccessScope
from braid.service.access.identities import Identities, Refusal
from braid.service.access.route_scopes import Reach, Requirement, RouteScopes
from braid.service.guard.asgi_problem import send_problem
from braid.service.principal import ANYONE, NOBODY, Principal
from braid.service.scope_notes import CLIENT

_SHOWN_MAX: Final = 500  # characters of the grants that an answer shows


class AccessLayer:
    """Finds the client of each request, and refuses requests that it may not make."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        routes: RouteScopes,
        identities: Identities | None,
        allows_signed: bool = False,
    ) -> None:
        """Put the layer before an app.

        Args:
            app: The application.
            routes: What each route needs.
            identities: The clients; None: every client may do everything.
            allows_signed: Whether some bodies are signed, so that their senders need no token.
        """
        self._app = app
        self._routes = routes
        self._identities = identities
        self._allows_signed = allows_signed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] == "http":
            try:
                scope["state"]["principal"] = await self._principal(scope)
            except Refusal as refusal:
                await _refuse(refusal, scope, receive, send)
                return
            scope["state"]["access_refusal"] = partial(self._refusal, scope)
        await self._app(scope, receive, send)

    async def _refusal(self, scope: Scope) -> Refusal | None:
        """Return why a request that has passed would not pass any more; None: it would."""
        try:
            await self._principal(scope)
        except Refusal as refusal:
            return refusal
        return None

    async def _principal(self, scope: Scope) -> Principal:
        """Return the client of a request that it may make."""
        if self._identities is None:
            return ANYONE
        route = self._routes.match(scope["method"], scope["path"])
        requirement = route.requirement
        if requirement is None:
            return NOBODY
        credentials = _credentials_of(scope)
        if credentials is None and requirement.may_be_signed and self._allows_signed:
            return NOBODY  # the route itself checks the signature
        principal = None if credentials is None else self._identities.known(credentials)
        if principal is None:
            principal = await self._identities.found(credentials)
        scope[CLIENT] = principal.name  # noted also if the request is refused below
        if not requirement.is_met(principal, route.table):
            raise ScopeMissing(principal, requirement, route.table)
        if requirement.is_refused_to_masked and principal.mask(route.table).columns:
            raise MaskedAnswer(route.table)
        return principal


class ScopeMissing(Refusal):
    """The client may not make the request.

    Attributes:
        scope: What it lacks.
        problem: What it lacks, and what it has.
    """

    def __init__(self, principal: Principal, requirement: Requirement, table: str) -> None:
        self.scope: AccessScope = requirement.scope
        scope = self.scope.value
        place, pattern = requirement.reach.value, "*"
        if requirement.reach is Reach.TABLE:
            place, pattern = f"table {table[:200]}", table[:200]
        detail = f"`{principal.name}` does not have the scope `{scope}` for {place}"
        super().__init__(detail, code=ProblemCode.SCOPE_MISSING, error="insufficient_scope")
        self.problem = FieldProblem(
            pointer=None,
            field="authorization",
            value=" ".join(map(str, principal.grants))[:_SHOWN_MAX],
            message=f"expected a grant of `{scope}`, or of a scope that includes it, for {place}",
            hint=f"operators give it with `braid token create NAME --grant {scope}:{pattern}`, or in the file of issuers",
        )


class MaskedAnswer(Refusal):
    """The answer has all columns of a table, of which some are masked for the client."""

    def __init__(self, table: str) -> None:
        detail = f"you may not see all columns of {table[:200]}, as this answer has them"
        super().__init__(detail, code=ProblemCode.COLUMN_MASKED, error=None)


def _credentials_of(scope: Scope) -> bytes | None:
    """Return the value of `authorization`, None without one; several are joined, as proxies do, and are no token."""
    found: bytes | None = None
    for name, value in scope["headers"]:
        if name == b"authorization":
            found = value if found is None else b"%b,%b" % (found, value)
    return found


async def _refuse(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    await send_problem(
        refusal.code,
        refusal.detail,
        scope=scope,
        receive=receive,
        send=send,
        errors=[refusal.problem] if isinstance(refusal, ScopeMissing) else (),
        headers=_challenge(refusal),
    )


def _challenge(refusal: Refusal) -> Mapping[str, str]:
    """Return the header `www-authenticate` with the error of RFC 6750, 3, if there is one."""
    if refusal.error is None:
        return {}
    error = f'error="{refusal.error}"'
    if isinstance(refusal, ScopeMissing):
        error += f', scope="{refusal.scope.value}"'
    return {"www-authenticate": f'Bearer realm="braid", {error}'}
