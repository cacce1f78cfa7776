"""Streams of a table's document: their desired states, the lifecycle verbs that change them, and their completion.

Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, assert_never

from braid.registry.errors import (
    RegistryError,
    StreamNotFound,
    StreamNotRunning,
    StreamNotStopped,
)
from braid.registry.live_fields import writes_alike
from braid.registry.store.stored_documents import features_of
from braid.schemas import DesiredState, StreamEntry, StreamSpec, StreamState, TableDocument


class Verb(StrEnum):
    """A lifecycle verb, named as in Kafka Connect."""

    START = "start"
    PAUSE = "pause"
    RESUME = "resume"
    RESTART = "restart"
    STOP = "stop"


_FAILED: Final = (StreamState.FAILED, StreamState.RETRYING)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbEffect:
    """The effect of a verb on a stream.

    Attributes:
        entry: The stream with its desired state from now on.
        message: What was done, or why there was nothing to do.
    """

    entry: StreamEntry
    message: str


def entry_of(document: TableDocument, stream: str) -> StreamEntry:
    """Return a stream of a table.

    Raises:
        StreamNotFound: The table has no such stream; the message lists its streams.
    """
    entry = document.streams.get(stream)
    if entry is None:
        known = ", ".join(sorted(document.streams)) or "none"
        message = f"the table {document.identifier} has no stream {stream}; it has: {known}"
        raise StreamNotFound(message)
    return entry


def stopped_entry(document: TableDocument, stream: str) -> StreamEntry:
    """Return a stream of a table whose desired state is STOPPED.

    Raises:
        StreamNotFound: The table has no such stream.
        StreamNotStopped: Its desired state is another one.
    """
    entry = entry_of(document, stream)
    if entry.desired_state is not DesiredState.STOPPED:
        message = (
            f"the desired state of the stream {stream} of {document.identifier} is "
            f"{entry.desired_state.value}\n"
            "hint: stop it, and wait until its runner has released it"
        )
        raise StreamNotStopped(message)
    return entry


def entry_after_verb(
    entry: StreamEntry,
    verb: Verb,
    *,
    reported: StreamState | None,
    only_failed: bool = False,
) -> VerbEffect:
    """Return a stream after a lifecycle verb.

    `start` and `resume` have the same effect: the desired state becomes RUNNING, a stream that failed or
    waits for a retry tries again at once, and one that has completed reads what its topic holds now.

    Args:
        entry: The stream with its desired state so far.
        verb: The verb.
        reported: State that a living runner reports; None: no runner has the stream.
        only_failed: Restart the stream only if it has failed or waits for another attempt.

    Raises:
        StreamNotRunning: `restart` of a stream whose desired state is not RUNNING.
    """
    starts = verb in (Verb.START, Verb.RESUME, Verb.RESTART)
    if starts and entry.spec.is_from_spark and entry.desired_state is DesiredState.RUNNING:
        return VerbEffect(entry=entry, message="Spark programs may write it already: nothing to do")
    match verb:
        case Verb.START | Verb.RESUME:
            return _run(entry, reported)
        case Verb.RESTART:
            if only_failed and reported not in _FAILED:
                found = "no runner has it" if reported is None else f"is {reported.value}"
                return VerbEffect(
                    entry=entry, message=f"{found}, so it has not failed: nothing to do"
                )
            if entry.desired_state is not DesiredState.RUNNING:
                state = entry.desired_state.value
                hint = "`resume`" if entry.desired_state is DesiredState.PAUSED else "`start`"
                message = f"the stream {entry.spec.name} is {state}: {hint} makes it run"
                raise StreamNotRunning(message)
            return _restarted(
                entry, f"its query is replaced by a new one{_without_runner(entry, reported)}"
            )
        case Verb.PAUSE:
            done = "its runner reads nothing more until `resume`"
            if entry.spec.is_from_spark:
                done = "writes of Spark programs are refused until `resume`"
            return _held(entry, DesiredState.PAUSED, done, reported)
        case Verb.STOP:
            done = "its runner releases it; its position stays in the table"
            if entry.spec.is_from_spark:
                done = "writes of Spark programs are refused until `start`"
            return _held(entry, DesiredState.STOPPED, done, reported)
        case _:
            assert_never(verb)


def after_verbs(
    document: TableDocument,
    verb: Verb,
    reported: Mapping[str, StreamState | None],
    *,
    only_failed: bool = False,
) -> tuple[TableDocument, dict[str, str | RegistryError]]:
    """Return a table after a verb for several of its streams, and by stream what is done or why the verb is refused for it.

    Args:
        document: The table.
        verb: The verb.
        reported: The streams, each with the state that a living runner reports; None: no runner has it.
        only_failed: As for `entry_after_verb`.
    """
    effects: dict[str, str | RegistryError] = {}
    for stream, state in reported.items():
        try:
            effect = entry_after_verb(
                entry_of(document, stream), verb, reported=state, only_failed=only_failed
            )
        except (StreamNotFound, StreamNotRunning) as error:
            effects[stream] = error
        else:
            effects[stream] = effect.message
            document = with_entry(document, effect.entry)
    return document, effects


def _run(entry: StreamEntry, reported: StreamState | None) -> VerbEffect:
    if entry.desired_state is not DesiredState.RUNNING:
        before = entry.desired_state.value
        return _restarted(
            entry, f"was {before}, continues at its position{_without_runner(entry, reported)}"
        )
    if entry.is_completed:
        done = "had completed, reads what its topic holds now"
        return _restarted(entry, f"{done}{_without_runner(entry, reported)}")
    if reported in _FAILED:
        return _restarted(entry, f"was {reported.value}, tries again at once")
    if reported is None:
        # A runner that has the stream may only be late with its report: it has to try again too.
        return _restarted(
            entry, f"its desired state is RUNNING already{_without_runner(entry, reported)}"
        )
    if reported in (StreamState.PAUSED, StreamState.STOPPED):
        # Its runner has not read the desired state yet.
        until = f"the stream is {reported.value} until its runner has read the desired state"
        message = f"its desired state is RUNNING already; {until}: nothing to do"
        return VerbEffect(entry=entry, message=message)
    return VerbEffect(entry=entry, message=f"is {reported.value} already: nothing to do")


def changed_entry(entry: StreamEntry, spec: StreamSpec) -> StreamEntry:
    """Return a registered stream with another declaration; its runner applies the new version.

    A stream that has completed reads once more, by the new declaration. Labels and owner concern no runner.
    """
    if writes_alike(entry.spec, spec):
        return entry if entry.spec == spec else entry.model_copy(update={"spec": spec})
    changed = {
        "spec": spec,
        "version": entry.version + 1,
        "features": features_of(spec, besides=entry.features),
        "restart_generation": entry.restart_generation + entry.is_completed,
    }
    return entry.model_copy(update=changed)


def completed_entry(entry: StreamEntry, *, generation: int) -> StreamEntry:
    """Return a stream after a query has read all that it was started for.

    Args:
        entry: The stream.
        generation: `restart_generation` of the entry that the query was started for. If it has grown since, the
            stream was started again, and goes on.
    """
    return entry.model_copy(update={"completed_generation": generation})


def _held(
    entry: StreamEntry, state: DesiredState, done: str, reported: StreamState | None
) -> VerbEffect:
    if entry.desired_state is state:
        return VerbEffect(
            entry=entry, message=f"its desired state is {state.value} already: nothing to do"
        )
    if reported is None and not entry.spec.is_from_spark:
        done = "no runner has it, so nothing has to end"
    return VerbEffect(entry=entry.model_copy(update={"desired_state": state}), message=done)


def _restarted(entry: StreamEntry, message: str) -> VerbEffect:
    # The runner compares generations: the desired state may be RUNNING already and would not change.
    generation = entry.restart_generation + 1
    update = {"desired_state": DesiredState.RUNNING, "restart_generation": generation}
    return VerbEffect(entry=entry.model_copy(update=update), message=message)


def _without_runner(entry: StreamEntry, reported: StreamState | None) -> str:
    if reported is not None or entry.spec.is_from_spark:
        return ""
    return "; no runner has it: it runs as soon as a runner takes it"


def with_entry(document: TableDocument, entry: StreamEntry) -> TableDocument:
    """Return the document with a stream, which replaces one of the same name."""
    streams = dict(document.streams) | {entry.spec.name: entry}
    return document.model_copy(update={"streams": streams})
