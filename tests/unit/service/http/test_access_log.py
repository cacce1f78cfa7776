"""Every request leaves one line: method, path, status, milliseconds, request id."""

import asyncio
import logging
from collections.abc import MutableMapping
from typing import Any

import pytest

from braid.service.http.access_log import AccessLog
from braid.service.metrics import ServiceMetrics
from tests.unit.service.access.guarded import Guarded
from tests.unit.service.http_client import HttpClient


@pytest.fixture(autouse=True)
def _level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="braid.service.http.access_log")


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.name == "braid.service.http.access_log"]


def test_an_answer_and_a_refusal_leave_a_line_each(
    shop: HttpClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.clear()
    shop.get("/v1/tables/shop/orders", headers={"x-request-id": "mine"})
    made = shop.get("/v1/tables/shop/nope?id=secret").headers["x-request-id"]

    first, second = (line.split() for line in lines(caplog))
    assert (first[:3], first[-1]) == (["GET", "/v1/tables/shop/orders", "200"], "request_id=mine")
    assert (second[:3], second[-1]) == (
        ["GET", "/v1/tables/shop/nope", "404"],
        f"request_id={made}",
    )
    assert float(first[3]) >= 0
    assert first[4] == "ms"


def test_the_line_of_a_request_with_a_token_names_its_client(
    caplog: pytest.LogCaptureFixture,
) -> None:
    service = Guarded()
    token = service.token("dashboard", "read:shop.*")
    service.request("GET", "/v1/tables/shop/nope", token)
    service.request("DELETE", "/v1/tables/shop/nope?confirm=shop.nope", token)
    service.request("GET", "/v1/tables/shop/nope")

    read, refused, unknown = lines(caplog)
    assert " 404 " in read
    assert " 403 " in refused
    assert [line.split()[-1] for line in (read, refused)] == ["client=dashboard"] * 2
    assert "client" not in unknown


def test_a_path_cannot_make_a_line_of_its_own(
    client: HttpClient, caplog: pytest.LogCaptureFixture
) -> None:
    client.get("/v1/tables/a%0A2026-01-01%20GET%20/forged")

    (line,) = lines(caplog)
    assert "\n" not in line
    assert "a%0A2026" in line


def test_a_request_that_breaks_off_leaves_a_line(caplog: pytest.LogCaptureFixture) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise ConnectionResetError

    async def no_send(message: MutableMapping[str, Any]) -> None: ...

    async def no_receive() -> MutableMapping[str, Any]:
        return {}

    scope = {"type": "http", "method": "GET", "path": "/x\ny"}
    times = iter([1.0, 1.25])
    with pytest.raises(ConnectionResetError):
        asyncio.run(
            AccessLog(app, ServiceMetrics(), seconds=lambda: next(times))(
                scope, no_receive, no_send
            )
        )

    assert lines(caplog) == ["GET /x\\ny unanswered 250.0 ms request_id=-"]
