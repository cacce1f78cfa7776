"""The streams of a table's document, and what is wanted of them.

Pure.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import assert_never

from registry.errors import StreamNotFound
from schemas import DesiredState, StreamEntry, TableDocument


class Verb(StrEnum):
    """What is asked of a stream, in Kafka Connect's words."""

    START = "start"
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"


def entry_of(document: TableDocument, stream: str) -> StreamEntry:
    """Return a stream of a table.

    Raises:
        StreamNotFound: The table has no such stream; the message lists those it has.
    """
    entry = document.streams.get(stream)
    if entry is None:
        known = ", ".join(sorted(document.streams)) or "none"
        message = f"the table {document.identifier} has no stream {stream}; it has: {known}"
        raise StreamNotFound(message)
    return entry


def entry_after(entry: StreamEntry, verb: Verb, *, is_running: bool) -> StreamEntry:
    """Return a stream after something was asked of it.

    Args:
        entry: The stream and what is wanted of it so far.
        verb: What is asked.
        is_running: Whether a runner reports the stream as starting or running.
    """
    match verb:
        case Verb.START:
            is_fine = is_running and entry.desired_state is DesiredState.RUNNING
            generation = entry.restart_generation + (0 if is_fine else 1)
            update: Mapping[str, object] = {
                "desired_state": DesiredState.RUNNING,
                "restart_generation": generation,
            }
        case Verb.RESUME:
            update = {"desired_state": DesiredState.RUNNING}
        case Verb.PAUSE:
            update = {"desired_state": DesiredState.PAUSED}
        case Verb.STOP:
            update = {"desired_state": DesiredState.STOPPED}
        case _:
            assert_never(verb)
    return entry.model_copy(update=dict(update))


def with_entry(document: TableDocument, entry: StreamEntry) -> TableDocument:
    """Return the document with a stream, in the place of the one of its name if there is one."""
    streams = dict(document.streams) | {entry.spec.name: entry}
    return document.model_copy(update={"streams": streams})
