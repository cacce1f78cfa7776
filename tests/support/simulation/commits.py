"""One run of the simulation: its actors, and the checks when all have ended.

Everything about a run is drawn from its seed, the actors first of all: two processes in a short run reach
the critical interleavings more often than eight in a long one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from braid.lake.errors import CommitConflict, LakeError
from braid.lake.files.clock import ManualClock
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.snapshots.removed_history import RemovedHistory
from braid.lake.snapshots.rollback_marker import RollbackMarker
from braid.lake.snapshots.snapshot_store import SnapshotStore
from tests.support.committing import given_table
from tests.support.simulation.housekeepers import Compactor, expire, other_engine, roll_back, tag
from tests.support.simulation.ledger import Ledger
from tests.support.simulation.schedule import Schedule
from tests.support.simulation.storage import Hazards, draw_hazards, with_sleepers
from tests.support.simulation.world import World, again
from tests.support.simulation.writers import StreamRunner, Writer

OPTIONS = {
    "manifest.merge-min-count": "3",
    "snapshot.num-retained.min": "1",
    "snapshot.num-retained.max": "3",
    "write-only": "true",
}

REMOVERS = ("expiry", "expiry2", "rollback", "elsewhere")

_KEEPS, _EXPIRES, _ROLLS_BACK, _ELSEWHERE = "keeps", "expires", "rolls back", "elsewhere"


@dataclass(frozen=True, kw_only=True)
class Run:
    """Result of a run.

    Attributes:
        wrong: Violations, as text; empty when there are none.
        did: Counts of what was done, by description.
    """

    wrong: tuple[str, ...]
    did: dict[str, int]


def simulate(seed: int) -> Run:
    """Run some actors on one table until they have ended, and check the table."""
    schedule = Schedule(seed)
    file_io = MemoryFileIO()
    paths = given_table(file_io, options=OPTIONS)
    ledger = Ledger(
        file_io=file_io,
        paths=paths,
        now=lambda: schedule.now,
        removes_snapshots=lambda: schedule.current in REMOVERS,
    )
    world = World(
        ledger=ledger,
        schedule=schedule,
        hazards=draw_hazards(schedule.random),
        clock=ManualClock(),
        restarts=schedule.random.choice([0.05, 0.2, 0.5]),
        notes=schedule.random.choice([0.2, 0.5, 0.9]),
    )
    schedule.run(_cast(world))
    wrong = [*ledger.wrong, *schedule.crashes]
    if not wrong:
        try:
            _continue(world)
        except LakeError as error:
            wrong.append(f"a healthy process cannot continue: {type(error).__name__}: {error}")
        wrong += ledger.wrong
    return Run(wrong=tuple(wrong), did=world.did)


def _cast(world: World) -> dict[str, Callable[[], None]]:
    """Return the actors, drawn."""
    draw = world.random
    cast: dict[str, Callable[[], None]] = {}
    # Rollbacks and other engines are the hardest to work beside, so they are drawn most often.
    history = draw.choice([_KEEPS, _KEEPS, _EXPIRES, *[_ROLLS_BACK] * 4, *[_ELSEWHERE] * 4])
    world.is_whole = history == _KEEPS
    if history in (_KEEPS, _ELSEWHERE):
        world.restarts = draw.choice([0.3, 0.6])
    if history == _ELSEWHERE:
        world.notes = 0.5
    if history == _ROLLS_BACK:
        world.hazards = with_sleepers(world.hazards)
    world.buckets = draw.choice([1, 2])
    for stream in draw.choice([("A",), ("A", "B"), ("A", "B")]):
        for number in range(draw.choice([1, 1, 2])):
            runner = StreamRunner(world=world, stream=stream, batches=draw.randint(2, 5))
            cast[f"{stream}{number}"] = again(world, f"{stream}{number}", runner)
    for user in draw.choice([("P",), ("P", "Q")] if world.is_whole else [(), ("P",), ("P", "Q")]):
        writer = Writer(
            world=world,
            user=user,
            batches=draw.randint(2, 4),
            is_numbered=world.is_whole or draw.random() < 0.5,
        )
        cast[user] = again(world, user, writer)
    for name in ("compactor", "compactor2")[: draw.choice([0, 0, 1, 2, 2])]:
        cast[name] = again(world, name, Compactor(world=world, rounds=4, name=name))
    beside = {_KEEPS: 0.0, _EXPIRES: 1.0, _ROLLS_BACK: 0.15, _ELSEWHERE: 0.4}
    is_expired = draw.random() < beside[history]
    for name in ("expiry", "expiry2")[: draw.choice([1, 1, 2]) if is_expired else 0]:
        cast[name] = again(world, name, expire(world, name, draw.randint(2, 4)))
    if draw.random() < 0.2:
        cast["tagger"] = again(world, "tagger", tag(world, "tagger", 3))
    if history == _ROLLS_BACK:
        cast["rollback"] = roll_back(world, "rollback", draw.choice([1, 1, 2, 3]))
    if history == _ELSEWHERE:
        world.last_word = draw.random() < 0.9
        rounds = draw.randint(2, 4)
        cast["elsewhere"] = again(world, "elsewhere", other_engine(world, "elsewhere", rounds))
    return cast


def _continue(world: World) -> None:
    """Run healthy processes, one after the other, on the table that is left; check the result."""
    ledger = world.ledger
    world.hazards = Hazards()
    world.restarts = 0.0
    ledger.removes_snapshots = lambda: True
    file_io = ledger.file_io
    _repair(world)
    if world.last_word:
        other_engine(world, "elsewhere", 1, holds=0)(file_io)
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


def _repair(world: World) -> None:
    """Repeat an interrupted rollback where nothing can be committed otherwise, as the error demands."""
    committer = world.committer(world.ledger.file_io)
    try:
        committer.fence_streams(commit_user="person")
    except CommitConflict as error:
        note = RollbackMarker(world.ledger.file_io, world.ledger.paths).read()
        if note is None or "that a rollback has removed" not in str(error):
            raise
        world.count("rolled back by hand")
        file_io, paths = world.ledger.file_io, world.ledger.paths
        snapshots, removed = SnapshotStore(file_io, paths), RemovedHistory(file_io, paths)
        target = note.target.id
        if not snapshots.exists(target):
            target = max(n for n in snapshots.list_ids() if not removed.holds(snapshots.get(n)))
        world.table(file_io).rollback(snapshot_id=target)
        world.ledger.take_back(is_newest=True)
