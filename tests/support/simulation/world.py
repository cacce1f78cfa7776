"""World of a simulation: the table, the clock and the ledger that all actors share, and their restarts.

An actor that dies starts again as another process, with other storage and nothing in memory. The answers
that it got go into the ledger.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from braid.lake import (
    CommitConflict,
    CommitUnknown,
    FileIO,
    ManualClock,
    OffsetMismatch,
    Outcome,
    StorageUnavailable,
    StreamFallback,
    StreamFenced,
    Table,
)
from braid.lake.commit import discard
from braid.lake.commit.commit_result import CommitResult
from braid.lake.commit.committer import TableCommitter
from braid.lake.commit.retry_policy import RetryPolicy
from braid.lake.files.best_effort_delete import delete_best_effort
from braid.lake.format.commit_message import CommitMessage
from tests.support.committing import appended, data_file
from tests.support.faulty_file_io import Died
from tests.support.simulation.ledger import Ledger, Record
from tests.support.simulation.schedule import Schedule
from tests.support.simulation.storage import Hazards, process_storage

POLICY: Final = RetryPolicy(lookups_max=2, attempts_max=8)
LIVES: Final = 5
_STOPS: Final = (
    StorageUnavailable,
    CommitConflict,
    CommitUnknown,
    StreamFenced,
    OffsetMismatch,
    MemoryError,
)
"""Exceptions that end a process, which is then started again."""


@dataclass(kw_only=True)
class World:
    """State that all actors share.

    Attributes:
        ledger: Of the run.
        schedule: Draws the turns.
        hazards: Of the actors' storage.
        clock: Of all actors.
        restarts: Probability that a runner of a stream ends after a batch.
        notes: Probability that a runner writes its progress document after a batch.
        is_whole: All snapshots stay, so that every commit can be found again by its identity.
        sleepers: Files of the calls before which actors nap, by actor.
        buckets: The number of buckets that are written to.
        last_word: Another engine commits and expires when all actors have ended.
        noted: Progress documents of streams, by stream; they lag behind.
        did: Counts of what was done, by description.
    """

    ledger: Ledger
    schedule: Schedule
    hazards: Hazards
    clock: ManualClock
    restarts: float = 0.1
    notes: float = 0.5
    is_whole: bool = False
    sleepers: dict[str, str] = field(default_factory=dict)
    buckets: int = 2
    last_word: bool = False
    noted: dict[str, StreamFallback] = field(default_factory=dict)
    did: dict[str, int] = field(default_factory=dict)
    _names: int = 0

    @property
    def random(self) -> random.Random:
        """Draws for the actor whose turn it is."""
        return self.schedule.random

    def count(self, what: str) -> None:
        """Increment the count of a description."""
        self.did[what] = self.did.get(what, 0) + 1

    def new_name(self, prefix: str) -> str:
        """Return a new name of a file."""
        self._names += 1
        return f"data-{prefix}-{self._names}.parquet"

    def storage(self, name: str, hazards: Hazards | None = None) -> FileIO:
        """Return the storage of a new process of an actor."""
        return process_storage(
            self.ledger.file_io,
            self.schedule,
            name,
            self.hazards if hazards is None else hazards,
            paths=self.ledger.paths,
            is_over=lambda: bool(self.ledger.wrong),
            sleepers=self.sleepers,
        )

    def committer(self, file_io: FileIO) -> TableCommitter:
        """Return a committer of a process."""
        return TableCommitter(
            file_io,
            self.ledger.paths,
            clock=self.clock,
            random=self.random,
            new_uuid=lambda: str(UUID(int=self.random.getrandbits(128), version=4)),
            sleep_ms=lambda _: None,
            policy=POLICY,
        )

    def table(self, file_io: FileIO) -> Table:
        """Open the table in a process."""
        return Table.open(
            self.ledger.paths.root, file_io=file_io, clock=self.clock, random=self.random
        )

    def write(self, file_io: FileIO, prefix: str, records: tuple[Record, ...]) -> "Written":
        """Write a file of rows."""
        name = self.new_name(prefix)
        self.ledger.contents[name] = records
        written = Written(
            world=self, file_io=file_io, name=name, bucket=self.random.randrange(self.buckets)
        )
        file_io.write_new(written.path, b"rows")
        return written

    def rest(self, name: str) -> None:
        """Let other actors run for a while."""
        self.schedule.nap(name, self.random.choice([1, 10, 40, 120]))


@dataclass(frozen=True, kw_only=True)
class Written:
    """A file that was written and is to be committed."""

    world: World
    file_io: FileIO
    name: str
    bucket: int

    @property
    def path(self) -> str:
        return f"{self.world.ledger.paths.root}/bucket-{self.bucket}/{self.name}"

    @property
    def message(self) -> CommitMessage:
        return appended(data_file(self.name), bucket=self.bucket)

    @property
    def is_discarded(self) -> bool:
        return self.name in self.world.ledger.refused

    def discard(self) -> None:
        """Delete the file, which is certain to be in no snapshot."""
        self.world.ledger.refused.add(self.name)
        delete_best_effort(self.file_io, [self.path])

    def commit(self, commit: Callable[[], CommitResult]) -> CommitResult:
        """Commit, or discard the file by the rule; record the answer in the ledger."""
        began = self.world.schedule.now
        result = discard.commit_or_discard(commit, discard=self.discard)
        if result.outcome is Outcome.COMMITTED:
            self.world.ledger.acknowledge(self.name, began=began)
        self.world.count(f"{self.name.split('-')[1]} {result.outcome}")
        return result


Act = Callable[[FileIO], None]


def again(world: World, name: str, act: Act) -> Callable[[], None]:
    """Return an actor that repeats an act until it succeeds, in a few processes at most."""

    def actor() -> None:
        for _ in range(LIVES):
            file_io = world.storage(name)
            try:
                act(file_io)
            except Died:
                world.count(f"{name} died")
                continue
            except _STOPS as error:
                world.count(f"{name} {type(error).__name__}")
                continue
            return

    return actor
