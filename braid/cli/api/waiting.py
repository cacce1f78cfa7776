"""Waits for a state that a service reports: of a stream, as its runner and the table report it, or of an operation."""

import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final, TypeVar

from braid.schemas import StreamState, StreamStatus

if TYPE_CHECKING:
    from braid.client import Stream

_EVERY_SECONDS: Final = 0.5

AnswerT = TypeVar("AnswerT")


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
    return poll(stream.status, lambda status: status.state in states, seconds_max=seconds_max)


def poll(
    read: Callable[[], AnswerT], is_over: Callable[[AnswerT], bool], *, seconds_max: float
) -> AnswerT:
    """Read twice a second, and return what was read once the wait is over, or once the time is.

    Args:
        read: Reads.
        is_over: Whether the wait is over with what was read.
        seconds_max: The longest wait; 0: it is read once.
    """
    end_s = time.monotonic() + seconds_max
    while True:
        answer = read()
        left_s = end_s - time.monotonic()
        if is_over(answer) or left_s <= 0:
            return answer
        time.sleep(min(_EVERY_SECONDS, left_s))
