"""Plan of the next assignment: every stream that a runner may have gets one, and nothing moves without a cause. Pure.

1. Runners that are not alive leave the document, and so do the entries of their streams.
2. An entry whose runner may not have the stream any more is revoked.
3. Each stream without an entry gets the runner with the least load of those that may have it and have room; the streams
   for which the fewest runners come into question go first, then the heaviest.
4. If moves are allowed, nothing is being revoked, and every assigned stream has started, one stream at most is revoked:
   from a runner that leaves, else from one that is drained, else where a stream is left without room, else for balance.

The steps are the same whichever runner plans, so that of two runners that plan at once either may write the result.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from braid.registry.placement.admission import NeededStream, admits, has_room
from braid.registry.placement.assignment import Assignment, Member, Place, PlaceState

STREAM_WEIGHT: Final = 0.05
"""Weight of a stream's query itself, which takes memory and threads also if it reads nothing."""
UNMEASURED_LOAD: Final = 0.1
GAP_MIN: Final = 0.25
GAP_FRACTION: Final = 0.2
"""Two runners are in balance if their loads differ by less than the one, or than this fraction of the larger."""
MOVED_FRACTION_MAX: Final = 0.75
"""A stream that makes up more of the difference would move it to the other side, more or less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What runners report of their streams.

    Attributes:
        loads: Fraction of the time that micro-batches take, by stream. Streams that are not measured yet are left out, and are
            not moved for balance.
        started: Streams whose runners have got beyond the start of the query, or have failed to start it.
        unsteady: Streams that are failing; they are not moved for balance.
    """

    loads: Mapping[str, float] = field(default_factory=dict)
    started: Collection[str] = frozenset()
    unsteady: Collection[str] = frozenset()


def plan_assignment(
    current: Assignment,
    streams: Mapping[str, NeededStream],
    *,
    alive: Collection[str],
    measured: Measured | None = None,
) -> Assignment:
    """Return the next assignment; an equal one if nothing has to change.

    Args:
        current: The current assignment.
        streams: The streams that need a runner, by key. The others stay where they are, until their runners let them go.
        alive: The processes that are alive.
        measured: What the runners report; None: no stream is moved from one living runner to another.
    """
    runners = {name: one for name, one in sorted(current.runners.items()) if one.owner in alive}
    owners = {one.owner: one for one in runners.values()}
    places: dict[str, Place] = {}
    for key, place in sorted(current.streams.items()):
        if place.owner in owners:
            places[key] = _kept(place, streams.get(key), owners[place.owner])
    plan = _Plan(
        open={
            one.owner: one
            for name, one in runners.items()
            if name not in current.drained and not one.is_leaving
        },
        streams=streams,
        places=places,
        loads={} if measured is None else measured.loads,
    )
    plan.assign_free()
    if measured is not None and plan.is_settled(measured.started):
        moved = next(plan.moves(_givers(runners, current.drained), measured.unsteady), None)
        if moved is not None:
            plan.revoke(moved)
    return current.model_copy(update={"runners": runners, "streams": plan.places})


def can_give(
    current: Assignment,
    streams: Mapping[str, NeededStream],
    *,
    alive: Collection[str],
    owner: str,
) -> bool:
    """Return whether a stream of a runner is being revoked, or another living runner may have one.

    Args:
        current: The current assignment.
        streams: The streams that need a runner, by key.
        alive: The processes that are alive.
        owner: The process of the runner.
    """
    plan = _Plan(
        open={
            one.owner: one
            for name, one in sorted(current.runners.items())
            if one.owner in alive and name not in current.drained and not one.is_leaving
        },
        streams=streams,
        places=dict(current.streams),
        loads={},
    )
    return any(
        place.state is PlaceState.REVOKING or (key in streams and plan.has_other_room(key))
        for key, place in current.streams_of(owner).items()
    )


def weight_of(load: float | None) -> float:
    """Return the weight of a stream.

    Args:
        load: Fraction of the time that its micro-batches take; None: not measured.
    """
    return STREAM_WEIGHT + (UNMEASURED_LOAD if load is None else load)


def _kept(place: Place, stream: NeededStream | None, member: Member) -> Place:
    # An entry without a stream that needs a runner is removed by its owner, which stops the query.
    if stream is None or admits(member, stream) or place.state is PlaceState.REVOKING:
        return place
    return place.model_copy(update={"state": PlaceState.REVOKING})


def _givers(runners: Mapping[str, Member], drained: Collection[str]) -> list[str]:
    """Return the processes that give their streams away, those that end first."""
    leaving = [one.owner for one in runners.values() if one.is_leaving]
    return leaving + [
        one.owner for name, one in runners.items() if name in drained and not one.is_leaving
    ]


