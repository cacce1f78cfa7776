"""Operations one after the other, and the power failing at every point between two effects on the disk.

The operations run once. For each point and each draw of what survives, the disk is switched on again,
and two things have to hold: what is seen is what was seen after the last operation that had ended, or
after the one that was under way; and everybody can work on from there.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from braid.lake import FileIO, LakeError, LocalFileIO
from tests.support.volatile_disk import ForgetsSync, Image, Survival, VolatileDisk

Step = Callable[[FileIO], object]


class NotDurable(AssertionError):
    """Something acknowledged is lost, something half done is seen, or somebody cannot go on."""


@dataclass(kw_only=True)
class PowerSweep:
    """A sequence of operations and what is asked after each power failure.

    Attributes:
        steps: Name and operation, in order.
        observe: Returns all that a reader sees; equal for equal states.
        restart: Works on, as every process does after a failure.
        prepared: How many of the first operations are done, and durable, before the power can fail.
        forgets: Which syncs are left out.
        points: Points at which the power failed so far.
        failures: Power failures so far: points times what survived.
        states: Those of them that left something else on the disk than all before.
    """

    steps: Sequence[tuple[str, Step]]
    observe: Callable[[FileIO], object]
    restart: Callable[[FileIO], object]
    prepared: int = 0
    forgets: ForgetsSync = lambda: False
    points: int = 0
    failures: int = 0
    states: int = 0
    survivals: Counter[Survival] = field(default_factory=Counter)

    def run(
        self, *, seed: int = 0, choose: Callable[[int], tuple[Survival, ...]] | None = None
    ) -> None:
        """Let the power fail.

        Args:
            seed: Of what survives.
            choose: What to draw at a point; None: everything there is at every point.

        Raises:
            NotDurable: With the operation, the point and the survival.
        """
        disk = VolatileDisk(self._given(), forgets=self.forgets)
        file_io = LocalFileIO(disk)
        seen = [self.observe(file_io)]
        ends = [disk.count]
        steps = self.steps[self.prepared :]
        for _, act in steps:
            act(file_io)
            ends.append(disk.count)
            seen.append(self.observe(file_io))
        known: set[int] = set()
        survivals = None if choose is None else {n: choose(n) for n in range(ends[-1] + 1)}
        last_point = -1
        for point, survival, image in disk.failures(survivals, seed=seed):
            self.points += point != last_point
            last_point = point
            self.failures += 1
            self.survivals[survival] += 1
            done = sum(end <= point for end in ends[1:])
            content = frozenset(
                (path, data)
                for path, data in image.by_path().items()
                if not path.endswith(".tmp")  # nobody ever looks into one
            )
            state = hash((done, content))
            if state in known:
                continue
            known.add(state)
            self.states += 1
            step = "after the end" if done == len(steps) else f"in `{steps[done][0]}`"
            place = f"power failed at {point} of {ends[-1]}, {step}, survived: {survival}"
            self._check(image, seen[done : done + 2], place)

    def _given(self) -> Image:
        disk = VolatileDisk()
        file_io = LocalFileIO(disk)
        for _, act in self.steps[: self.prepared]:
            act(file_io)
        return disk.image()

    def _check(self, image: Image, allowed: Sequence[object], place: str) -> None:
        file_io = LocalFileIO(VolatileDisk(image))
        try:
            found = self.observe(file_io)
            if found not in allowed:
                message = f"{place}: found {found}, expected one of {allowed}"
                raise NotDurable(message)
            self.restart(file_io)
        except (LakeError, OSError, AssertionError) as error:
            message = f"{place}: {type(error).__name__}: {error}"
            raise NotDurable(message) from error

    def summary(self) -> str:
        """Return what was swept, for people."""
        return (
            f"{self.points} points, {self.failures} power failures, {self.states} different disks"
        )
