"""Placement as one runner sees it: the runner joins, learns its streams, lets them go, plans for all, and leaves.

    join ── name is free ──► member ── held for dead ──► join
      │                        │
      └─ name is taken: wait   └── leave

Any member may create the next version of the assignment. So that they do not compete, the first living runner by name does so
as soon as something has to change; the others only if it has not done so for some seconds.
"""

import logging
import time
from collections.abc import Callable, Collection, Mapping
from typing import Final

from braid.pipelines.placement.heartbeat import Heartbeat
from braid.registry.placement.admission import NeededStream, admits
from braid.registry.placement.assignment import Assignment, Member, PlaceState
from braid.registry.placement.assignment_plan import Measured, can_give, plan_assignment
from braid.registry.store.assignments import NONE, AssignmentStore
from braid.registry.store.progress import ProgressStore
from braid.registry.store.stream_holders import StreamHolders
from braid.registry.store.versions import Versioned
from braid.schemas import RunnerProgress, StreamState

_LOG = logging.getLogger(__name__)
_OTHERS_WAIT_S: Final = 5.0
_MOVES_S: Final = 2.0
"""Interval of looks for a move that somebody waits for: of a runner that is drained, or for a stream without a runner."""
_BALANCE_S: Final = 15.0

_UNSTARTED: Final = (StreamState.UNASSIGNED, StreamState.STARTING)
_STEADY: Final = (StreamState.RUNNING, StreamState.PAUSED)


