"""The wait until a stream has a state, as its runner and the table report it."""

import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from braid.schemas import StreamState, StreamStatus

if TYPE_CHECKING:
    from braid.client import Stream

_EVERY_SECONDS: Final = 0.5


def wait_for_state(
    stream: "Stream", states: Collection[StreamState], *, seconds_max: float
) -> StreamStatus:
    """Return the status of a stream once it has one of some states, or once the time is over.

    Args:
        stream: The stream, of a client.
        states: The states.
        seconds_max: The longest wait.

    Raises:
        BraidError: The service refuses, or does not answer.
    """
    end_s = time.monotonic() + seconds_max
    while True:
        status = stream.status()
        left_s = end_s - time.monotonic()
        if status.state in states or left_s <= 0:
            return status
        time.sleep(min(_EVERY_SECONDS, left_s))
