"""The scope that each route needs, by method and path template: one table for the whole service.

An app with a route that is not in the table is not created. A request is looked up by the patterns of the framework's own
routes, in the framework's order, so both always agree about the route of a request, whichever of them answers it.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from fastapi.routing import iter_route_contexts
from starlette.routing import BaseRoute

from braid.schemas.access import AccessScope
from braid.service.principal import Principal

_READ, _WRITE, _OPERATE, _ADMIN = AccessScope


class Reach(Enum):
    """The tables for which a client needs the scope of a route."""

    TABLE = "the table in the address"
    ANY_TABLE = "any table"  # what is shown depends on the tables that the client may read
    EVERY_TABLE = "every table (`*`)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """What a route needs.

    Attributes:
        scope: The scope.
        reach: The tables for which it is needed.
        may_be_signed: Whether the signature of the body can take the place of a token, where operators declare one.
        leaves_out_masked: Whether the answer has nothing of columns that are masked for the client.
    """

    scope: AccessScope
    reach: Reach = Reach.TABLE
    may_be_signed: bool = False
    leaves_out_masked: bool = False

    @property
    def may_be_masked(self) -> bool:
        """Whether a client with masked columns may have what the route needs: such clients only read."""
        return self.reach is Reach.TABLE and self.scope is AccessScope.READ

    @property
    def is_refused_to_masked(self) -> bool:
        """Whether the route is refused to a client with masked columns of its table, or of every table (`*`).

        An answer that depends on the tables that the client may read leaves out tables, or parts of them, by itself.
        """
        return not self.leaves_out_masked and self.reach is not Reach.ANY_TABLE

    def is_met(self, principal: Principal, table: str) -> bool:
        """Return whether a client may use the route, with the table in the address, if there is one."""
        if self.reach is Reach.TABLE:
            return principal.may(self.scope, table)
        if self.reach is Reach.ANY_TABLE:
            return principal.may_anywhere(self.scope)
        return principal.may_everywhere(self.scope)


PUBLIC: Final = None
"""Needs no identification: probes, and what is equal in every deployment of a version."""

READ: Final = Requirement(scope=_READ)
READ_VISIBLE: Final = Requirement(scope=_READ, leaves_out_masked=True)
WRITE: Final = Requirement(scope=_WRITE)
OPERATE: Final = Requirement(scope=_OPERATE)
ADMIN: Final = Requirement(scope=_ADMIN)

_TABLE: Final = "/v1/tables/{database}/{table}"
_STREAM: Final = f"{_TABLE}/streams/{{stream}}"
_CONSUMER: Final = f"{_TABLE}/consumers/{{consumer}}"

SCOPES: Final[Mapping[tuple[str, str], Requirement | None]] = {
    ("GET", "/health"): PUBLIC,
    ("GET", "/ready"): PUBLIC,
    ("GET", "/v1/openapi.json"): PUBLIC,
    # Files of the console, which asks for a token before it calls the API.
    ("GET", "/"): PUBLIC,
    ("GET", "/console"): PUBLIC,
    ("GET", "/console/"): PUBLIC,
    ("GET", "/console/{digest}/{path:path}"): PUBLIC,
    ("GET", "/metrics"): Requirement(scope=_READ, reach=Reach.EVERY_TABLE),
    ("GET", "/v1"): Requirement(scope=_READ, reach=Reach.ANY_TABLE),
    ("GET", "/v1/aggregations"): Requirement(scope=_READ, reach=Reach.ANY_TABLE),
    ("GET", "/v1/tables"): Requirement(scope=_READ, reach=Reach.ANY_TABLE),
    ("GET", "/v1/streams"): Requirement(scope=_READ, reach=Reach.ANY_TABLE),
    ("GET", "/v1/declarations"): Requirement(scope=_READ, reach=Reach.ANY_TABLE),
    ("POST", "/v1/declarations:validate"): Requirement(scope=_READ, reach=Reach.ANY_TABLE),
    ("POST", "/v1/declarations:import"): Requirement(scope=_ADMIN, reach=Reach.ANY_TABLE),
    ("GET", "/v1/runners"): Requirement(scope=_READ, reach=Reach.ANY_TABLE),
    # They show streams of all tables.
    ("GET", "/v1/runners/{runner}/drain"): Requirement(scope=_READ, reach=Reach.EVERY_TABLE),
    ("PUT", "/v1/runners/{runner}/drain"): Requirement(scope=_OPERATE, reach=Reach.EVERY_TABLE),
    ("DELETE", "/v1/runners/{runner}/drain"): Requirement(scope=_OPERATE, reach=Reach.EVERY_TABLE),
    ("GET", "/v1/clusters"): Requirement(scope=_READ, reach=Reach.ANY_TABLE),
    ("GET", "/v1/audit"): Requirement(scope=_ADMIN, reach=Reach.EVERY_TABLE),
    ("GET", f"{_TABLE}/audit"): ADMIN,
    ("GET", _TABLE): READ_VISIBLE,
    ("PUT", _TABLE): ADMIN,
    ("PATCH", _TABLE): ADMIN,
    ("DELETE", _TABLE): ADMIN,
    ("POST", f"{_TABLE}/validate"): READ,
    ("POST", f"{_TABLE}/validate-patch"): READ,
    ("POST", f"{_TABLE}/validate-delete"): READ,
    ("POST", f"{_TABLE}:test"): READ,
    ("GET", f"{_TABLE}/schemas"): READ_VISIBLE,
    ("POST", f"{_TABLE}/schema-changes"): ADMIN,
    ("POST", f"{_TABLE}/schema-changes/validate"): READ,
    ("GET", f"{_TABLE}/maintenance"): READ,
    ("GET", f"{_TABLE}/history"): READ,
    ("GET", f"{_TABLE}/inspect/{{view}}"): READ,
    ("GET", f"{_TABLE}/streams"): READ,
    ("GET", _STREAM): READ_VISIBLE,
    ("PUT", _STREAM): ADMIN,
    ("PATCH", _STREAM): ADMIN,
    ("DELETE", _STREAM): ADMIN,
    ("POST", f"{_STREAM}/validate"): READ,
    ("POST", f"{_STREAM}/validate-patch"): READ,
    ("POST", f"{_STREAM}/validate-delete"): READ,
    ("POST", f"{_STREAM}/dead-letters/replay/validate"): READ,
    ("POST", f"{_STREAM}/{{verb}}/validate"): READ,
    ("GET", f"{_STREAM}/status"): READ,
    ("POST", f"{_STREAM}/start"): OPERATE,
    ("POST", f"{_STREAM}/pause"): OPERATE,
    ("POST", f"{_STREAM}/resume"): OPERATE,
    ("POST", f"{_STREAM}/restart"): OPERATE,
    ("POST", f"{_STREAM}/stop"): OPERATE,
    ("GET", f"{_STREAM}/offsets"): READ,
    ("PUT", f"{_STREAM}/offsets"): OPERATE,
    ("POST", f"{_STREAM}/offsets/validate"): READ,
    ("GET", f"{_STREAM}/dead-letters"): READ,
    ("POST", f"{_STREAM}/dead-letters/replay"): OPERATE,
    ("DELETE", f"{_STREAM}/dead-letters/replay"): OPERATE,
    ("POST", f"{_STREAM}/records"): Requirement(scope=_WRITE, may_be_signed=True),
    ("GET", f"{_TABLE}/rows"): READ_VISIBLE,
    ("GET", f"{_TABLE}/rows/status"): READ_VISIBLE,
    ("POST", f"{_TABLE}/rows/lookup"): READ_VISIBLE,
    ("POST", f"{_TABLE}/rows/scan"): READ_VISIBLE,
    ("GET", f"{_TABLE}/rows/events"): READ_VISIBLE,
    ("POST", f"{_TABLE}/rows/events"): READ_VISIBLE,
    ("GET", f"{_TABLE}/rows/explain"): READ,
    ("POST", f"{_TABLE}/rows/explain"): READ,
    ("GET", f"{_TABLE}/rows/outcomes"): READ,
    ("GET", f"{_TABLE}/rows/certificate"): READ,
    ("GET", f"{_TABLE}/views/{{view}}/rows"): READ_VISIBLE,
    ("POST", f"{_TABLE}/views/{{view}}/lookup"): READ_VISIBLE,
    ("GET", f"{_TABLE}/indexes/{{index}}/rows"): READ_VISIBLE,
    ("GET", f"{_TABLE}/completeness"): READ_VISIBLE,
    ("GET", f"{_TABLE}/changes"): READ_VISIBLE,
    ("GET", f"{_TABLE}/consumers"): READ_VISIBLE,
    ("GET", f"{_TABLE}/snapshots"): READ,
    ("GET", f"{_TABLE}/snapshots/{{snapshot}}"): READ,
    ("GET", f"{_TABLE}/tags"): READ,
    ("GET", f"{_TABLE}/tags/{{tag}}"): READ,
    ("PUT", f"{_TABLE}/tags/{{tag}}"): OPERATE,
    ("DELETE", f"{_TABLE}/tags/{{tag}}"): OPERATE,
    ("GET", f"{_TABLE}/compactions"): READ,
    ("POST", f"{_TABLE}/compactions"): OPERATE,
    ("POST", f"{_TABLE}/snapshots/expire"): OPERATE,
    ("POST", f"{_TABLE}/orphan-files/clean"): OPERATE,
    ("POST", f"{_TABLE}/rescale"): OPERATE,
    ("POST", f"{_TABLE}/rollback"): ADMIN,
    ("POST", f"{_TABLE}/rollback/validate"): READ,
    ("GET", "/v1/operations"): Requirement(scope=_READ, reach=Reach.ANY_TABLE),
    ("GET", "/v1/operations/{operation}"): Requirement(scope=_READ, reach=Reach.ANY_TABLE),
    ("POST", "/v1/operations/{operation}:cancel"): Requirement(
        scope=_OPERATE, reach=Reach.ANY_TABLE
    ),
    ("DELETE", "/v1/operations/{operation}"): Requirement(scope=_OPERATE, reach=Reach.ANY_TABLE),
    **{
        ("POST", f"/v1/streams:{verb}"): Requirement(scope=_OPERATE, reach=Reach.ANY_TABLE)
        for verb in ("start", "pause", "resume", "restart", "stop")
    },
    ("POST", "/v1/streams:{verb}/validate"): Requirement(scope=_READ, reach=Reach.ANY_TABLE),
    ("PUT", _CONSUMER): WRITE,
    ("DELETE", _CONSUMER): WRITE,
}
"""The only place that says which scope a route needs."""

_KNOWN_MAX: Final = 2_000
_KNOWN_PATH_MAX: Final = 300  # characters; longer paths are looked up each time


class RouteWithoutScope(Exception):
    """A route of the app is not in the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedRoute:
    """The route of a request.

    Attributes:
        requirement: What it needs; None: nothing.
        table: The table in the address, `database.table`; empty: there is none.
    """

    requirement: Requirement | None
    table: str


