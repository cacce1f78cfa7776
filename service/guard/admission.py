"""Admission control: bounds of the number of requests that run at the same time, by class of request.

Requests run in threads, and each may wait for storage. Without bounds, forty slow requests of one kind would occupy
every thread; with bounds, only requests of the same class wait. A request that waits for a snapshot gives its slot back
meanwhile (`request_slot`). The number of waiting requests is bounded too. A
request beyond that bound is refused at once (`ClassLimits.refusal`: clients send more than the service takes), and a waiting
request after `wait_seconds` (`overloaded`: the service is too slow). `/health` has no bound.
"""

import asyncio
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Receive, Scope, Send

from braid.schemas import ProblemCode
from braid.service.guard.asgi_problem import send_problem
from braid.service.guard.request_class import class_of
from braid.service.limits import ClassLimits, RequestLimits
from braid.service.metrics import ServiceMetrics
from braid.service.request_slot import CURRENT, SlotNotFree


@dataclass(slots=True)
class _Gate:
    limits: ClassLimits
    running: asyncio.Semaphore = field(init=False)
    held: int = 0
    waiting: int = 0

    def __post_init__(self) -> None:
        self.running = asyncio.Semaphore(self.limits.running)

    async def enter(self) -> ProblemCode | None:
        """Take a slot, and return None; or return why there is none: too many requests wait, or no slot is free in time."""
        # `locked` is also true while others wait, so that no request overtakes them.
        if not self.running.locked():
            await self.running.acquire()
            self.held += 1
            return None
        if self.waiting >= self.limits.waiting:
            return self.limits.refusal
        assert self.waiting >= 0, "a gate counts only its own waiting requests"
        self.waiting += 1
        try:
            return None if await self.acquired() else ProblemCode.OVERLOADED
        finally:
            self.waiting -= 1

    async def acquired(self) -> bool:
        """Wait for a slot, and return whether one was free in time."""
        try:
            async with asyncio.timeout(self.limits.wait_seconds):
                await self.running.acquire()
        except TimeoutError:
            return False
        self.held += 1
        return True

    def leave(self) -> None:
        """Give a slot back."""
        self.held -= 1
        assert self.held >= 0, "a slot is given back once"
        self.running.release()


class _Slot:
    """The slot of one request (`RequestSlot`), which holds it at first."""

    def __init__(self, gate: _Gate) -> None:
        self._gate = gate
        self._is_held = True

    def give_back(self) -> None:
        """Let another request have the slot, if it is held."""
        if self._is_held:
            self._gate.leave()
        self._is_held = False

    async def take_again(self) -> None:
        """Wait for a slot (see `RequestSlot.take_again`)."""
        # Not counted among the waiting requests, which would refuse those that wait for one snapshot: it has been admitted.
        if not await self._gate.acquired():
            message = "the request has waited for a snapshot, and other requests are running now"
            raise SlotNotFree(message)
        self._is_held = True


class Admission:
    """Runs a bounded number of requests of each class at once."""

    def __init__(self, app: ASGIApp, limits: RequestLimits, metrics: ServiceMetrics) -> None:
        self._app = app
        self._metrics = metrics
        self._gates = {name: _Gate(limits=each) for name, each in limits.classes.items()}
        metrics.sample_with(self._sample)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        request_class = (
            class_of(scope["method"], scope["path"]) if scope["type"] == "http" else None
        )
        if request_class is None:
            await self._app(scope, receive, send)
            return
        gate = self._gates[request_class]
        refusal = await gate.enter()
        if refusal is not None:
            self._metrics.refused.labels(request_class.value, refusal.value).inc()
            await send_problem(
                refusal,
                f"{gate.limits.running} requests of the class `{request_class.value}` are running"
                f"{', and others wait' if gate.limits.waiting else ''}; try again later",
                scope=scope,
                receive=receive,
                send=send,
                headers={"retry-after": str(gate.limits.retry_after)},
            )
            return
        slot = _Slot(gate)
        current = CURRENT.set(slot)
        try:
            await self._app(scope, receive, send)
        finally:
            CURRENT.reset(current)
            slot.give_back()

    def _sample(self) -> None:
        """Set the numbers of requests that run and wait."""
        for name, gate in self._gates.items():
            self._metrics.running.labels(name.value).set(gate.held)
            self._metrics.waiting.labels(name.value).set(gate.waiting)
