"""The streams of a table's document, and what is wanted of them.

Pure.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from registry.errors import StreamNotFound, StreamNotRunning
from schemas import DesiredState, StreamEntry, StreamState, TableDocument


class Verb(StrEnum):
    """What is asked of a stream, in Kafka Connect's words."""

    START = "start"
    PAUSE = "pause"
    RESUME = "resume"
    RESTART = "restart"
    STOP = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbEffect:
    """What has come of a verb.

    Attributes:
        entry: The stream and what is wanted of it from now on.
        message: What was done, or why there was nothing to do.
    """

    entry: StreamEntry
    message: str


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


def entry_after_verb(entry: StreamEntry, verb: Verb, *, seen: StreamState | None) -> VerbEffect:
    """Return a stream after something was asked of it.

    `start` and `resume` are the same but for their words: a stream that is not wanted to run is
    wanted to from now on, and one that failed or waits tries again at once.

    Args:
        entry: The stream and what is wanted of it so far.
        verb: What is asked.
        seen: What a living runner reports of it; None: no runner has it.

    Raises:
        StreamNotRunning: A stream that is not wanted to run was to be restarted.
    """
    match verb:
        case Verb.START | Verb.RESUME:
            return _run(entry, seen)
        case Verb.RESTART:
            if entry.desired_state is not DesiredState.RUNNING:
                state = entry.desired_state.value
                hint = "`resume`" if entry.desired_state is DesiredState.PAUSED else "`start`"
                message = f"the stream {entry.spec.name} is {state}: {hint} makes it run"
                raise StreamNotRunning(message)
            return _again(entry, f"its query is replaced by a new one{_when(seen)}")
        case Verb.PAUSE:
            return _hold(
                entry, DesiredState.PAUSED, "its runner reads nothing more until `resume`", seen
            )
        case Verb.STOP:
            done = "its runner lets it go; its position stays in the table"
            return _hold(entry, DesiredState.STOPPED, done, seen)
        case _:
            assert_never(verb)


def _run(entry: StreamEntry, seen: StreamState | None) -> VerbEffect:
    if entry.desired_state is not DesiredState.RUNNING:
        before = entry.desired_state.value
        return _again(entry, f"was {before}, goes on where it ended{_when(seen)}")
    if seen in (StreamState.FAILED, StreamState.RETRYING):
        return _again(entry, f"was {seen.value}, tries again at once")
    if seen is None:
        # A runner that has it and is only slow to say so is not kept from trying again.
        return _again(entry, f"is wanted to run already{_when(seen)}")
    if seen in (StreamState.PAUSED, StreamState.STOPPED):
        # Its runner has not read yet what was asked for before.
        until = f"{seen.value} until its runner follows"
        message = f"is wanted to run already, and {until}: nothing to do"
        return VerbEffect(entry=entry, message=message)
    return VerbEffect(entry=entry, message=f"is {seen.value} already: nothing to do")


def _hold(
    entry: StreamEntry, wanted: DesiredState, done: str, seen: StreamState | None
) -> VerbEffect:
    if entry.desired_state is wanted:
        return VerbEffect(entry=entry, message=f"is to be {wanted.value} already: nothing to do")
    if seen is None:
        done = "no runner has it, so nothing has to end"
    return VerbEffect(entry=entry.model_copy(update={"desired_state": wanted}), message=done)


def _again(entry: StreamEntry, message: str) -> VerbEffect:
    generation = entry.restart_generation + 1
    update = {"desired_state": DesiredState.RUNNING, "restart_generation": generation}
    return VerbEffect(entry=entry.model_copy(update=update), message=message)


def _when(seen: StreamState | None) -> str:
    return "" if seen is not None else "; no runner has it: it runs as soon as one takes it up"


def with_entry(document: TableDocument, entry: StreamEntry) -> TableDocument:
    """Return the document with a stream, in the place of the one of its name if there is one."""
    streams = dict(document.streams) | {entry.spec.name: entry}
    return document.model_copy(update={"streams": streams})
