"""Hundreds of hostile requests get documented answers; `make bench-hostile` sends thousands."""

import asyncio

import httpx
import pytest
from fastapi import FastAPI

from braid.lake import Catalog, ManualClock, MemoryFileIO
from braid.schemas import ProblemDocument
from braid.service.app import create_app
from braid.service.problems.problem_table import STATUS_AND_TITLE
from braid.service.settings import ServiceSettings
from tests.support.hostile.hostile_request import HostileRequest
from tests.support.hostile.requests import hostile_requests
from tests.unit.registry.shop import ORDERS

WAREHOUSE = "/srv/place-of-storage"


def hostile_app() -> FastAPI:
    file_io, clock = MemoryFileIO(), ManualClock()
    catalog = Catalog(WAREHOUSE, file_io=file_io, clock=clock)
    return create_app(
        ServiceSettings(warehouse=WAREHOUSE, hosts=()),
        catalog=catalog,
        file_io=file_io,
        clock=clock,
    )


def fault_of(request: HostileRequest, answer: httpx.Response) -> str | None:
    """Return what is wrong with an answer; None when nothing is."""
    if WAREHOUSE.encode() in answer.content:
        return "the answer tells the place of storage"
    if answer.is_success or request.method == "HEAD":
        return None if answer.status_code < 500 else f"{answer.status_code}"
    if answer.headers.get("content-type") != "application/problem+json":
        return f"{answer.status_code} {answer.headers.get('content-type')}"
    problem = ProblemDocument.model_validate(answer.json())
    if STATUS_AND_TITLE[problem.code][0] != answer.status_code or answer.status_code >= 500:
        return f"{answer.status_code} {problem.code} {problem.detail}"
    if len(answer.content) > 200_000:
        return f"an answer of {len(answer.content)} bytes"
    return None


@pytest.mark.parametrize("seed", range(3))
def test_hostile_requests_get_documented_answers(seed: int) -> None:
    async def run() -> dict[str, str]:
        found: dict[str, str] = {}
        transport = httpx.ASGITransport(hostile_app(), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            await client.put("/v1/tables/shop/orders", json=ORDERS)
            for request in hostile_requests(seed, 130):
                answer = await client.request(
                    request.method,
                    httpx.URL(f"http://localhost{request.target}"),
                    headers=dict(request.headers),
                    content=request.body,
                )
                fault = fault_of(request, answer)
                if fault is not None:
                    found[f"{request.kind}: {request.method} {request.target[:100]}"] = fault
        return found

    assert asyncio.run(run()) == {}


def test_the_same_seed_gives_the_same_requests() -> None:
    assert list(hostile_requests(7, 50)) == list(hostile_requests(7, 50))
