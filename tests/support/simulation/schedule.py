"""Schedule of the actors: one runs at a time, and the next one is drawn at every storage call.

Each actor is a thread, and only the one whose turn it is runs. The same seed gives the same run. There are
two ways of drawing, because they find different defects: with *drawn turns* another actor comes next with
some probability, which changes now and then; with *priorities* the first actor of a drawn order runs until
it is moved to the end. In addition an actor can nap: it has no turn for a number of turns of the others,
like a machine that stalls between two calls.
"""

import random
import threading
import traceback
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Final

from tests.support.faulty_file_io import Died

_STICKY: Final = (0.0, 0.5, 0.8, 0.95)
_DEMOTIONS: Final = (0.01, 0.04, 0.12)


class _CrashLog:
    """Catches and records every exception that ends an actor, except for an intended death."""

    def __init__(self, name: str, crashes: list[str]) -> None:
        self._name = name
        self._crashes = crashes

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> bool:
        if error is not None and kind is not Died:
            text = "".join(traceback.format_exception(error))
            self._crashes.append(f"{self._name}: {text}")
        return True


class Schedule:
    """Draws whose turn it is.

    Attributes:
        random: Of the whole run; for the actor whose turn it is.
        now: The number of turns so far.
        crashes: Tracebacks of actors that ended with an unexpected exception.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now = 0
        self.crashes: list[str] = []
        self._turns: dict[str, threading.Semaphore] = {}
        self._alive: list[str] = []
        self._asleep: dict[str, int] = {}
        self._over = threading.Semaphore(0)
        self._current: str | None = None
        self._stays = self.random.choice(_STICKY)
        self._has_priorities = self.random.random() < 0.5
        self._demotion = self.random.choice(_DEMOTIONS)

    @property
    def current(self) -> str | None:
        """The actor whose turn it is."""
        return self._current

    def run(self, actors: Mapping[str, Callable[[], None]]) -> None:
        """Run actors until all have ended."""
        threads = []
        for name, act in actors.items():
            self._turns[name] = threading.Semaphore(0)
            self._alive.append(name)
            threads.append(threading.Thread(target=self._body, args=(name, act), daemon=True))
        self.random.shuffle(self._alive)
        for thread in threads:
            thread.start()
        self._pass_on()
        self._over.acquire()
        for thread in threads:
            thread.join()

    def turn(self, name: str) -> None:
        """End the turn of an actor, and return at its next one."""
        self.now += 1
        if self._draw() != name:
            self._turns[self._current or name].release()
            self._turns[name].acquire()

    def nap(self, name: str, turns: int) -> None:
        """Return after a number of turns of the others, or when all others nap for longer."""
        if name in self._alive:  # and not when the run is over
            self._asleep[name] = self.now + turns
            self.turn(name)

    def _body(self, name: str, act: Callable[[], None]) -> None:
        self._turns[name].acquire()
        with _CrashLog(name, self.crashes):
            act()
        self._alive.remove(name)
        self._pass_on()

    def _pass_on(self) -> None:
        if self._alive:
            self._turns[self._draw()].release()
        else:
            self._over.release()

    def _draw(self) -> str:
        awake = self._awake()
        if self._has_priorities:
            if self.random.random() < self._demotion:
                self._alive.remove(awake[0])
                self._alive.append(awake[0])
                awake.append(awake.pop(0))
            self._current = awake[0]
        elif self._current not in awake or self.random.random() >= self._stays:
            self._current = self.random.choice(awake)
            if self.random.random() < 0.1:
                self._stays = self.random.choice(_STICKY)
        return self._current

    def _awake(self) -> list[str]:
        """Return the actors that do not nap; if all do, the one whose nap ends next."""
        if not self._asleep:
            return list(self._alive)
        self._asleep = {
            name: end
            for name, end in self._asleep.items()
            if end > self.now and name in self._alive
        }
        awake = [name for name in self._alive if name not in self._asleep]
        if not awake:
            first = min(self._asleep, key=lambda name: self._asleep[name])
            del self._asleep[first]
            awake = [first]
        return awake
