"""Provocations by the layers that bound and check requests, and by the protocol of the connection."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace

from braid.schemas.merge_patch import MEDIA_TYPE as MERGE_PATCH
from braid.service.guard.request_class import STATE_CHANGING
from braid.service.limits import BodyLimits, ClassLimits, RequestClass, RequestLimits
from tests.unit.service.contract.answered import Answered, answered
from tests.unit.service.contract.deployment import Deployment
from tests.unit.service.contract.documented import Operation
from tests.unit.service.contract.valid_requests import request_for
from tests.unit.service.http.test_protocol import Connection, Timers, problem_in

_HEAD_BYTES = 1_000
_LIMITS = RequestLimits(head_bytes=_HEAD_BYTES)
_SMALL_CHUNKS = b"1\r\nx\r\n" * 2_001


def malformed(operation: Operation) -> Answered:
    """A body that is not text; where there is no body, a head with two hosts."""
    if operation.method in STATE_CHANGING:
        return answered(Deployment().answer(operation, body=b"\0"))
    return _over_connection(operation, b"host: a\r\nhost: b\r\n\r\n")


def late(operation: Operation) -> Answered:
    """A body, or where there is none a head, that does not end."""
    if operation.method not in STATE_CHANGING:
        return _over_connection(operation, b"host: a\r\nx: ", is_late=True)

    async def endless() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    service = Deployment(limits=RequestLimits(body_seconds=0.0))
    media_type = MERGE_PATCH if operation.method == "PATCH" else "application/json"
    request = request_for(operation)
    answer = service.client.request(
        operation.method,
        request.address(operation),
        content=endless(),
        headers={"content-type": media_type},
    )
    return answered(answer)


def too_much(operation: Operation) -> Answered:
    """A body that is too large; of a request without one, too many small chunks."""
    if operation.method not in STATE_CHANGING:
        return _over_connection(
            operation, b"host: a\r\ntransfer-encoding: chunked\r\n\r\n", _SMALL_CHUNKS
        )
    body = BodyLimits(bytes=10, values=10)
    service = Deployment(limits=RequestLimits(body=body, bulk_body=body))
    return answered(service.answer(operation, body=b" " * 11))


def large_head(operation: Operation) -> Answered:
    """A header that is too large."""
    return _over_connection(operation, b"host: a\r\nx: " + b"y" * _HEAD_BYTES)


def another_host(operation: Operation) -> Answered:
    """A host that the service does not answer to."""
    service = Deployment(hosts=("braid.example",))
    return answered(service.answer(operation, headers={"host": "other.example"}))


def another_site(operation: Operation) -> Answered:
    """The origin of a page of another site."""
    return answered(Deployment().answer(operation, headers={"origin": "https://other.example"}))


def not_accepted(operation: Operation) -> Answered:
    """A client that accepts images alone."""
    return answered(Deployment().answer(operation, headers={"accept": "image/png"}))


def another_media_type(operation: Operation) -> Answered:
    """A body that is sent as a form."""
    form = {"content-type": "application/x-www-form-urlencoded"}
    return answered(Deployment().answer(operation, headers=form))


def many_requests(operation: Operation) -> Answered:
    """No slot, and no place to wait; subscriptions have a refusal of their own, and are refused so where bodies have no room."""
    if operation.path.endswith("/rows/events"):
        service = Deployment(limits=RequestLimits(buffered_bytes=1))
        return answered(service.answer(operation))
    return answered(Deployment(limits=_full(waiting=0)).answer(operation))


def many_subscriptions(operation: Operation) -> Answered:
    """No slot for a subscription."""
    return answered(Deployment(limits=_full(waiting=0)).answer(operation))


def overloaded(operation: Operation) -> Answered:
    """No slot in time."""
    return answered(Deployment(limits=_full(waiting=1)).answer(operation))


def _full(*, waiting: int) -> RequestLimits:
    known = RequestLimits()
    classes: dict[RequestClass, ClassLimits] = {
        name: replace(one, running=0, waiting=waiting, wait_seconds=0.0)
        for name, one in known.classes.items()
    }
    return replace(known, classes=classes)


def _over_connection(
    operation: Operation, rest: bytes, body: bytes = b"", *, is_late: bool = False
) -> Answered:
    """Return the answer to the beginning of a request and a rest of its head, or of its body, over a connection of its own."""
    address = request_for(operation).address(operation)
    with closing(Timers()) as loop:
        connection = Connection(loop, limits=_LIMITS, app=Deployment().app)
        connection.send(f"{operation.method} {address} HTTP/1.1\r\n".encode() + rest + body)
        if is_late:
            loop.fire()
        problem = problem_in(connection.client.got)
        loop.run_until_complete(_end_requests())
    return Answered(status=problem["status"], code=problem["code"])


async def _end_requests() -> None:
    """End what the service does for a request that was refused while it came."""
    requests = asyncio.all_tasks() - {asyncio.current_task()}
    for request in requests:
        request.cancel()
    await asyncio.gather(*requests, return_exceptions=True)
