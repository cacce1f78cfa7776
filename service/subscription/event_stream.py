"""Answer with the events of a subscription: ends with an `error` event where the subscription fails, so that clients know why.

It also ends so when the client may not read the rows any more: before each event its token is checked again.
"""

from collections.abc import AsyncGenerator

from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from braid.lake import LakeError
from braid.registry.errors import RegistryError
from braid.schemas import ProblemCode
from braid.service.lifecycle import ServiceStops
from braid.service.problems.error_handlers import on_own_error
from braid.service.problems.problem_response import problem_response
from braid.service.subscription.server_sent_events import MEDIA_TYPE, RETRY, server_sent_event
from braid.service.subscription.subscription import Subscription

_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


class EventStream(StreamingResponse):
    """Streams the events of a subscription, and leaves its feed at the end, however it comes."""

    def __init__(self, request: Request, subscription: Subscription) -> None:
        """Take over a subscription that was opened for a request."""
        self._subscription = subscription
        self._events = _events(request, subscription)
        super().__init__(self._events, media_type=MEDIA_TYPE, headers=_HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client goes."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._events.aclose()
            self._subscription.feed.leave()


async def _events(request: Request, subscription: Subscription) -> AsyncGenerator[bytes]:
    events = subscription.events()
    try:
        async for event in events:
            refusal = await request.state.access_refusal()
            if refusal is not None:
                yield _error_event(request, refusal.code, refusal.detail)
                return
            yield event
    except (LakeError, RegistryError) as error:
        problem = await on_own_error(request, error)
        if isinstance(error, ServiceStops):
            yield RETRY
        yield server_sent_event("error", bytes(problem.body))
    finally:
        await events.aclose()


def _error_event(request: Request, code: ProblemCode, detail: str) -> bytes:
    problem = problem_response(
        code, detail, instance=request.url.path, request_id=request.state.request_id
    )
    return server_sent_event("error", bytes(problem.body))