class RunnerPlacement:
    """The part of one runner in the assignment; belongs to the thread that calls `step`."""

    def __init__(
        self,
        assignments: AssignmentStore,
        holders: StreamHolders,
        progress: ProgressStore,
        heartbeat: Heartbeat,
        *,
        name: str,
        member: Member,
        on_lost: Callable[[int], None] = lambda _: None,
        steady_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create the object; the runner has not joined.

        Args:
            assignments: The warehouse's assignment.
            holders: Say whether another process of the runner's name is alive.
            progress: The reports of runners, for what they have measured.
            heartbeat: The runner's own.
            name: The runner's name.
            member: What the runner may host.
            on_lost: Called with the number of streams that were given to others although this runner had not let them go.
            steady_s: Returns seconds since any moment; never goes back and is never set.
        """
        self._assignments = assignments
        self._holders = holders
        self._progress = progress
        self._heartbeat = heartbeat
        self._name = name
        self._member = member
        self._on_lost = on_lost
        self._steady_s = steady_s
        self._known: Versioned[Assignment] = NONE
        self._held: frozenset[str] = frozenset()
        # What the last plan was made from: it would come out the same.
        self._planned: tuple[int, frozenset[str]] | None = None
        self._needed: Mapping[str, NeededStream] | None = None
        self._due_since_s: float | None = None
        self._looked_s: float | None = None
        self._rival: str | None = None

    @property
    def assignment(self) -> Assignment:
        """The newest assignment that this runner knows."""
        return self._known.value

    @property
    def mine(self) -> Mapping[str, PlaceState]:
        """What this runner has to do with which streams; nothing while others may hold it for dead."""
        if self._heartbeat.is_lost or not self._is_member:
            return {}
        places = self.assignment.streams_of(self._member.owner)
        return {key: place.state for key, place in places.items()}

    @property
    def alive(self) -> frozenset[str]:
        """The processes that are alive."""
        return self._heartbeat.alive(self.assignment.runners)

    def step(self, needed: Mapping[str, NeededStream] | None) -> None:
        """Learn the newest assignment, and change it where that is due.

        Args:
            needed: The streams that need a runner, by key, the same object until they change; None: they are not known yet.

        Raises:
            LakeError, OSError: Storage does not answer; what is known stays.
            RegistryConflict: The assignment is changed too often.
        """
        self._known = self._assignments.newer(self._known)
        self._note_lost()
        if not self._is_member and not self._join():
            return
        self._held = frozenset(self.assignment.streams_of(self._member.owner))
        if needed is not None:
            self._plan(needed)

    def let_go(self, keys: Collection[str]) -> None:
        """Remove streams of this runner whose queries have stopped.

        Raises:
            LakeError, OSError, RegistryConflict: As `step`; call again.
        """
        owner = self._member.owner
        self._known = self._assignments.change(lambda one: one.without_streams(owner, keys))
        self._held -= frozenset(keys)

    def ask_to_leave(self) -> None:
        """Let others take the streams of this runner one by one, before it ends.

        Raises:
            LakeError, OSError, RegistryConflict: As `step`.
        """
        self._member = self._member.model_copy(update={"is_leaving": True})
        name, member = self._name, self._member

        def change(one: Assignment) -> Assignment:
            known = one.runners.get(name)
            is_member = known is not None and known.owner == member.owner
            return one.with_runner(name, member) if is_member else one

        self._known = self._assignments.change(change)

    def can_give(self, needed: Mapping[str, NeededStream]) -> bool:
        """Return whether another runner takes a stream of this one, or may take one."""
        return can_give(self.assignment, needed, alive=self.alive, owner=self._member.owner)

    def leave(self) -> None:
        """Remove this runner and all of its streams.

        Raises:
            LakeError, OSError, RegistryConflict: As `step`; others find out that the runner has ended.
        """
        self._heartbeat.fall_silent()
        owner = self._member.owner
        self._known = self._assignments.change(lambda one: one.without_owner(owner))

    def serves(self, stream: NeededStream) -> bool:
        """Return whether this runner answers for a stream that no runner has: the first living one that may have it does."""
        alive = self.alive
        living = (
            name
            for name, one in sorted(self.assignment.runners.items())
            if one.owner in alive and admits(one, stream)
        )
        return next(living, None) == self._name and self._is_member

    @property
    def _is_member(self) -> bool:
        member = self.assignment.runners.get(self._name)
        return member is not None and member.owner == self._member.owner

    def _note_lost(self) -> None:
        lost = self._held - self.assignment.streams_of(self._member.owner).keys()
        if lost:
            _LOG.warning(
                "streams lost count=%d: other runners hold this one for dead, because its heartbeats came too late",
                len(lost),
            )
            self._on_lost(len(lost))
        self._held -= lost

    def _join(self) -> bool:
        runners = self.assignment.runners
        other = runners.get(self._name)
        if other is not None and self._holders.is_alive(self._name, ttl_ms=other.ttl_ms):
            self._heartbeat.fall_silent()
            if self._rival != other.owner:
                self._rival = other.owner
                _LOG.error(
                    "another runner has the name name=%s: this one runs no streams until the other has ended, or has been silent "
                    "for %d ms; hint: give each runner a name of its own",
                    self._name,
                    other.ttl_ms,
                )
            return False
        self._rival = None
        # In this order: runners that the list does not show were known before it was made.
        self._heartbeat.alive(runners)
        self._heartbeat.beat()

        def change(one: Assignment) -> Assignment:
            return one.with_runner(self._name, self._member) if is_free(one) else one

        def is_free(one: Assignment) -> bool:
            known = one.runners.get(self._name)
            return known is None or known == other

        self._known = self._assignments.change(change)
        return self._is_member

    def _plan(self, needed: Mapping[str, NeededStream]) -> None:
        alive = self.alive
        is_first = self._name == min(
            name for name, one in self.assignment.runners.items() if one.owner in alive
        )
        measured = self._measured(needed, alive) if is_first else None
        inputs = (self._known.version, alive)
        is_same = inputs == self._planned and needed is self._needed
        if measured is None and self._due_since_s is None and is_same:
            return
        planned = plan_assignment(self.assignment, needed, alive=alive, measured=measured)
        self._planned, self._needed = inputs, needed
        if planned == self.assignment:
            self._due_since_s = None
            return
        now_s = self._steady_s()
        if self._due_since_s is None:
            self._due_since_s = now_s
        if is_first or now_s - self._due_since_s >= _OTHERS_WAIT_S:
            created = self._assignments.put(self._known, planned)
            if created is not None:
                self._known, self._due_since_s = created, None
                self._held = frozenset(planned.streams_of(self._member.owner))

    def _measured(
        self, needed: Mapping[str, NeededStream], alive: frozenset[str]
    ) -> Measured | None:
        """Return what runners report, if a look for moves is due; None: it is not."""
        if len(alive) < 2:
            return None
        assignment, now_s = self.assignment, self._steady_s()
        givers = {
            one.owner
            for name, one in assignment.runners.items()
            if one.is_leaving or name in assignment.drained
        }
        is_urgent = len(needed) > len(assignment.streams) or any(
            place.owner in givers for place in assignment.streams.values()
        )
        interval_s = _MOVES_S if is_urgent else _BALANCE_S
        if self._looked_s is not None and now_s - self._looked_s < interval_s:
            return None
        self._looked_s = now_s
        names = assignment.owners
        reports = (self._progress.read(names[owner]) for owner in sorted(alive))
        return measured_in([one for one in reports if one is not None], assignment)


def measured_in(reports: Collection[RunnerProgress], assignment: Assignment) -> Measured:
    """Return what runners report of the streams that they have.

    Args:
        reports: The reports.
        assignment: The assignment; what a runner reports of a stream that it does not have does not count.
    """
    found = {
        key: stream
        for report in reports
        for key, stream in report.streams.items()
        if key in assignment.streams and assignment.streams[key].owner == report.owner
    }
    return Measured(
        loads={key: one.load for key, one in found.items() if one.load is not None},
        started={key for key, one in found.items() if one.state not in _UNSTARTED},
        unsteady={key for key, one in found.items() if one.state not in _STEADY},
    )