_NO_ROUTE: Final = MatchedRoute(
    requirement=Requirement(scope=_READ, reach=Reach.ANY_TABLE), table=""
)
"""An address without a route: the framework answers 404 or 405 to clients that have identified themselves."""


class RouteScopes:
    """Finds the requirements of requests; safe between threads."""

    def __init__(
        self,
        routes: Sequence[BaseRoute],
        scopes: Mapping[tuple[str, str], Requirement | None] = SCOPES,
    ) -> None:
        """Look up every route.

        Args:
            routes: The framework's routes, in its order.
            scopes: The table.

        Raises:
            RouteWithoutScope: The table does not have one of the routes.
        """
        self._routes: dict[str, list[tuple[re.Pattern[str], Requirement | None]]] = defaultdict(
            list
        )
        for route in iter_route_contexts(routes):
            # A mounted app has no methods, and no requirement could hold for all of its addresses.
            for method in route.methods or ("any method of",):
                # The framework answers HEAD where it does by the route of GET.
                key = ("GET" if method == "HEAD" else method, route.path or "")
                if key not in scopes:
                    message = f"{method} {route.path} is not in the table of braid.service.access.route_scopes"
                    raise RouteWithoutScope(message)
                self._routes[method].append((route.path_regex, scopes[key]))
        self._known: dict[tuple[str, str], MatchedRoute] = {}

    def match(self, method: str, path: str) -> MatchedRoute:
        """Return the route of a request, by its method and its path without escapes."""
        found = self._known.get((method, path))
        if found is not None:
            return found
        found = self._matched(method, path)
        if len(path) <= _KNOWN_PATH_MAX:
            if len(self._known) >= _KNOWN_MAX:
                self._known = {}  # replaced as a whole: cheaper than an order of use for each request
            self._known[method, path] = found
        return found

    def _matched(self, method: str, path: str) -> MatchedRoute:
        for pattern, requirement in self._routes.get(method, ()):
            if (found := pattern.match(path)) is not None:
                names = found.groupdict()
                table = f"{names['database']}.{names['table']}" if "table" in names else ""
                return MatchedRoute(requirement=requirement, table=table)
        return _NO_ROUTE
