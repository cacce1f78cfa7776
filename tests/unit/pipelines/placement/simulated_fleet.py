"""A fleet of simulated runners: the real placement on storage in memory, with a clock that the test moves."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Final

from braid.lake import FileIO, LakeError, ManualClock, MemoryFileIO, StorageUnavailable
from braid.pipelines.placement.heartbeat import Heartbeat
from braid.pipelines.placement.runner_placement import RunnerPlacement
from braid.registry.errors import RegistryConflict
from braid.registry.placement.admission import NeededStream
from braid.registry.placement.assignment import Assignment, Member, PlaceState
from braid.registry.store.assignments import AssignmentStore
from braid.registry.store.progress import ProgressStore
from braid.registry.store.stream_holders import StreamHolders
from braid.schemas import RunnerProgress, StreamProgress, StreamState
from tests.support.faulty_file_io import FaultyFileIO

POLL_MS: Final = 500
HEARTBEAT_MS: Final = 2_000


def needed(*names: str, labels: Mapping[str, str] | None = None) -> dict[str, NeededStream]:
    """Return streams of one table that need a runner."""
    keys = [f"db.t/{name}" for name in names]
    return {key: NeededStream(key=key, labels=labels or {}) for key in keys}


class SimulatedRunner:
    """A runner whose queries are names in `hosted`.

    Attributes:
        hosted: The streams that it works on.
        is_frozen: Its process does nothing, as if it was stopped, or dead.
        is_cut_off: Storage does not answer it.
        lost: Streams that others have got although it had not let them go.
        load: What it reports for each stream; None: not measured.
    """

    def __init__(self, fleet: "Fleet", name: str, **member: object) -> None:
        self._fleet = fleet
        self.name = name
        fleet.started += 1
        self.member = Member.model_validate({"owner": f"{name}-{fleet.started}", **member})
        self.hosted: set[str] = set()
        self.is_frozen = self.is_cut_off = False
        self.lost = 0
        self.load: float | None = None
        self._beats_ms = fleet.clock.now_ms()
        file_io = FaultyFileIO(fleet.file_io)
        file_io.before = self._fail
        progress = ProgressStore(file_io, "/w", fleet.clock)
        self.heartbeat = Heartbeat(
            progress,
            name=name,
            ttl_ms=self.member.ttl_ms,
            report=self._report,
            clock=fleet.clock,
            steady_s=fleet.steady_s,
        )
        self.placement = RunnerPlacement(
            AssignmentStore(file_io, "/w", fleet.clock),
            StreamHolders(file_io, "/w", fleet.clock),
            progress,
            self.heartbeat,
            name=name,
            member=self.member,
            on_lost=self._count_lost,
            steady_s=fleet.steady_s,
        )

    def poll(self) -> None:
        """Do what a runner does every half second."""
        if self.is_frozen:
            return
        with suppress(LakeError, RegistryConflict):
            is_silent = self.heartbeat._is_silent
            if not is_silent and self._fleet.clock.now_ms() - self._beats_ms >= HEARTBEAT_MS:
                self._beats_ms = self._fleet.clock.now_ms()
                self.heartbeat.beat()
            self.placement.step(self._fleet.needed)
        mine = self.placement.mine
        self.hosted &= mine.keys()
        free = [
            key
            for key, state in mine.items()
            if state is PlaceState.REVOKING or key not in self._fleet.needed
        ]
        self.hosted = set(mine) - set(free)
        if free:
            with suppress(LakeError, RegistryConflict):
                self.placement.let_go(free)

    def end(self) -> None:
        """End as by a signal, without time to drain."""
        self.hosted = set()
        self.placement.leave()
        self._fleet.runners.remove(self)

    def _report(self) -> RunnerProgress:
        reported = StreamProgress(state=StreamState.RUNNING, load=self.load)
        return RunnerProgress(
            runner=self.name,
            started_ms=0,
            updated_ms=self._fleet.clock.now_ms(),
            streams=dict.fromkeys(self.hosted, reported),
            owner=self.member.owner,
        )

    def _count_lost(self, count: int) -> None:
        self.lost += count

    def _fail(self, _: int, method: str, path: str) -> None:
        if self.is_cut_off:
            message = f"{method} of {path}"
            raise StorageUnavailable(message)


@dataclass
class Fleet:
    """The runners of one warehouse.

    Attributes:
        needed: The streams that need a runner.
        runners: The runners.
        clock: The clock of storage and of all processes.
        started: Number of runners ever started.
    """

    needed: dict[str, NeededStream] = field(default_factory=dict)
    runners: list[SimulatedRunner] = field(default_factory=list)
    clock: ManualClock = field(default_factory=ManualClock)
    random: Random = field(default_factory=lambda: Random(7))
    started: int = 0

    def __post_init__(self) -> None:
        self.file_io: FileIO = MemoryFileIO(clock=self.clock)

    def steady_s(self) -> float:
        """Return the seconds of the clock, which the tests never set back."""
        return self.clock.now_ms() / 1_000

    def start(self, name: str, **member: object) -> SimulatedRunner:
        """Start a runner."""
        runner = SimulatedRunner(self, name, **member)
        self.runners.append(runner)
        return runner

    def run(self, seconds: float) -> None:
        """Let all runners work; no stream may ever be at two that are not frozen."""
        for _ in range(int(seconds * 1_000 / POLL_MS)):
            self.clock.advance(ms=POLL_MS)
            for runner in self.random.sample(self.runners, len(self.runners)):
                runner.poll()
                self._check()

    def hosted(self) -> dict[str, str]:
        """Return the runner of each stream, of those that are not frozen."""
        return {key: one.name for one in self.runners if not one.is_frozen for key in one.hosted}

    def assignment(self) -> Assignment:
        """Return the newest assignment."""
        return AssignmentStore(self.file_io, "/w", self.clock).read().value

    def drain(self, *names: str) -> None:
        """Drain runners."""
        store = AssignmentStore(self.file_io, "/w", self.clock)
        for name in names:
            store.change(lambda one, name=name: one.with_drained(name, is_drained=True))  # type: ignore[misc]

    def _check(self) -> None:
        at_work: list[Iterable[str]] = [one.hosted for one in self.runners if not one.is_frozen]
        streams = [key for hosted in at_work for key in hosted]
        assert len(streams) == len(set(streams)), "two runners work on one stream"