@dataclass(slots=True, kw_only=True)
class _Plan:
    """An assignment in the making.

    Attributes:
        open: The members that may get streams, by owner, in the order of their names.
        streams: The streams that need a runner.
        places: The entries.
        loads: Measured loads by stream.
        given: Streams that have got a runner by this plan.
    """

    open: Mapping[str, Member]
    streams: Mapping[str, NeededStream]
    places: dict[str, Place]
    loads: Mapping[str, float]
    given: list[str] = field(default_factory=list)
    _counts: Counter[str] = field(default_factory=Counter)
    _weights: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key, place in self.places.items():
            self._add(key, place.owner)

    def assign_free(self) -> None:
        """Give each stream without an entry a runner, as far as there is one."""
        # Those with room alone: what was revoked to make room for a stream must not be put back before it.
        free = {
            key: [
                owner
                for owner, one in self.open.items()
                if admits(one, stream) and self._has_room(owner)
            ]
            for key, stream in self.streams.items()
            if key not in self.places
        }
        for key in sorted(free, key=lambda one: (len(free[one]), -self._weight(one), one)):
            owners = [owner for owner in free[key] if self._has_room(owner)]
            if owners:
                # The first of equals, in the order of names: Python's `min` keeps it.
                owner = min(owners, key=lambda one: (self._load(one), self._counts[one]))
                self.places[key] = Place(owner=owner)
                self.given.append(key)
                self._add(key, owner)

    def is_settled(self, started: Collection[str]) -> bool:
        """Return whether no move is under way, and every stream has started where it is."""
        return not self.given and all(
            place.state is PlaceState.ASSIGNED and (key in started or key not in self.streams)
            for key, place in self.places.items()
        )

    def moves(self, givers: list[str], unsteady: Collection[str]) -> Iterator[str]:
        """Yield the streams that may be revoked, the best one first."""
        for owner in givers:
            for key in self._streams_of(owner):
                if self.has_other_room(key):
                    yield key
        yield from self._moves_for_room()
        yield from self._moves_for_balance(unsteady)

    def revoke(self, key: str) -> None:
        """Ask the runner of a stream to stop it."""
        self.places[key] = self.places[key].model_copy(update={"state": PlaceState.REVOKING})

    def _moves_for_room(self) -> Iterator[str]:
        """Yield streams that have another place, and whose place a stream without a runner needs."""
        for key, stream in sorted(self.streams.items()):
            if key in self.places:
                continue
            for owner, one in self.open.items():
                if admits(one, stream):
                    yield from (key for key in self._streams_of(owner) if self.has_other_room(key))

    def _moves_for_balance(self, unsteady: Collection[str]) -> Iterator[str]:
        by_load = sorted(self.open, key=self._load)
        for giver in reversed(by_load):
            for taker in by_load:
                gap = self._load(giver) - self._load(taker)
                if gap < max(GAP_MIN, GAP_FRACTION * self._load(giver)):
                    break  # the takers that follow have more load
                if not self._has_room(taker):
                    continue
                movable = [
                    key
                    for key in self._streams_of(giver)
                    if key in self.loads
                    and key not in unsteady
                    and self._weight(key) <= MOVED_FRACTION_MAX * gap
                    and admits(self.open[taker], self.streams[key])
                    # It goes to the least loaded of those that may have it.
                    and self._least_loaded(key, besides=giver) == taker
                ]
                yield from sorted(movable, key=lambda key: abs(gap / 2 - self._weight(key)))

    def _least_loaded(self, key: str, *, besides: str) -> str | None:
        owners = [
            owner
            for owner, one in self.open.items()
            if owner != besides and self._has_room(owner) and admits(one, self.streams[key])
        ]
        return min(owners, key=lambda one: (self._load(one), self._counts[one]), default=None)

    def has_other_room(self, key: str) -> bool:
        """Return whether another runner than that of a stream may have it and has room."""
        return self._least_loaded(key, besides=self.places[key].owner) is not None

    def _streams_of(self, owner: str) -> list[str]:
        """Return the streams of a process that need a runner, in alphabetical order."""
        return sorted(
            key
            for key, place in self.places.items()
            if place.owner == owner and key in self.streams
        )

    def _has_room(self, owner: str) -> bool:
        return has_room(self.open[owner], self._counts[owner])

    def _load(self, owner: str) -> float:
        return self._weights.get(owner, 0.0)

    def _weight(self, key: str) -> float:
        return weight_of(self.loads.get(key))

    def _add(self, key: str, owner: str) -> None:
        self._counts[owner] += 1
        self._weights[owner] = self._load(owner) + self._weight(key)
