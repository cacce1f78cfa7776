"""The table of scopes, and the route of a request."""

from typing import Any

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette

from braid.lake import MemoryFileIO
from braid.schemas.access import AccessScope
from braid.service.access.route_scopes import (
    READ,
    READ_VISIBLE,
    SCOPES,
    MatchedRoute,
    Reach,
    RouteScopes,
    RouteWithoutScope,
)
from braid.service.app import create_app
from braid.service.settings import ServiceSettings

TABLE = "/v1/tables/{database}/{table}"

QUESTIONS = {
    ("POST", f"{TABLE}{path}")
    for path in (
        "/validate",
        "/validate-patch",
        "/validate-delete",
        "/rollback/validate",
        "/streams/{stream}/validate-patch",
        "/streams/{stream}/validate-delete",
        "/streams/{stream}/{verb}/validate",
        "/streams/{stream}/dead-letters/replay/validate",
        ":test",
        "/schema-changes/validate",
        "/streams/{stream}/validate",
        "/streams/{stream}/offsets/validate",
        "/rows/lookup",
        "/rows/scan",
        "/rows/events",
        "/rows/explain",
        "/views/{view}/lookup",
    )
} | {("POST", "/v1/declarations:validate"), ("POST", "/v1/streams:{verb}/validate")}
"""Requests with a body that change nothing."""


FILES = {
    ("GET", path)
    for path in (
        "/v1/openapi.json",
        "/",
        "/console",
        "/console/",
        "/console/{digest}/{path:path}",
    )
}
"""Files that are equal in every deployment, and the ways to them."""


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return create_app(ServiceSettings(warehouse="/w"), file_io=MemoryFileIO())


def test_the_table_has_every_operation_and_no_other(app: FastAPI) -> None:
    operations = {
        (method.upper(), path)
        for path, methods in app.openapi()["paths"].items()
        for method in methods
    }

    assert set(SCOPES) == operations | FILES | {("GET", "/metrics")}


def test_what_changes_something_needs_more_than_to_read() -> None:
    for (method, path), requirement in SCOPES.items():
        is_question = method == "GET" or (method, path) in QUESTIONS
        is_public = (method, path) in FILES or path in ("/health", "/ready")
        assert is_public == (requirement is None), path
        assert is_question or (requirement and requirement.scope is not AccessScope.READ), path


def test_a_table_in_the_address_is_the_one_that_the_scope_is_needed_for() -> None:
    for (_, path), requirement in SCOPES.items():
        if requirement is not None:
            assert ("{table}" in path) == (requirement.reach is Reach.TABLE), path


@pytest.mark.parametrize(
    "add",
    [
        lambda app: app.add_api_route("/v1/secrets", lambda: 7),
        lambda app: app.add_api_route("/v1/tables", lambda: 7, methods=["PATCH"]),
        lambda app: app.add_route("/plain", lambda request: None),
        lambda app: app.mount("/files", Starlette()),
        lambda app: app.add_api_websocket_route("/socket", lambda socket: None),
    ],
    ids=["route", "method", "plain", "mount", "socket"],
)
def test_an_app_with_a_route_without_a_scope_is_not_made(add: Any) -> None:
    app = FastAPI(openapi_url="/v1/openapi.json", docs_url=None, redoc_url=None)
    RouteScopes(app.routes)
    add(app)

    with pytest.raises(RouteWithoutScope, match="is not in the table"):
        RouteScopes(app.routes)


@pytest.mark.parametrize(
    ("method", "path", "table", "requirement"),
    [
        ("GET", "/v1/tables/a/b/rows", "a.b", READ_VISIBLE),
        ("GET", "/v1/tables/a/b", "a.b", READ_VISIBLE),
        ("PUT", "/v1/tables/a/b", "a.b", SCOPES["PUT", TABLE]),
        ("POST", "/v1/tables/a/b:test", "a.b", READ),
        ("GET", "/v1/tables/a/b:test", "a.b:test", READ_VISIBLE),
        ("POST", "/v1/tables/a/b/streams/s/records", "a.b", SCOPES["POST", f"{TABLE}/streams/{{stream}}/records"]),
        ("GET", "/health", "", None),
        ("GET", "/v1/openapi.json", "", None),
        ("HEAD", "/v1/openapi.json", "", None),
        ("GET", "/v1/tables", "", SCOPES["GET", "/v1/tables"]),
    ],
)  # fmt: skip
def test_a_request_has_the_requirement_of_its_route(
    app: FastAPI, method: str, path: str, table: str, requirement: Any
) -> None:
    routes = RouteScopes(app.routes)

    for _ in range(2):
        assert routes.match(method, path) == MatchedRoute(requirement=requirement, table=table)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/x"),
        ("GET", "/health/"),
        ("POST", "/health"),
        ("OPTIONS", "/v1/tables"),
        ("GET", "/v1/tables/a"),
        ("get", "/health"),
        ("GET", "//health"),
        ("GET", "/v1/../health"),
        ("GET", f"/{'x' * 10_000}"),
    ],
)
def test_an_address_without_a_route_needs_identification(
    app: FastAPI, method: str, path: str
) -> None:
    found = RouteScopes(app.routes).match(method, path)

    assert found.requirement is not None
    assert found.table == ""


def test_any_number_of_addresses_is_remembered_in_bounded_memory(app: FastAPI) -> None:
    routes = RouteScopes(app.routes)

    for number in range(5_000):
        assert routes.match("GET", f"/v1/tables/a/t{number}").table == f"a.t{number}"

    assert len(routes._known) <= 2_000
