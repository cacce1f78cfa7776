"""The application as a whole."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from braid.lake import ManualClock, MemoryFileIO
from braid.service.app import _made_openapi_body, create_app
from braid.service.settings import ServiceSettings
from tests.support.faulty_file_io import FaultyFileIO
from tests.unit.service.http_client import HttpClient


def test_openapi_is_served_and_problems_have_their_media_type(client: HttpClient) -> None:
    document = client.get("/v1/openapi.json").json()

    assert document["components"]["schemas"]["Problem"]["title"] == "Problem"
    assert "ProblemDocument" not in str(document)
    assert "HTTPValidationError" not in document["components"]["schemas"]
    for path, operations in document["paths"].items():
        for operation in operations.values():
            responses = operation["responses"]
            assert responses.keys() >= {"400", "413", "500"}, path
            model = {"schema": {"$ref": "#/components/schemas/Problem"}}
            for status, response in responses.items():
                if status >= "400":
                    assert response["content"] == {"application/problem+json": model}, path


def test_openapi_is_the_same_when_requested_twice(client: HttpClient) -> None:
    assert client.get("/v1/openapi.json").json() == client.get("/v1/openapi.json").json()


def test_openapi_is_made_once_for_those_who_ask_at_once(client: HttpClient) -> None:
    _made_openapi_body.cache_clear()

    with ThreadPoolExecutor(4) as pool:
        answers = set(pool.map(lambda _: client.get("/v1/openapi.json").content, range(4)))

    assert len(answers) == 1
    assert _made_openapi_body.cache_info().misses == 1


def test_ready_tries_the_warehouse_and_leaves_nothing_there(
    shop: HttpClient, file_io: MemoryFileIO
) -> None:
    before = file_io.list("/w")

    answer = shop.get("/ready")

    assert file_io.list("/w") == before
    assert (answer.status_code, answer.json()) == (200, {"status": "ready"})


def test_a_warehouse_that_is_not_there_is_not_ready_and_not_created(
    client: HttpClient, file_io: MemoryFileIO, caplog: pytest.LogCaptureFixture
) -> None:
    answer = client.get("/ready")

    assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")
    assert answer.headers["retry-after"] == "1"
    assert "/w" not in answer.text
    assert "the warehouse /w does not exist" in caplog.text
    assert not file_io.exists("/w")


def test_a_process_that_ends_is_not_ready_and_answers_on(
    shop: HttpClient, caplog: pytest.LogCaptureFixture
) -> None:
    shop.app.state.components.lifecycle.end()

    ready = shop.get("/ready")

    assert (ready.status_code, ready.json()["code"]) == (503, "not_ready")
    assert "this process of the service ends" in ready.json()["detail"]
    assert shop.get("/v1/tables/shop/orders").is_success
    assert "request failed" not in caplog.text  # nothing has


def test_health_answers_beside_requests_that_wait_for_storage(file_io: MemoryFileIO) -> None:
    may_end = threading.Event()

    def wait(*_: object) -> None:
        may_end.wait(60)

    stuck = FaultyFileIO(file_io)
    stuck.before = wait
    app = create_app(ServiceSettings(warehouse="/w"), file_io=stuck, clock=ManualClock())

    async def check() -> int:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://braid") as client:
            # As many as the framework has threads, and they all wait.
            waiting = [asyncio.create_task(client.get("/v1/tables")) for _ in range(40)]
            await asyncio.sleep(0)
            try:
                health = await asyncio.wait_for(client.get("/health"), timeout=20)
            finally:
                may_end.set()
                await asyncio.gather(*waiting)
            return health.status_code

    assert asyncio.run(check()) == 200


def test_health_has_version_and_uptime(client: HttpClient) -> None:
    health = client.get("/health").json()

    assert health["status"] == "alive"
    assert health["uptime_seconds"] == 0
