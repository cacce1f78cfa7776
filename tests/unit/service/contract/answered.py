"""Problem of an answer, or of the event with which a subscription ends."""

from dataclasses import dataclass

import httpx

from braid.service.problems.problem_response import MEDIA_TYPE
from tests.support.server_sent_events import events_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """An answer.

    Attributes:
        status: The status of the problem; without a problem, that of the answer.
        code: The code of the problem; None: there is none.
    """

    status: int
    code: str | None


def answered(answer: httpx.Response) -> Answered:
    """Return the problem of an answer; the events of a subscription end with an `error` that is one."""
    found = answer.json() if answer.headers.get("content-type") == MEDIA_TYPE else None
    if answer.headers.get("content-type", "").startswith("text/event-stream"):
        errors = [one.data for one in events_of(answer.text.split("\n")) if one.event == "error"]
        found = errors[-1] if errors else None
    if found is None:
        return Answered(status=answer.status_code, code=None)
    return Answered(status=found["status"], code=found["code"])
