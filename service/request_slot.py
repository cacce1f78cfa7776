"""Slot of a request among the concurrent requests of its class, which the request gives back while it waits for something.

`guard/admission` gives a request its slot. A request that waits for a snapshot, or for the answer of a runner, occupies neither a thread
nor its slot meanwhile, so that no other request waits for it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Final, Protocol

from braid.lake import LakeError


class SlotNotFree(LakeError):
    """A request that has given back its slot finds none in time."""


class RequestSlot(Protocol):
    """The slot of one request."""

    def give_back(self) -> None:
        """Let another request have the slot."""
        ...

    async def take_again(self) -> None:
        """Wait for a slot.

        Raises:
            SlotNotFree: None is free in time.
        """
        ...


CURRENT: Final[ContextVar[RequestSlot | None]] = ContextVar("request slot", default=None)
"""The slot of the request that the current task answers; None: it has none."""


@asynccontextmanager
async def without_slot() -> AsyncIterator[None]:
    """Give back the slot of the current request, and take one again at the end; not after an error, which needs none.

    Raises:
        SlotNotFree: None is free in time.
    """
    slot = CURRENT.get()
    if slot is not None:
        slot.give_back()
    yield
    if slot is not None:
        await slot.take_again()
