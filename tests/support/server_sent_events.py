"""Server-sent events as tests read them, in the order of their arrival."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event; `id` is the last one that was sent, as a client remembers it."""

    event: str
    id: str | None
    data: Any


def events_of(lines: Iterable[str], *, last_id: str | None = None) -> Iterator[Event]:
    """Yield the events of the lines of an answer, as soon as each is complete."""
    event, data = "message", ""
    for line in lines:
        name, _, value = line.partition(": ")
        if name == "event":
            event = value
        elif name == "data":
            data += value
        elif name == "id":
            last_id = value
        elif not line and data:
            yield Event(event=event, id=last_id, data=orjson.loads(data))
            event, data = "message", ""
