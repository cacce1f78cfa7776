"""Bounds of the requests that are worked on at once, by class.

Requests run in threads, and storage may keep each of them waiting. Without bounds forty slow ones
of any kind would hold every thread; with them a class waits for itself, and tells so early.
"""

import asyncio
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Receive, Scope, Send

from schemas import ProblemCode
from service.guard.asgi_problem import send_problem
from service.guard.limits import ClassLimits, RequestLimits
from service.guard.request_class import class_of

_RETRY = {"retry-after": "1"}


@dataclass(slots=True)
class _Gate:
    limits: ClassLimits
    running: asyncio.Semaphore = field(init=False)
    waiting: int = 0

    def __post_init__(self) -> None:
        self.running = asyncio.Semaphore(self.limits.running)

    async def enter(self) -> bool:
        """Take a place, or return False when there is none in time."""
        if not self.running.locked():
            await self.running.acquire()
            return True
        if self.waiting >= self.limits.waiting:
            return False
        self.waiting += 1
        try:
            async with asyncio.timeout(self.limits.wait_seconds):
                await self.running.acquire()
        except TimeoutError:
            return False
        finally:
            self.waiting -= 1
        return True


class Admission:
    """Lets so many requests of each class through at once."""

    def __init__(self, app: ASGIApp, limits: RequestLimits) -> None:
        self._app = app
        self._gates = {name: _Gate(limits=each) for name, each in limits.classes.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        request_class = (
            class_of(scope["method"], scope["path"]) if scope["type"] == "http" else None
        )
        if request_class is None:
            await self._app(scope, receive, send)
            return
        gate = self._gates[request_class]
        if not await gate.enter():
            await send_problem(
                ProblemCode.OVERLOADED,
                f"{gate.limits.running} requests of the class `{request_class.value}` are worked "
                "on, and others wait; try again later",
                scope=scope,
                receive=receive,
                send=send,
                headers=_RETRY,
            )
            return
        try:
            await self._app(scope, receive, send)
        finally:
            gate.running.release()
