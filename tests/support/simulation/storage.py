"""Storage as one simulated process sees it: every call is a point at which others may act or it may fail.

What goes wrong everywhere with the same small probability seldom goes wrong where it matters. So each run
has a few *spots* besides, kinds of calls at which it goes wrong often.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from lake.errors import StorageUnavailable
from lake.files.paths import TablePaths
from lake.files.storage.file_io import FileIO
from tests.support.faulty_file_io import Died, FaultyFileIO
from tests.support.simulation.schedule import Schedule

_WRITES: Final = frozenset({"write_new", "create_exclusive", "overwrite", "delete"})

_RACE: Final = "create_exclusive snapshot"
"""Before it a process can sleep until its plan is out of date, after it until others have built on it."""

_SPOTS: Final = (
    _RACE,
    _RACE,
    "delete snapshot",
    "read_bytes snapshot",
    "list snapshot",
    "overwrite hint",
    "read_bytes hint",
    "exists mark",
    "overwrite consumer",
    "write_new manifest",
    "read_bytes manifest",
    "delete manifest",
    "write_new bucket",
)


_NAP_TURNS: Final = (30, 150, 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hazards:
    """How likely it is that a call goes wrong.

    Attributes:
        fails: Storage does not answer, before the call has an effect or after.
        dies: The process is gone.
        raises: Something comes up that is no error of the engine, such as memory that runs out.
        naps: The process stalls.
        nap_turns: For how long, on average.
        spots: Other hazards, by kind of call.
    """

    fails: float = 0.0
    dies: float = 0.0
    raises: float = 0.0
    naps: float = 0.0
    nap_turns: int = 1
    spots: "Mapping[str, Hazards]" = field(default_factory=dict)


def draw_hazards(draw: random.Random) -> Hazards:
    """Return the hazards of a run."""
    spots = {draw.choice(_SPOTS): _draw_spot(draw) for _ in range(draw.choice([0, 1, 1, 2]))}
    if draw.random() < 0.8:
        race = spots.get(_RACE, Hazards())
        naps, nap_turns = draw.choice([0.2, 0.5]), draw.choice(_NAP_TURNS)
        spots[_RACE] = replace(race, naps=naps, nap_turns=nap_turns)
    return Hazards(
        fails=draw.choice([0, 0, 0.01, 0.03]),
        dies=draw.choice([0, 0, 0.004]),
        raises=draw.choice([0, 0.01, 0.02]),
        naps=draw.choice([0, 0, 0.02]),
        nap_turns=draw.choice(_NAP_TURNS),
        spots=spots,
    )


def with_sleepers(hazards: Hazards) -> Hazards:
    """Return hazards under which processes sleep for long before they publish."""
    race = replace(hazards.spots.get(_RACE, hazards), naps=0.3, nap_turns=_NAP_TURNS[-1])
    return replace(hazards, spots={**hazards.spots, _RACE: race})


def _draw_spot(draw: random.Random) -> Hazards:
    likely = draw.choice([0.05, 0.15, 0.3])
    nap_turns = draw.choice(_NAP_TURNS)
    match draw.choice(["naps", "naps", "fails", "dies", "raises", "fails and naps"]):
        case "naps":
            return Hazards(naps=likely, nap_turns=nap_turns)
        case "fails":
            return Hazards(fails=likely)
        case "dies":
            return Hazards(dies=likely)
        case "raises":
            return Hazards(raises=likely)
        case _:
            return Hazards(fails=likely, naps=likely, nap_turns=nap_turns)


def process_storage(
    inner: FileIO,
    schedule: Schedule,
    name: str,
    hazards: Hazards,
    *,
    paths: TablePaths,
    is_over: Callable[[], bool],
    sleepers: dict[str, str],
) -> FaultyFileIO:
    """Return the storage of one process of an actor; a process that died does nothing any more.

    Args:
        inner: What all processes share.
        schedule: Draws whose turn it is.
        name: Of the actor.
        hazards: Of this process.
        paths: Of the table.
        is_over: Whether the run has found what it looks for; all processes die then.
        sleepers: By name of those who sleep before a call, of which file.
    """
    storage = FaultyFileIO(inner)
    is_dead = False

    def hazard(method: str, path: str, *, is_done: bool) -> None:
        nonlocal is_dead
        here = hazards.spots.get(f"{method} {place_of(path, paths)}", hazards)
        draw = schedule.random
        if here.naps and draw.random() < here.naps:
            if not is_done:
                sleepers[name] = path
            schedule.nap(name, 1 + int(draw.expovariate(1 / here.nap_turns)))
            sleepers.pop(name, None)
        drawn = draw.random()
        if drawn < here.dies:
            is_dead = True
            raise Died
        drawn -= here.dies
        if drawn < here.raises:
            raise MemoryError
        if drawn < here.raises + here.fails:
            message = f"{method} failed on purpose"
            raise StorageUnavailable(message)

    def before(_: int, method: str, path: str) -> None:
        if is_dead or is_over():
            raise Died
        schedule.turn(name)
        hazard(method, path, is_done=False)

    def after(_: int, method: str, path: str) -> None:
        if method in _WRITES:
            hazard(method, path, is_done=True)

    storage.before = before
    storage.after = after
    return storage


def place_of(path: str, paths: TablePaths) -> str:
    """Return what kind of file a path is of: its folder, but for hints and the mark of a rollback."""
    if path in (paths.latest_hint, paths.earliest_hint):
        return "hint"
    if path == paths.rollback_marker:
        return "mark"
    return path.removeprefix(f"{paths.root}/").partition("/")[0].partition("-")[0]
