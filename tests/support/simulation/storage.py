"""Storage as one simulated process sees it: every call is a point at which others may act or it may fail."""

from dataclasses import dataclass
from typing import Final

from lake.errors import StorageUnavailable
from lake.files.file_io import FileIO
from tests.support.faulty_file_io import Died, FaultyFileIO
from tests.support.simulation.schedule import Schedule

_WRITES: Final = frozenset({"write_new", "create_exclusive", "overwrite", "delete"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Hazards:
    """How likely it is that a call goes wrong.

    Attributes:
        fails: Storage does not answer, before the call has an effect or after.
        dies: The process is gone.
        raises: Something comes up that is no error of the engine, such as memory that runs out.
    """

    fails: float = 0.0
    dies: float = 0.0
    raises: float = 0.0


def process_storage(inner: FileIO, schedule: Schedule, name: str, hazards: Hazards) -> FaultyFileIO:
    """Return the storage of one process of an actor; a process that died does nothing any more."""
    storage = FaultyFileIO(inner)
    is_dead = False

    def hazard(method: str) -> None:
        nonlocal is_dead
        drawn = schedule.random.random()
        if drawn < hazards.dies:
            is_dead = True
            raise Died
        drawn -= hazards.dies
        if drawn < hazards.raises:
            raise MemoryError
        if drawn < hazards.raises + hazards.fails:
            message = f"{method} failed on purpose"
            raise StorageUnavailable(message)

    def before(_: int, method: str, path: str) -> None:
        del path
        if is_dead:
            raise Died
        schedule.turn(name)
        hazard(method)

    def after(_: int, method: str, path: str) -> None:
        del path
        if method in _WRITES:
            hazard(method)

    storage.before = before
    storage.after = after
    return storage
