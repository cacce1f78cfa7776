"""An attack on a service process: hostile requests and connections, many at once, and what happens to it meanwhile."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException
from typing import Final

import httpx

from braid.service.problems.problem_table import STATUS_AND_TITLE
from tests.support.hostile.attacked_service import CALM, AttackedService
from tests.support.hostile.connections import (
    HostileConnection,
    connections_of_every_kind,
    hostile_connections,
)
from tests.support.hostile.hostile_request import HostileRequest
from tests.support.hostile.requests import hostile_requests, requests_of_every_kind
from tests.support.hostile.sent_connections import answers_to

_SENDERS: Final = 8
_OPEN: Final = 200
"""Hostile connections that are open at once; most of them wait for a timeout of the service."""

_SHARE: Final = 0.1  # of the connections among all

_MEASURED: Final = 100
"""Requests until the memory is measured again, and a row is read."""

_STATUS_OF_CODE: Final = {code.value: status for code, (status, _) in STATUS_AND_TITLE.items()}
_RETRIED: Final = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wave:
    """A part of an attack.

    Attributes:
        requests: Sent by clients that behave.
        connections: Opened beside them, as soon as the number of open connections allows.
    """

    requests: Iterable[HostileRequest]
    connections: Iterable[HostileConnection]


def warm_up(seed: int, *, each: int) -> Wave:
    """Return a wave with so many requests and connections of every kind."""
    return Wave(
        requests=requests_of_every_kind(seed, each),
        connections=connections_of_every_kind(seed, each),
    )


def wave(seed: int, *, count: int) -> Wave:
    """Return a wave of so many requests and connections."""
    connections = int(count * _SHARE)
    return Wave(
        requests=hostile_requests(seed, count - connections),
        connections=hostile_connections(seed, connections),
    )


class AttackResults:
    """The results of an attack.

    Attributes:
        statuses: Counts of the answers by status.
        faults: Counts of answers that are not documented, rows that were not served, and other errors.
        memory: Bytes of the service, again and again; the last ones after the last request.
    """

    def __init__(self) -> None:
        self.statuses: Counter[int] = Counter()
        self.faults: Counter[str] = Counter()
        self.memory: list[int] = []

    def add(self, status: int, fault: str | None, *, of: str) -> None:
        """Count an answer."""
        self.statuses[status] += 1
        if fault is not None:
            self.faults[f"{of}: {fault}"] += 1


async def attack(service: AttackedService, *waves: Wave) -> list[AttackResults]:
    """Send waves to a service, one after another, and return the results of each once all has ended.

    The next wave begins when the requests of a wave are answered; its connections, of which some wait for a timeout of the
    service, may last longer.
    """
    results = [AttackResults() for _ in waves]
    address = f"http://127.0.0.1:{service.port}"
    async with (
        httpx.AsyncClient(base_url=address, timeout=60) as client,
        asyncio.TaskGroup() as opened,
    ):
        for sent, found in zip(waves, results, strict=True):
            requests, connections = iter(sent.requests), iter(sent.connections)
            for _ in range(_OPEN):
                opened.create_task(_open_all(connections, service, found))
            async with asyncio.TaskGroup() as senders:
                for _ in range(_SENDERS):
                    senders.create_task(_send_all(client, requests, service, found))
            found.memory.append(service.memory())
    return results


async def _send_all(
    client: httpx.AsyncClient,
    requests: Iterator[HostileRequest],
    service: AttackedService,
    found: AttackResults,
) -> None:
    for number, request in enumerate(requests):
        await _send(client, request, found)
        if number % _MEASURED == 0:
            found.memory.append(service.memory())
            await _read_row(client, found)


async def _send(client: httpx.AsyncClient, request: HostileRequest, found: AttackResults) -> None:
    url = httpx.URL(f"{client.base_url}".rstrip("/") + request.target)
    of = f"{request.kind}: {request.method} {request.target[:80]}"
    try:
        answer = await client.request(
            request.method, url, headers=dict(request.headers), content=request.body
        )
    except (httpx.TransportError, httpx.InvalidURL) as error:
        found.faults[f"{of}: {type(error).__name__}"] += 1
        return
    is_bare = request.method == "HEAD"
    fault = _fault(answer.status_code, answer.headers, None if is_bare else answer.content)
    found.add(answer.status_code, fault, of=of)


async def _read_row(client: httpx.AsyncClient, found: AttackResults) -> None:
    """Read a row of a table that is not attacked."""
    database, _, table = CALM.partition(".")
    answer = await client.get(f"/v1/tables/{database}/{table}/rows", params={"id": 1})
    if not answer.is_success or answer.json()["row"]["total"] != 7:
        found.faults[f"a row is not served: {answer.status_code} {answer.text[:200]}"] += 1


async def _open_all(
    connections: Iterator[HostileConnection], service: AttackedService, found: AttackResults
) -> None:
    for connection in connections:
        of = f"{connection.kind}: {connection.sent[:80]!r}"
        try:
            answers = await answers_to(service.port, connection)
        except (OSError, EOFError, TimeoutError, HTTPException, ValueError) as error:
            found.faults[f"{of}: {error!r}"] += 1
            continue
        for answer in answers:
            found.add(answer.status, _fault(answer.status, answer.headers, answer.body), of=of)
        last = answers[-1].status if answers else None
        # On a busy machine any client may be too slow.
        expected = (connection.status, HTTPStatus.REQUEST_TIMEOUT)
        if connection.status is not None and last not in expected:
            found.faults[f"{of}: {last} is the last answer, expected {connection.status}"] += 1


def _fault(status: int, headers: Mapping[str, str], body: bytes | None) -> str | None:
    """Return what is wrong with an answer; None if nothing is.

    Args:
        status: Its status.
        headers: Its headers.
        body: Its body; None: that of an answer that has none.
    """
    if status in _RETRIED and "retry-after" not in headers:
        return f"{status} without `retry-after`"
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR and status != HTTPStatus.SERVICE_UNAVAILABLE:
        return f"{status} {body!r}"
    if status < HTTPStatus.BAD_REQUEST or body is None:
        return None
    if headers.get("content-type") != "application/problem+json":
        return f"{status} is not a problem document"
    code = json.loads(body)["code"]
    return None if _STATUS_OF_CODE.get(code) == status else f"{status} {code}"
