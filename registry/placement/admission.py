"""Admission: which runners may have a stream, and the reason in words if none has it. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from braid.registry.placement.assignment import Assignment, Member

NO_RUNNER: Final = "no runner is alive"


@dataclass(frozen=True, slots=True, kw_only=True)
class NeededStream:
    """A stream that needs a runner.

    Attributes:
        key: `<database>.<table>/<stream>`.
        labels: The labels that its runner has to have.
        features: The features of documents that its runner has to know.
    """

    key: str
    labels: Mapping[str, str] = field(default_factory=dict)
    features: frozenset[str] = frozenset()

    @property
    def table(self) -> str:
        """The table, as `<database>.<table>`."""
        return table_of(self.key)


def table_of(key: str) -> str:
    """Return the table of a stream's key."""
    return key.rpartition("/")[0]


def admits(member: Member, stream: NeededStream) -> bool:
    """Return whether a runner may have a stream, however many it has already."""
    return (
        _is_listed(member, stream) and _has_labels(member, stream) and _has_features(member, stream)
    )


def has_room(member: Member, streams: int) -> bool:
    """Return whether a runner that has a number of streams may have one more."""
    return member.streams_max is None or streams < member.streams_max


def why_unassigned(stream: NeededStream, assignment: Assignment, *, alive: Collection[str]) -> str:
    """Return why a stream has no runner, for people.

    Args:
        stream: The stream.
        assignment: The current assignment.
        alive: The processes that are alive.
    """
    living = {name: one for name, one in assignment.runners.items() if one.owner in alive}
    if not living:
        return NO_RUNNER
    place = assignment.streams.get(stream.key)
    name = None if place is None else assignment.owners.get(place.owner)
    if name in living:
        return f"the runner {name} is about to start it, or to let another one have it"
    for is_met, lack in (
        (_is_listed, "no living runner may run it: each is restricted by --stream to others"),
        (_has_labels, f"no living runner that may run it has the labels {_labels(stream)}"),
        (_has_features, "each living runner that may run it is of a version that is too old"),
    ):
        living = {name: one for name, one in living.items() if is_met(one, stream)}
        if not living:
            return lack
    open_to = {
        name: one
        for name, one in living.items()
        if name not in assignment.drained and not one.is_leaving
    }
    if not open_to:
        return (
            f"each living runner that may run it is drained or ending: {', '.join(sorted(living))}"
        )
    counts = {name: len(assignment.streams_of(one.owner)) for name, one in open_to.items()}
    if not any(has_room(one, counts[name]) for name, one in open_to.items()):
        full = [f"{name} ({counts[name]} of {one.streams_max})" for name, one in open_to.items()]
        return f"each living runner that may run it is full: {', '.join(sorted(full))}"
    return "a runner is about to take it"


def _is_listed(member: Member, stream: NeededStream) -> bool:
    return not member.streams or stream.table in member.streams or stream.key in member.streams


def _has_labels(member: Member, stream: NeededStream) -> bool:
    return stream.labels.items() <= member.labels.items()


def _has_features(member: Member, stream: NeededStream) -> bool:
    return stream.features <= set(member.features)


def _labels(stream: NeededStream) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(stream.labels.items()))
