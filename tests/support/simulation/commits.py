"""One run of the simulation: who is there, and what is found when all are done."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from lake.errors import LakeError
from lake.files.clock import ManualClock
from lake.files.memory import MemoryFileIO
from tests.support.committing import given_table
from tests.support.simulation.actors import (
    Compactor,
    StreamRunner,
    World,
    Writer,
    again,
    expire,
    other_engine,
    roll_back,
    tag,
)
from tests.support.simulation.ledger import Ledger
from tests.support.simulation.schedule import Schedule
from tests.support.simulation.storage import Hazards

OPTIONS = {
    "manifest.merge-min-count": "3",
    "snapshot.num-retained.min": "1",
    "snapshot.num-retained.max": "3",
    "write-only": "true",
}

REMOVERS = ("expiry", "expiry2", "rollback", "elsewhere")


@dataclass(frozen=True, kw_only=True)
class Run:
    """What came of a run.

    Attributes:
        wrong: What must never be, for people; empty when all is well.
        did: How often what was done.
    """

    wrong: tuple[str, ...]
    did: dict[str, int]


def simulate(seed: int) -> Run:
    """Let some processes work on one table until they are done, and judge what they leave."""
    schedule = Schedule(seed)
    draw = schedule.random
    file_io = MemoryFileIO()
    paths = given_table(file_io, options=OPTIONS)
    ledger = Ledger(
        file_io=file_io,
        paths=paths,
        now=lambda: schedule.now,
        removes_snapshots=lambda: schedule.current in REMOVERS,
    )
    hazards = Hazards(
        fails=draw.choice([0, 0, 0.01, 0.03]),
        dies=draw.choice([0, 0, 0.004]),
        raises=draw.choice([0, 0, 0.01]),
    )
    world = World(ledger=ledger, schedule=schedule, hazards=hazards, clock=ManualClock())
    schedule.run(_cast(world))
    wrong = [*ledger.wrong, *schedule.crashes]
    if not wrong:
        try:
            _go_on(world)
        except LakeError as error:
            wrong.append(f"a healthy process cannot go on: {type(error).__name__}: {error}")
        wrong += ledger.wrong
    return Run(wrong=tuple(wrong), did=world.did)


def _cast(world: World) -> dict[str, Callable[[], None]]:
    """Return who takes part, drawn."""
    draw = world.random
    cast: dict[str, Callable[[], None]] = {}
    for stream in draw.choice([("A",), ("A", "B"), ("A", "B")]):
        for number in range(draw.choice([1, 1, 2])):
            runner = StreamRunner(world=world, stream=stream, batches=draw.randint(2, 6))
            cast[f"{stream}{number}"] = again(world, f"{stream}{number}", runner)
    for user in draw.choice([(), ("P",), ("P", "Q")]):
        writer = Writer(
            world=world,
            user=user,
            batches=draw.randint(2, 5),
            is_numbered=draw.random() < 0.5,
        )
        cast[user] = again(world, user, writer)
    if draw.random() < 0.6:
        cast["compactor"] = again(world, "compactor", Compactor(world=world, rounds=4))
    if draw.random() < 0.6:
        cast["expiry"] = again(world, "expiry", expire(world, draw.randint(2, 5)))
    if draw.random() < 0.2:
        cast["expiry2"] = again(world, "expiry2", expire(world, 3))
    if draw.random() < 0.3:
        cast["tagger"] = again(world, "tagger", tag(world, 3))
    # A rollback and another engine are what is hardest to live beside: one of them is mostly there.
    if draw.random() < 0.5:
        cast["rollback"] = roll_back(world, "rollback")
    elif draw.random() < 0.8:
        cast["elsewhere"] = again(world, "elsewhere", other_engine(world, 5))
    return cast


def _go_on(world: World) -> None:
    """Let healthy processes, one after the other, do their work on what is left; judge the end."""
    ledger = world.ledger
    world.hazards = Hazards()
    ledger.removes_snapshots = lambda: True
    file_io = ledger.file_io
    for stream in "AB":
        runner = StreamRunner(world=world, stream=stream, batches=2)
        runner(file_io)
    Writer(world=world, user="last", batches=1, is_numbered=True)(file_io)
    ledger.judge_chain()
    Compactor(world=world, rounds=2)(file_io)
    world.table(file_io).expire(retain_min=1, retain_max=2, older_than_ms=1 << 60)
    world.table(file_io).clean_orphans(min_age_ms=0, delete=True)
    ledger.judge_chain()
    for one in world.table(file_io).tags():
        ledger.judge_tag(replace(one.snapshot))
