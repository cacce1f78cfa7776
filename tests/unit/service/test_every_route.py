"""Every route is inside of the same layers: host check, request id, access log, limits, media type."""

import logging
import re
from dataclasses import replace

import pytest

from braid.lake import ManualClock, MemoryFileIO
from braid.service.access.access_layer import AccessLayer
from braid.service.access.route_scopes import RouteScopes
from braid.service.app import create_app
from braid.service.braid_app import BraidApp
from braid.service.guard.request_class import STATE_CHANGING, class_of
from braid.service.http.request_context import RequestContext
from braid.service.limits import RequestClass, RequestLimits
from braid.service.settings import ServiceSettings
from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient

FULL = RequestLimits(
    classes={
        name: replace(one, running=0, waiting=0) for name, one in RequestLimits().classes.items()
    }
)
PROBES = ("/health", "/ready")


def app_for(*hosts: str, limits: RequestLimits | None = None) -> BraidApp:
    clock = ManualClock()
    settings = ServiceSettings(warehouse="/w", hosts=hosts, limits=limits or RequestLimits())
    return create_app(settings, file_io=MemoryFileIO(clock=clock), clock=clock)


ROUTES = [
    (method.upper(), path)
    for path, methods in app_for().openapi()["paths"].items()
    for method in methods
]
every_route = pytest.mark.parametrize(("method", "path"), ROUTES, ids=lambda part: part)


def address(path: str) -> str:
    return re.sub(r"\{\w+\}", "x", path)


@every_route
def test_another_host_is_refused(method: str, path: str) -> None:
    client = HttpClient(app_for("braid.example"))

    refused = client.request(method, address(path), headers={"host": "other.example"})
    known = client.request(method, address(path), headers={"host": "braid.example"})

    assert known.status_code != 421
    if path in PROBES:
        assert refused.status_code != 421
        return
    assert (refused.status_code, refused.json()["code"]) == (421, "host_refused")
    assert refused.headers["x-request-id"] == refused.json()["request_id"]


@every_route
def test_the_id_of_a_request_is_in_the_answer_and_in_one_line_of_the_log(
    method: str, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "braid.service.http.access_log")

    answer = HttpClient(app_for("*")).request(
        method, address(path), headers={"x-request-id": "walk-1"}
    )

    assert answer.headers.get_list("x-request-id") == ["walk-1"]
    logged = [
        record.getMessage()
        for record in caplog.records
        if record.name == "braid.service.http.access_log"
    ]
    assert len(logged) == 1
    assert logged[0].startswith(f"{method} {address(path)} {answer.status_code} ")
    assert logged[0].endswith("request_id=walk-1")


@every_route
def test_a_full_class_is_refused(method: str, path: str) -> None:
    refused = HttpClient(app_for("*", limits=FULL)).request(method, address(path))

    if class_of(method, address(path)) is None:
        assert (path, refused.status_code) == ("/health", 200)
        return
    limits = FULL.classes[class_of(method, address(path)) or RequestClass.READ]
    assert (refused.status_code, refused.json()["code"]) == (429, limits.refusal.value)
    assert refused.headers["retry-after"] == str(limits.retry_after)
    assert refused.headers["content-type"] == "application/problem+json"


@every_route
def test_what_changes_something_needs_a_media_type_that_no_form_has(method: str, path: str) -> None:
    refused = HttpClient(app_for("*")).request(
        method, address(path), headers={"content-type": "text/plain"}, content=b"{}"
    )

    assert (refused.status_code == 415) == (method in STATE_CHANGING)


@pytest.mark.parametrize("query", ["id=7", "id=7&columns=id", "", "id=x", "id=7&tag=none"])
@pytest.mark.parametrize("headers", [{}, {"if-none-match": "*"}], ids=["any", "known"])
@pytest.mark.parametrize("path", ["rows", "rows/status"])
def test_rows_are_answered_before_the_framework_as_by_it(
    shop: HttpClient, path: str, query: str, headers: dict[str, str]
) -> None:
    app = shop.app
    assert isinstance(app, BraidApp)
    shop.put("/v1/tables/shop/orders", json=ORDERS)
    framework = create_app(
        app.state.components.settings,
        file_io=app.state.components.file_io,
        clock=app.state.components.clock,
    )
    routes = RouteScopes(framework.routes)
    # Without the layer that answers rows.
    framework.wrap(lambda inner: RequestContext(AccessLayer(inner, routes=routes, identities=None)))
    target, named = f"/v1/tables/shop/orders/{path}?{query}", {"x-request-id": "one", **headers}

    before = shop.get(target, headers=named)
    after = HttpClient(framework).get(target, headers=named)

    assert before.status_code == after.status_code
    assert before.content == after.content
    assert sorted(before.headers.multi_items()) == sorted(after.headers.multi_items())
