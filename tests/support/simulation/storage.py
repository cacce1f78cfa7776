"""Storage of one simulated process: at every call other actors may run, and the call may fail.

Faults of the same small probability everywhere seldom hit the calls that matter. So each run also has a few
*spots*: kinds of calls that fail often.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from braid.lake.errors import StorageUnavailable
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from tests.support.faulty_file_io import Died, FaultyFileIO
from tests.support.simulation.schedule import Schedule

_WRITES: Final = frozenset({"write_new", "create_exclusive", "overwrite", "delete"})

_RACE: Final = "create_exclusive snapshot"
"""A process may nap before it until its plan is out of date, and after it until others have built on it."""

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
    """Probabilities of faults at a call.

    Attributes:
        fails: Storage does not answer, before or after the call has its effect.
        dies: The process dies.
        raises: An exception that is no error of the engine, such as out of memory.
        naps: The process stalls.
        nap_turns: Average length of a nap.
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
    """Return hazards under which processes take long naps before they publish."""
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
    """Return the storage of one process of an actor; after its death every call dies again.

    Args:
        inner: Storage that all processes share.
        schedule: Draws the turns.
        name: Of the actor.
        hazards: Of this process.
        paths: Of the table.
        is_over: Returns whether a violation was found; then all processes die.
        sleepers: Files of the calls before which actors nap, by actor.
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
    """Return the kind of a file: its directory, except for hints and the marker of a rollback."""
    if path in (paths.latest_hint, paths.earliest_hint):
        return "hint"
    if path == paths.rollback_marker:
        return "mark"
    return path.removeprefix(f"{paths.root}/").partition("/")[0].partition("-")[0]
